//! Checks of lists of requests. Errors name the field.

use std::collections::{BTreeMap, HashMap};

use super::http::{Http, HttpRequest};
use super::reply_checks::{check_replies, is_token};
use super::weighted_kind::{kinds, WeightedKind};
use super::Codes;
use crate::error::{refuse, PlanError};

/// Most kinds of requests. Each kind has its own statistics: a megabyte of histograms in each worker.
const MOST_KINDS: usize = 64;
/// Longest name of a request, in characters.
const LONGEST_NAME: usize = 120;
/// Most redirections of a request.
const MOST_REDIRECTS: u8 = 20;
/// Headers that the engine writes, because they determine where a message ends.
const OWN: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// Check that weights are positive, that names can be stored in a log, and that there are not too many names.
pub fn check_list(field: &str, list: &[WeightedKind]) -> Result<(), PlanError> {
    let weight = |at: usize| format!("{field}[{at}].weight");
    for (at, one) in list.iter().enumerate() {
        if !(one.weight.is_finite() && one.weight >= 0.0) {
            return Err(refuse(weight(at), one.weight, "0 or more"));
        }
        let clean = |c: char| !(c == ',' || c.is_whitespace() || c.is_control());
        if one.kind.is_empty() || one.kind.len() > LONGEST_NAME || !one.kind.chars().all(clean) {
            let must = format!("of 1 to {LONGEST_NAME} characters, without spaces and commas");
            return Err(refuse(format!("{field}[{at}].name"), format!("{:?}", one.kind), must));
        }
    }
    let sum: f64 = list.iter().map(|one| one.weight).sum();
    if !(sum.is_finite() && sum > 0.0) {
        return Err(refuse(
            field.to_owned(),
            format!("a list of {} whose weights add up to {sum}", list.len()),
            "a list whose weights add up to more than 0",
        ));
    }
    let names = kinds(list).len();
    if names > MOST_KINDS {
        let must =
            format!("a list of at most {MOST_KINDS} names: requests of one `name` are counted together");
        return Err(refuse(field.to_owned(), format!("a list of {names} names"), must));
    }
    Ok(())
}

impl Http {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.paths.is_some() && !self.requests.is_empty() {
            return Err(refuse(
                "workload.paths",
                "given with `requests`",
                "omitted: `requests` name their paths",
            ));
        }
        if self.paths.as_ref().is_some_and(Vec::is_empty) {
            return Err(refuse("workload.paths", "empty", "a list of at least one path"));
        }
        let short = self.requests.is_empty();
        let at = |index: usize| {
            if short {
                "workload.paths".to_owned()
            } else {
                format!("workload.requests[{index}]")
            }
        };
        check_list(if short { "workload.paths" } else { "workload.requests" }, &self.weighted_kinds())?;
        let all = self.all();
        let mut named = HashMap::new();
        for (index, one) in all.iter().enumerate() {
            one.check(&at(index), if short { "" } else { ".path" })?;
            let first = *named.entry(one.result_name()).or_insert(one);
            if (&first.method, &first.accept, &first.checks) != (&one.method, &one.accept, &one.checks) {
                let must =
                    "another name: requests of one name have the same method, accepted codes and checks";
                return Err(refuse(format!("{}.name", at(index)), format!("{:?}", one.result_name()), must));
            }
        }
        check_headers("workload.headers", &self.headers)?;
        check_codes("workload.accept", &self.accept)?;
        check_replies("workload.checks", &self.checks)?;
        if let Some(most) = self.follow.filter(|most| !(1..=MOST_REDIRECTS).contains(most)) {
            return Err(refuse("workload.follow", most, format!("between 1 and {MOST_REDIRECTS}")));
        }
        match &self.host {
            Some(host) if host.is_empty() || !host.bytes().all(|b| b.is_ascii_graphic()) => {
                Err(refuse("workload.host", format!("{host:?}"), "a host name without spaces"))
            }
            _ => Ok(()),
        }
    }
}

impl HttpRequest {
    pub(super) fn check(&self, field: &str, path: &str) -> Result<(), PlanError> {
        if self.method.is_empty() || !self.method.bytes().all(is_token) || self.method == "CONNECT" {
            let must = "a method such as GET or POST, and not CONNECT";
            return Err(refuse(format!("{field}.method"), format!("{:?}", self.method), must));
        }
        // Text inside a field does not belong to the path.
        let bare: String = self.path.split("{{").map(|part| part.rsplit("}}").next().unwrap_or("")).collect();
        if !self.path.starts_with(['/', '{', '*']) || !bare.bytes().all(|b| b.is_ascii_graphic()) {
            let must = "a path that starts with `/` and contains neither spaces nor control characters";
            return Err(refuse(format!("{field}{path}"), format!("{:?}", self.path), must));
        }
        check_headers(&format!("{field}.headers"), &self.headers)?;
        self.accept.as_ref().map_or(Ok(()), |accept| check_codes(&format!("{field}.accept"), accept))?;
        self.checks.as_ref().map_or(Ok(()), |checks| check_replies(&format!("{field}.checks"), checks))
    }
}

