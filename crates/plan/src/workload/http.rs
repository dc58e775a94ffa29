//! Requests of HTTP.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::codes::Codes;
use super::data::Data;
use super::listed::Listed;

/// Requests of HTTP. Paths, values of headers and bodies are templates, with fields such as `{{int:1..1000}}`,
/// `{{uuid}}` or `{{data.NAME}}` (docs/reference/workload.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// Paths that are asked for with GET and equal chance, the short form of `requests`. Absent, and without
    /// `requests`: `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// What is asked for, each as often as its weight says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<HttpRequest>,
    /// Headers of all requests, by name; a request's own come before these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Where fields such as `{{data.NAME}}` find their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// The version that requests say they are of; only where the target speaks HTTP/1.
    #[serde(skip_serializing_if = "HttpVersion::is_usual")]
    pub version: HttpVersion,
    /// The `Host` header; absent means the target's address.
    pub host: Option<String>,
    /// The status codes that are a success: codes, and classes such as `"2xx"`. What is not among them is an error,
    /// but for 404 and 410, which are misses.
    pub accept: Vec<Codes>,
}

/// One request of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpRequest {
    /// What results call it; requests of one name are counted together. Absent: method and path, like `post:/orders`.
    pub name: Option<String>,
    /// How often it is made, as a share of the sum of all weights.
    pub weight: f64,
    /// GET, POST, or another.
    pub method: String,
    /// The path, with the query: a template.
    pub path: String,
    /// Headers by name; their values are templates.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What is sent behind the headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Status codes that are a success of this request; absent: those of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<Vec<Codes>>,
}

/// A request's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// The bytes of this file, as they are, however many.
    File(PathBuf),
    /// The text of this file, a template.
    Template(PathBuf),
    /// These bytes, two hexadecimal digits each; what a gRPC message is written as before it is sent.
    Hex(String),
    /// A file's bytes, once they are read.
    #[serde(skip)]
    Bytes(Arc<[u8]>),
    /// This text, a template.
    #[serde(untagged)]
    Text(String),
}

/// A version of HTTP/1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// Connections are closed after a reply, unless both sides say otherwise.
    #[serde(rename = "1.0")]
    One,
    /// Connections are kept.
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
            version: HttpVersion::default(),
            host: None,
            accept: vec![Codes::Successful],
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
        }
    }
}

impl HttpRequest {
    /// The name in results, of letters that a log of histograms can have in a tag.
    pub fn called(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let plain = |c: char| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c };
        let made = || format!("{}:{path}", self.method.to_ascii_lowercase()).chars().map(plain).collect();
        self.name.clone().unwrap_or_else(made)
    }

    /// Whether it can be made twice and come to the same (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        !matches!(self.method.as_str(), "POST" | "PATCH" | "CONNECT")
    }
}

impl Http {
    /// All requests, the short form written out.
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

    /// Names and weights of all requests.
    pub fn listed(&self) -> Vec<Listed> {
        self.all().iter().map(|one| Listed { kind: one.called(), weight: one.weight }).collect()
    }

    /// Whether each connection carries one request at a time from the start: where a request must not be made twice, as
    /// one would that lies behind another when the server closes.
    pub fn takes_turns(&self) -> bool {
        !self.all().iter().all(HttpRequest::is_idempotent)
    }
}
