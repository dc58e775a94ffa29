//! WebSocket messages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::check_template;
use super::request_checks::{check_alike, check_headers, check_list, check_starts};
use super::session::Session;
use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// Headers of the opening handshake that the engine writes (RFC 6455, 4.1).
const OWN: [&str; 4] = ["upgrade", "sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions"];
/// Longest start of a reply, in bytes, that identifies a miss or an error.
const LONGEST_START: usize = 255;

/// WebSocket messages; each is answered by one message, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Messages {
    /// Paths that connections are opened to, in turn.
    pub paths: Vec<String>,
    /// The Host header of the opening handshake; absent: the target's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Headers of the opening handshake, such as Authorization, Origin, Sec-WebSocket-Protocol.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The messages, chosen by weight.
    pub requests: Vec<Message>,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Make the requests in order, with think times between them, instead of choosing them by weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// One message of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// Name in results; messages of one name are counted together.
    pub name: String,
    /// Relative frequency: its share of the sum of all weights.
    pub weight: f64,
    /// The message: a template.
    pub send: String,
    /// Whether the message is binary instead of text.
    pub binary: bool,
    /// A reply that starts with this text is a miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<String>,
    /// A reply that starts with this text is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Default for Messages {
    fn default() -> Self {
        Self {
            paths: vec!["/".to_owned()],
            host: None,
            headers: BTreeMap::new(),
            requests: vec![Message::default()],
            data: None,
            session: None,
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self {
            name: "message".to_owned(),
            weight: 1.0,
            send: "hindmost".to_owned(),
            binary: false,
            miss: None,
            error: None,
        }
    }
}

impl Messages {
    /// Return the names and weights of all messages.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        self.requests.iter().map(|one| WeightedKind { kind: one.name.clone(), weight: one.weight }).collect()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.paths.is_empty() {
            return Err(refuse("workload.paths", "empty", "a list of at least one path"));
        }
        let clean = |c: char| c.is_ascii_graphic();
        for (at, path) in self.paths.iter().enumerate() {
            if !(path.starts_with('/') && path.chars().all(clean)) {
                let must = "a URL path that starts with /";
                return Err(refuse(format!("workload.paths[{at}]"), format!("{path:?}"), must));
            }
        }
        if self.host.as_ref().is_some_and(|host| !host.chars().all(clean)) {
            return Err(refuse("workload.host", format!("{:?}", self.host), "a name, without spaces"));
        }
        check_headers("workload.headers", &self.headers)?;
        if let Some(name) = self.headers.keys().find(|name| OWN.contains(&name.to_ascii_lowercase().as_str()))
        {
            return Err(refuse(
                format!("workload.headers.{name}"),
                "given",
                "omitted: the opening handshake sets it",
            ));
        }
        if self.requests.is_empty() {
            return Err(refuse("workload.requests", "empty", "a list of at least one message"));
        }
        for (at, one) in self.requests.iter().enumerate() {
            let place = format!("workload.requests[{at}]");
            check_starts(&place, one.miss.as_ref(), one.error.as_ref(), LONGEST_START)?;
        }
        let named: Vec<_> =
            self.requests.iter().map(|one| (one.name.as_str(), (&one.miss, &one.error))).collect();
        let must = "another name: messages of one name have the same `miss` and `error`";
        check_alike("workload.requests", &named, must)?;
        check_list("workload.requests", &self.weighted_kinds())
    }

    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        for (at, one) in self.requests.iter().enumerate() {
            check_template(format!("workload.requests[{at}].send"), &one.send, self.data.as_ref())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_openings_and_ambiguous_replies_are_refused() {
        for (text, field) in [
            (r#"{"paths": []}"#, "workload.paths"),
            (r#"{"paths": ["chat"]}"#, "workload.paths[0]"),
            (r#"{"paths": ["/a b"]}"#, "workload.paths[0]"),
            (r#"{"host": "a\r\nb"}"#, "workload.host"),
            (r#"{"headers": {"Sec-WebSocket-Key": "x"}}"#, "workload.headers.Sec-WebSocket-Key"),
            (r#"{"requests": []}"#, "workload.requests"),
            (r#"{"requests": [{"miss": ""}]}"#, "workload.requests[0].miss"),
            (r#"{"requests": [{"send": "a"}, {"send": "b", "error": "no"}]}"#, "workload.requests[1].name"),
            (r#"{"requests": [{"weight": 0}]}"#, "workload.requests"),
        ] {
            let messages: Messages = serde_json::from_str(text).unwrap();
            let refused = messages.check().unwrap_err();
            assert_eq!(refused.field_and_value().0, field, "{refused}");
        }
        Messages::default().check().unwrap();
    }
}
