//! HTTP requests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codes::Codes;
use super::data::Data;
use super::session::Session;
use super::weighted_kind::WeightedKind;

/// HTTP requests. Paths, header values and bodies are templates with fields such as `{{int:1..1000}}`,
/// `{{uuid}}` or `{{data.NAME}}` (docs/reference/workload.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Paths that are fetched with GET and equal probability: the short form of `requests`. If neither is
    /// given: `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// The requests, chosen by weight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<HttpRequest>,
    /// Headers of all requests, by name; a request's own headers take precedence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Make the requests in order, with think times between them, instead of choosing them by weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// The HTTP version in requests; only if the target speaks HTTP/1.
    #[serde(skip_serializing_if = "HttpVersion::is_usual")]
    pub version: HttpVersion,
    /// The `Host` header; absent: the target's address.
    pub host: Option<String>,
    /// The status codes that count as success: codes, and classes such as `"2xx"`. All others are errors,
    /// except 404 and 410, which are misses.
    pub accept: Vec<Codes>,
    /// Checks of replies with an accepted status code: `body contains TEXT`, `header NAME: VALUE`,
    /// `size<=BYTES`, `size>=BYTES`. A reply that fails one is an error. Only if the target speaks HTTP/1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Follow up to this many redirections of a request to the same server; its latency includes them. Absent: a
    /// redirection is an error. Only if the target speaks HTTP/1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<u8>,
}

/// One request of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpRequest {
    /// Name in results; requests of one name are counted together. Absent: method and path, such as
    /// `post:/orders`.
    pub name: Option<String>,
    /// Relative frequency: its share of the sum of all weights.
    pub weight: f64,
    /// GET, POST, or another.
    pub method: String,
    /// The path with the query: a template.
    pub path: String,
    /// Headers by name; their values are templates.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Status codes that count as success of this request; absent: those of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<Vec<Codes>>,
    /// Checks of replies to this request; absent: those of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<String>>,
}

/// A request's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// The bytes of this file, unchanged, of any length.
    File(PathBuf),
    /// The text of this file, a template.
    Template(PathBuf),
    /// These bytes, two hexadecimal digits each. This is the form of a gRPC message.
    Hex(String),
    /// The bytes of a file, after it was read.
    #[serde(skip)]
    Bytes(Arc<[u8]>),
    /// This text, a template.
    #[serde(untagged)]
    Text(String),
}

/// A version of HTTP/1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// Connections are closed after a reply, unless both sides agree to keep them.
    #[serde(rename = "1.0")]
    One,
    /// Connections are kept open.
    #[default]
    #[serde(rename = "1.1")]
    OneOne,
}

impl HttpVersion {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks by reference
    fn is_usual(&self) -> bool {
        *self == Self::OneOne
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            paths: None,
            requests: Vec::new(),
            headers: BTreeMap::new(),
            data: None,
            session: None,
            version: HttpVersion::default(),
            host: None,
            accept: vec![Codes::Successful],
            checks: Vec::new(),
            follow: None,
        }
    }
}

impl Default for HttpRequest {
    fn default() -> Self {
        Self {
            name: None,
            weight: 1.0,
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: None,
            accept: None,
            checks: None,
        }
    }
}

impl HttpRequest {
    /// Return the name in results, without characters that a tag in a histogram log cannot contain.
    pub fn result_name(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let plain = |c: char| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c };
        let made = || format!("{}:{path}", self.method.to_ascii_lowercase()).chars().map(plain).collect();
        self.name.clone().unwrap_or_else(made)
    }

    /// Whether repeating the request has the same effect as making it once (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        !matches!(self.method.as_str(), "POST" | "PATCH" | "CONNECT")
    }
}

impl Http {
    /// Return all requests, with the short form expanded.
    pub fn all(&self) -> Cow<'_, [HttpRequest]> {
        if !self.requests.is_empty() {
            return Cow::Borrowed(&self.requests);
        }
        let get = |path: &String| HttpRequest {
            name: Some("get".to_owned()),
            path: path.clone(),
            ..HttpRequest::default()
        };
        match &self.paths {
            Some(paths) => paths.iter().map(get).collect(),
            None => Cow::Owned(vec![get(&"/".to_owned())]),
        }
    }

    /// Return the names and weights of all requests.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        self.all().iter().map(|one| WeightedKind { kind: one.result_name(), weight: one.weight }).collect()
    }

    /// Return the checks of replies to the requests that results call `name`.
    pub fn checks_of(&self, name: &str) -> Vec<String> {
        let all = self.all();
        let own = all.iter().find(|one| one.result_name() == name).and_then(|one| one.checks.clone());
        own.unwrap_or_else(|| self.checks.clone())
    }

    /// Whether any request has checks of replies.
    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty() || self.requests.iter().any(|one| one.checks.is_some())
    }

    /// Whether each connection must carry one request at a time from the start. That is so if a request must
    /// not be repeated, as a pipelined one would be when the server closes the connection.
    pub fn takes_turns(&self) -> bool {
        !self.all().iter().all(HttpRequest::is_idempotent)
    }
}
