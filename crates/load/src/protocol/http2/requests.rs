//! HTTP/2 requests, compiled once for each entry of the list.

use hindmost_plan::{Body, Data, Escape, Http, HttpRequest, Plan};

use super::frames::{self, Frame, HEAD, MAX_PAYLOAD};
use super::hpack;
use crate::workload::{Template, Values};

/// Connection-specific headers of HTTP/1, which HTTP/2 forbids (RFC 9113, 8.2.2). `host` becomes
/// `:authority`.
const OF_HTTP_1: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A compiled request of the list.
pub struct CompiledRequest {
    /// Alternating constant bytes and variable values of fields.
    head: Vec<Piece>,
    /// The random draws used by the fields so far: fields of one request are drawn independently.
    drawn: Template,
    body: Template,
}

enum Piece {
    Fixed(Vec<u8>),
    Value(Template),
}

impl CompiledRequest {
    /// Compile `request` of `http` for the plan's server. A gRPC call announces that it accepts trailers.
    pub fn new(request: &HttpRequest, http: &Http, plan: &Plan, grpc: bool) -> Self {
        let data = http.data.as_ref();
        let mut one = Self { head: Vec::new(), drawn: Template::default(), body: Template::default() };
        let header = |name: &str| {
            let all = request.headers.iter().chain(&http.headers);
            all.into_iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.as_str())
        };
        let host = header("host").or(http.host.as_deref()).unwrap_or(&plan.target.address);
        let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
        one.field(":method", &request.method, None, Escape::Raw);
        let scheme = if plan.target.tls.is_some() { "https" } else { "http" };
        one.field(":scheme", scheme, None, Escape::Raw);
        one.field(":authority", host, None, Escape::Raw);
        one.field(":path", &request.path, data, Escape::Url);
        let usual: &[(&str, &str)] = if grpc {
            &[("te", "trailers"), ("content-type", "application/grpc"), ("user-agent", agent)]
        } else {
            &[("user-agent", agent), ("accept", "*/*")]
        };
        for &(name, value) in usual {
            if header(name).is_none() {
                one.field(name, value, None, Escape::Raw);
            }
        }
        let overrides = |name: &String| request.headers.keys().any(|other| other.eq_ignore_ascii_case(name));
        for (name, value) in http.headers.iter().filter(|(name, _)| !overrides(name)).chain(&request.headers)
        {
            let name = name.to_ascii_lowercase();
            if !OF_HTTP_1.contains(&name.as_str()) {
                one.field(&name, value, data, Escape::Raw);
            }
        }
        let mut body = Template::after(&one.drawn);
        match &request.body {
            Some(Body::Text(text)) => body.text(text, data, Escape::Raw),
            Some(Body::Bytes(bytes)) => body.literal(bytes),
            // The plan's files have been loaded into the other variants.
            Some(Body::File(_) | Body::Template(_) | Body::Hex(_)) | None => {}
        }
        if let Some(bytes) = body.constant().filter(|bytes| !bytes.is_empty()) {
            one.field("content-length", &bytes.len().to_string(), None, Escape::Raw);
        }
        one.body = body;
        one
    }

    /// Add a field, with a template as its value if the value varies.
    fn field(&mut self, name: &str, text: &str, data: Option<&Data>, escape: Escape) {
        let mut fixed = Vec::new();
        hpack::write_name(name, &mut fixed);
        let mut value = Template::after(&self.drawn);
        if name == ":path" || !name.starts_with(':') {
            value.text(text, data, escape);
            self.drawn = Template::after(&value);
        } else {
            value.literal(text.as_bytes());
        }
        if let Some(bytes) = value.constant() {
            hpack::write_length(bytes.len(), &mut fixed);
            fixed.extend_from_slice(bytes);
        }
        match self.head.last_mut() {
            Some(Piece::Fixed(last)) => last.extend_from_slice(&fixed),
            _ => self.head.push(Piece::Fixed(fixed)),
        }
        if value.constant().is_none() {
            self.head.push(Piece::Value(value));
        }
    }

    /// Return the body length of the request with `values`.
    #[inline]
    pub fn body(&self, values: Values) -> usize {
        self.body.length(values)
    }

    /// Append the request with `values` as stream `stream`, with its body of `body` bytes.
    #[inline]
    pub fn write(&self, values: Values, body: usize, stream: u32, out: &mut Vec<u8>) {
        self.write_fields(values, body == 0, stream, out);
        if body > 0 {
            self.write_frames(values, body, stream, out);
        }
    }

    /// Append the HEADERS frame. `all`: the request has no body.
    pub fn write_fields(&self, values: Values, all: bool, stream: u32, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; HEAD]);
        for piece in &self.head {
            match piece {
                Piece::Fixed(bytes) => out.extend_from_slice(bytes),
                Piece::Value(value) => {
                    hpack::write_length(value.length(values), out);
                    value.write(values, out);
                }
            }
        }
        let end = if all { frames::END_STREAM } else { 0 };
        let length = out.len() - at - HEAD;
        Frame { length, kind: frames::HEADERS, flags: frames::END_HEADERS | end, stream }
            .write_to(&mut out[at..]);
    }

    /// Append the body without frames.
    pub fn write_body(&self, values: Values, out: &mut Vec<u8>) {
        self.body.write(values, out);
    }

    /// Append the body as frames of at most [`MAX_PAYLOAD`] bytes. It is written in one piece, then split
    /// from its end.
    fn write_frames(&self, values: Values, body: usize, stream: u32, out: &mut Vec<u8>) {
        let at = out.len();
        let frames = body.div_ceil(MAX_PAYLOAD);
        out.resize(at + HEAD, 0);
        self.body.write(values, out);
        out.resize(at + frames * HEAD + body, 0);
        for frame in (0..frames).rev() {
            let (from, length) = (frame * MAX_PAYLOAD, MAX_PAYLOAD.min(body - frame * MAX_PAYLOAD));
            let place = at + frame * (HEAD + MAX_PAYLOAD);
            out.copy_within(at + HEAD + from..at + HEAD + from + length, place + HEAD);
            let flags = if frame + 1 == frames { frames::END_STREAM } else { 0 };
            Frame { length, kind: frames::DATA, flags, stream }.write_to(&mut out[place..]);
        }
    }

    /// Return upper bounds on the bytes of its fields and of its body.
    pub fn largest(&self) -> (usize, usize) {
        let piece_bytes = |piece: &Piece| match piece {
            Piece::Fixed(bytes) => bytes.len(),
            Piece::Value(value) => value.largest() + 5,
        };
        (self.head.iter().map(piece_bytes).sum(), self.body.largest())
    }
}
