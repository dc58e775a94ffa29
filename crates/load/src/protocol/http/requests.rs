//! How requests are written: compiled once, one for each of the list.

use hindmost_plan::{Body, Escape, Http, HttpRequest, HttpVersion, Plan};

use crate::workload::{Template, Values};

/// Methods whose requests usually have a body, so that the absence of one is told (RFC 9110, 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// One request of the list.
pub struct Written {
    /// Up to the end of the headers, or of the body if every request has as long a one.
    head: Template,
    /// The body, where its length differs from request to request.
    body: Option<Template>,
}

impl Written {
    /// `request` of `http`, to a server that the plan names.
    pub fn new(request: &HttpRequest, http: &Http, plan: &Plan) -> Self {
        let data = http.data.as_ref();
        let mut head = Template::default();
        head.literal(format!("{} ", request.method).as_bytes());
        head.text(&request.path, data, Escape::Url);
        head.literal(match http.version {
            HttpVersion::One => b" HTTP/1.0\r\n",
            HttpVersion::OneOne => b" HTTP/1.1\r\n",
        });
        let given = |name: &str| {
            request.headers.keys().chain(http.headers.keys()).any(|other| other.eq_ignore_ascii_case(name))
        };
        let host = http.host.as_deref().unwrap_or(&plan.target.address);
        let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
        for (name, value) in [("Host", host), ("User-Agent", agent), ("Accept", "*/*")] {
            if !given(name) {
                head.literal(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        let own = |name: &String| request.headers.keys().any(|other| other.eq_ignore_ascii_case(name));
        for (name, value) in http.headers.iter().filter(|(name, _)| !own(name)).chain(&request.headers) {
            head.literal(format!("{name}: ").as_bytes());
            head.text(value, data, Escape::Raw);
            head.literal(b"\r\n");
        }
        let mut body = Template::after(&head);
        match &request.body {
            Some(Body::Text(text)) => body.text(text, data, Escape::Raw),
            Some(Body::Bytes(bytes)) => body.literal(bytes),
            // The plan's files are read before.
            Some(Body::File(_) | Body::Template(_)) | None => {}
        }
        if let Some(bytes) = body.constant() {
            if request.body.is_some() || WITH_BODY.contains(&request.method.as_str()) {
                head.literal(format!("Content-Length: {}\r\n", bytes.len()).as_bytes());
            }
            head.literal(b"\r\n");
            head.literal(bytes);
            return Self { head, body: None };
        }
        head.literal(b"Content-Length: ");
        Self { head, body: Some(body) }
    }

    /// Appends the request of `values`.
    #[inline]
    pub fn write(&self, values: Values, out: &mut Vec<u8>) {
        self.head.write(values, out);
        if let Some(body) = &self.body {
            write_number(body.length(values), out);
            out.extend_from_slice(b"\r\n\r\n");
            body.write(values, out);
        }
    }

    /// The most bytes that it can come to.
    pub fn largest(&self) -> usize {
        self.head.largest() + self.body.as_ref().map_or(0, |body| body.largest() + 24)
    }
}

fn write_number(number: usize, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{number}");
}