/// Check headers. Errors hide their values, which may be secret.
pub fn check_headers(field: &str, headers: &BTreeMap<String, String>) -> Result<(), PlanError> {
    for (name, value) in headers {
        let of = || format!("{field}.{name}");
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(refuse(
                of(),
                format!("a header named {name:?}"),
                "a name of letters, digits and dashes",
            ));
        }
        if OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            let must =
                "omitted: Hindmost writes it (see `body`, `version`, and the plan's `requests_per_connection`)";
            return Err(refuse(of(), "given", must));
        }
        if let Some(wrong) = value.chars().find(|&c| c.is_control() && c != '\t') {
            return Err(refuse(of(), format!("a value that contains {wrong:?}"), "a single line of text"));
        }
        if headers.keys().any(|other| other != name && other.eq_ignore_ascii_case(name)) {
            return Err(refuse(of(), "given twice", "given once: header names are case-insensitive"));
        }
    }
    Ok(())
}

fn check_codes(field: &str, codes: &[Codes]) -> Result<(), PlanError> {
    if codes.is_empty() {
        return Err(refuse(field.to_owned(), "empty", "a list of status codes, such as [\"2xx\", 304]"));
    }
    for one in codes {
        if let Codes::One(code @ (..200 | 600..)) = one {
            return Err(refuse(field.to_owned(), code, "made of codes from 200 to 599, or of classes"));
        }
    }
    Ok(())
}

/// Check the starts of replies that are misses or errors, at most `longest` bytes, in the request at `place`.
pub fn check_starts(
    place: &str,
    miss: Option<&String>,
    error: Option<&String>,
    longest: usize,
) -> Result<(), PlanError> {
    for (field, start) in [("miss", miss), ("error", error)] {
        if let Some(start) = start.filter(|start| !(1..=longest).contains(&start.len())) {
            let must = format!("a start of 1 to {longest} bytes");
            return Err(refuse(format!("{place}.{field}"), format!("{start:?}"), must));
        }
    }
    Ok(())
}

/// Check that requests of one name, which are counted together, identify misses and errors the same way.
pub fn check_alike<T: PartialEq>(
    field: &str,
    named: &[(&str, T)],
    must: &'static str,
) -> Result<(), PlanError> {
    let mut first = HashMap::new();
    for (at, (name, reply)) in named.iter().enumerate() {
        if *first.entry(name).or_insert(reply) != reply {
            return Err(refuse(format!("{field}[{at}].name"), format!("{name:?}"), must));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    fn check(workload: &Value, field: &str) {
        let http: Http = serde_json::from_value(workload.clone()).unwrap();
        assert_eq!(http.check().unwrap_err().field_and_value().0, field, "{workload}");
    }

    #[test]
    fn errors_of_a_list_name_the_place() {
        let at = |one: Value| json!({"requests": [{}, one]});
        check(&json!({"requests": [{"weight": 0}, {"weight": 0}]}), "workload.requests");
        check(&at(json!({"weight": -1})), "workload.requests[1].weight");
        check(&at(json!({"name": "a b"})), "workload.requests[1].name");
        check(&at(json!({"method": "GE T"})), "workload.requests[1].method");
        check(&at(json!({"method": "CONNECT"})), "workload.requests[1].method");
        check(&at(json!({"path": "/a b"})), "workload.requests[1].path");
        check(&at(json!({"path": "x"})), "workload.requests[1].path");
        check(&at(json!({"accept": [99]})), "workload.requests[1].accept");
        check(&at(json!({"checks": ["size<=1", "body"]})), "workload.requests[1].checks[1]");
        check(&at(json!({"name": "get:/", "checks": ["size<=1"]})), "workload.requests[1].name");
        check(&json!({"checks": ["header"]}), "workload.checks[0]");
        check(&json!({"follow": 0}), "workload.follow");
        check(&json!({"checks": vec!["size<=1"; 9]}), "workload.checks");
        check(&at(json!({"name": "get:/", "method": "PUT"})), "workload.requests[1].name");
        check(&json!({"paths": ["/"], "requests": [{}]}), "workload.paths");
        check(&json!({"paths": []}), "workload.paths");
        let many: Vec<Value> = (0..65).map(|n| json!({"name": format!("n{n}")})).collect();
        check(&json!({"requests": many}), "workload.requests");
    }

    #[test]
    fn a_header_that_injects_a_line_is_refused_and_its_value_hidden() {
        let wrong = |headers: Value| {
            let http: Http = serde_json::from_value(json!({"headers": headers})).unwrap();
            http.check().unwrap_err()
        };
        let refused = wrong(json!({"Authorization": "Bearer s3cret\r\nX: y"}));
        assert_eq!(refused.field_and_value().0, "workload.headers.Authorization");
        assert!(!refused.to_string().contains("s3cret"));
        assert_eq!(
            wrong(json!({"Content-Length": "3"})).field_and_value().0,
            "workload.headers.Content-Length"
        );
        assert_eq!(wrong(json!({"A b": "3"})).field_and_value().0, "workload.headers.A b");
        assert_eq!(wrong(json!({"a": "3", "A": "4"})).field_and_value().0, "workload.headers.A");
    }

    #[test]
    fn paths_may_contain_fields() {
        let http: Http =
            serde_json::from_value(json!({"requests": [{"path": "/a/{{int:1 .. 5}}?q={{data.a b|url}}"}]}))
                .unwrap();
        assert_eq!(http.check(), Ok(()));
    }
}
