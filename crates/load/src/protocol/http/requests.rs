//! HTTP/1 requests, compiled once for each entry of the list.

use std::sync::Arc;

use hindmost_plan::{Body, Escape, Http, HttpRequest, HttpVersion, Plan};

use super::redirects::LONGEST_PATH;
use crate::workload::{Template, Values};

/// Methods whose requests usually have a body, so `Content-Length: 0` is sent without one (RFC 9110, 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Longer bodies are not copied into each connection's buffer.
const INLINE_BYTES: usize = 64 * 1024;

/// A compiled request of the list.
pub struct CompiledRequest {
    /// The request up to the end of its headers, or of its body if its length is constant.
    head: Template,
    /// The body, if its length varies.
    body: Option<Template>,
    /// A large body.
    tail: Option<Arc<[u8]>>,
    /// The head of the last request on a connection.
    last: Option<Template>,
    /// Method of a redirected request, and the rest of the request behind its path.
    redirected: Option<(&'static [u8], Template)>,
}

impl CompiledRequest {
    /// Compile `request` of `http` for the plan's server.
    pub fn new(request: &HttpRequest, http: &Http, plan: &Plan) -> Self {
        let data = http.data.as_ref();
        let mut head = Template::default();
        head.literal(format!("{} ", request.method).as_bytes());
        head.text(&request.path, data, Escape::Url);
        let mut redirected = Template::after(&head);
        for head in [&mut head, &mut redirected] {
            add_headers(head, request, http, plan);
        }
        redirected.literal(b"\r\n");
        let method: &[u8] = if request.method == "HEAD" { b"HEAD " } else { b"GET " };
        let mut last = plan.requests_until_close().map(|_| {
            let mut last = head.clone();
            last.literal(b"Connection: close\r\n");
            last
        });
        let mut body = Template::after(&head);
        let mut tail = None;
        match &request.body {
            Some(Body::Text(text)) => body.text(text, data, Escape::Raw),
            Some(Body::Bytes(bytes)) if bytes.len() > INLINE_BYTES => tail = Some(bytes.clone()),
            Some(Body::Bytes(bytes)) => body.literal(bytes),
            // The plan's files have been loaded into the other variants.
            Some(Body::File(_) | Body::Template(_) | Body::Hex(_)) | None => {}
        }
        let constant = body.constant().map(<[u8]>::to_vec);
        for head in std::iter::once(&mut head).chain(&mut last) {
            match &constant {
                Some(bytes) => {
                    let length = tail.as_ref().map_or(bytes.len(), |tail| tail.len());
                    if request.body.is_some() || WITH_BODY.contains(&request.method.as_str()) {
                        head.literal(format!("Content-Length: {length}\r\n").as_bytes());
                    }
                    head.literal(b"\r\n");
                    head.literal(bytes);
                }
                None => head.literal(b"Content-Length: "),
            }
        }
        let redirected = http.follow.map(|_| (method, redirected));
        Self { head, body: constant.is_none().then_some(body), tail, last, redirected }
    }

    /// Append the request with `values`.
    #[inline]
    pub fn write(&self, values: Values, out: &mut Vec<u8>) {
        self.write_with(&self.head, values, out);
    }

    /// Append the request with `values` and `Connection: close`.
    pub fn write_last(&self, values: Values, out: &mut Vec<u8>) {
        self.write_with(self.last.as_ref().unwrap_or(&self.head), values, out);
    }

    /// Append the request redirected to `path`.
    pub fn write_redirected(&self, path: &[u8], values: Values, out: &mut Vec<u8>) {
        if let Some((method, rest)) = &self.redirected {
            out.extend_from_slice(method);
            out.extend_from_slice(path);
            rest.write(values, out);
        }
    }

    #[inline]
    fn write_with(&self, head: &Template, values: Values, out: &mut Vec<u8>) {
        head.write(values, out);
        if let Some(body) = &self.body {
            write_number(body.length(values), out);
            out.extend_from_slice(b"\r\n\r\n");
            body.write(values, out);
        }
    }

    /// Return the large body, which `write` does not append.
    pub fn tail(&self) -> &[u8] {
        self.tail.as_deref().unwrap_or_default()
    }

    /// Return an upper bound on the bytes that `write` appends.
    pub fn largest(&self) -> usize {
        let head = self.last.as_ref().unwrap_or(&self.head);
        let redirected = |(method, rest): &(&[u8], Template)| method.len() + LONGEST_PATH + rest.largest();
        let usual = head.largest() + self.body.as_ref().map_or(0, |body| body.largest() + 24);
        usual.max(self.redirected.as_ref().map_or(0, redirected))
    }
}

/// Add the version and the headers behind a path, except those about the body.
fn add_headers(head: &mut Template, request: &HttpRequest, http: &Http, plan: &Plan) {
    let data = http.data.as_ref();
    head.literal(match http.version {
        HttpVersion::One => b" HTTP/1.0\r\n",
        HttpVersion::OneOne => b" HTTP/1.1\r\n",
    });
    let is_set = |name: &str| {
        request.headers.keys().chain(http.headers.keys()).any(|other| other.eq_ignore_ascii_case(name))
    };
    let host = http.host.as_deref().unwrap_or(&plan.target.address);
    let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [("Host", host), ("User-Agent", agent), ("Accept", "*/*")] {
        if !is_set(name) {
            head.literal(format!("{name}: {value}\r\n").as_bytes());
        }
    }
    if let (HttpVersion::One, Some(2..)) = (http.version, plan.requests_until_close()) {
        head.literal(b"Connection: keep-alive\r\n");
    }
    let overrides = |name: &String| request.headers.keys().any(|other| other.eq_ignore_ascii_case(name));
    for (name, value) in http.headers.iter().filter(|(name, _)| !overrides(name)).chain(&request.headers) {
        head.literal(format!("{name}: ").as_bytes());
        head.text(value, data, Escape::Raw);
        head.literal(b"\r\n");
    }
}

fn write_number(number: usize, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{number}");
}
