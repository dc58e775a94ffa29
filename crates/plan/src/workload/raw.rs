//! Arbitrary requests: bytes to send, and where the reply ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::check_template;
use super::request_checks::{check_alike, check_list, check_starts};
use super::session::Session;
use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// Longest delimiter in bytes: one byte counts how much of it has arrived.
const LONGEST_DELIMITER: usize = 255;

/// Requests as bytes, for protocols that Hindmost does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The requests, chosen by weight.
    pub requests: Vec<RawRequest>,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Make the requests in order, with think times between them, instead of choosing them by weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// One request of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRequest {
    /// Name in results; requests of one name are counted together.
    #[serde(default = "default_name")]
    pub name: String,
    /// Relative frequency: its share of the sum of all weights.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// The bytes to send: a template that includes its line ends, such as `"PING\r\n"`.
    pub send: String,
    /// Where the reply ends.
    pub until: Until,
    /// A reply that starts with this text is a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<String>,
    /// A reply that starts with this text is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn default_name() -> String {
    "request".to_owned()
}

fn default_weight() -> f64 {
    1.0
}

/// Where a reply ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// After this many bytes.
    Bytes(u32),
    /// After the first occurrence of this text, such as `"\r\n"`.
    Delimiter(String),
}

impl Raw {
    /// Return the names and weights of all requests.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        self.requests.iter().map(|one| WeightedKind { kind: one.name.clone(), weight: one.weight }).collect()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.requests.is_empty() {
            return Err(refuse("workload.requests", "empty", "a list of at least one request"));
        }
        for (at, one) in self.requests.iter().enumerate() {
            let of = |field: &str| format!("workload.requests[{at}].{field}");
            if one.send.is_empty() {
                return Err(refuse(of("send"), "empty", "at least one byte"));
            }
            match &one.until {
                Until::Bytes(0) => return Err(refuse(of("until.bytes"), 0, "at least 1")),
                Until::Delimiter(text) if !(1..=LONGEST_DELIMITER).contains(&text.len()) => {
                    let must = format!("of 1 to {LONGEST_DELIMITER} bytes");
                    return Err(refuse(of("until.delimiter"), format!("of {} bytes", text.len()), must));
                }
                _ => {}
            }
            let most = match &one.until {
                Until::Bytes(most) => (*most as usize).min(LONGEST_DELIMITER),
                Until::Delimiter(_) => LONGEST_DELIMITER,
            };
            let place = format!("workload.requests[{at}]");
            check_starts(&place, one.miss.as_ref(), one.error.as_ref(), most)?;
        }
        let named: Vec<_> = self
            .requests
            .iter()
            .map(|one| (one.name.as_str(), (&one.until, &one.miss, &one.error)))
            .collect();
        let must = "another name: requests of one name have replies that end the same way";
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
    fn endless_replies_and_ambiguous_names_are_refused() {
        for (text, field) in [
            (r#"{"requests": []}"#, "workload.requests"),
            (r#"{"requests": [{"send": "", "until": {"bytes": 1}}]}"#, "workload.requests[0].send"),
            (r#"{"requests": [{"send": "a", "until": {"bytes": 0}}]}"#, "workload.requests[0].until.bytes"),
            (
                r#"{"requests": [{"send": "a", "until": {"delimiter": ""}}]}"#,
                "workload.requests[0].until.delimiter",
            ),
            (
                r#"{"requests": [{"send": "a", "until": {"bytes": 2}, "miss": "abc"}]}"#,
                "workload.requests[0].miss",
            ),
            (
                r#"{"requests": [{"send": "a", "until": {"bytes": 1}}, {"send": "b", "until": {"bytes": 2}}]}"#,
                "workload.requests[1].name",
            ),
        ] {
            let raw: Raw = serde_json::from_str(text).unwrap();
            let refused = raw.check().unwrap_err();
            assert_eq!(refused.field_and_value().0, field, "{refused}");
        }
    }
}
