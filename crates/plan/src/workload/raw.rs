//! Any request and its reply: bytes that are sent, and how the reply ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::check_template;
use super::listed::Listed;
use super::refusals::{check_alike, check_list, check_starts};
use crate::error::{refuse, PlanError};

/// The longest delimiter: what of it has come is kept in a byte.
const LONGEST_DELIMITER: usize = 255;

/// Requests as bytes, for protocols that Hindmost does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// What is sent, each as often as its weight says.
    pub requests: Vec<RawRequest>,
    /// Where fields such as `{{data.NAME}}` find their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// One request of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRequest {
    /// What results call it; requests of one name are counted together.
    #[serde(default = "usual_name")]
    pub name: String,
    /// How often it is made, as a share of the sum of all weights.
    #[serde(default = "one")]
    pub weight: f64,
    /// What is sent: a template, with its line ends: `"PING\r\n"`.
    pub send: String,
    /// Where the reply ends.
    pub until: Until,
    /// A reply that starts so is a miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<String>,
    /// A reply that starts so is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn usual_name() -> String {
    "request".to_owned()
}

fn one() -> f64 {
    1.0
}

/// Where a reply ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// After so many bytes.
    Bytes(u32),
    /// Behind the first that is equal to this, such as `"\r\n"`.
    Delimiter(String),
}

impl Raw {
    /// Names and weights of all requests.
    pub fn listed(&self) -> Vec<Listed> {
        self.requests.iter().map(|one| Listed { kind: one.name.clone(), weight: one.weight }).collect()
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
        let must = "another name: requests of one name have replies that end alike";
        check_alike("workload.requests", &named, must)?;
        check_list("workload.requests", &self.listed())
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
    fn replies_without_end_and_names_for_two_things_are_refused() {
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
            assert_eq!(refused.told().0, field, "{refused}");
        }
    }
}
