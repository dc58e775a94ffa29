//! Refuses options of a plan that its protocol does not support, before any connection is made.

use hindmost_plan::{Batching, Plan, PlanError};

use crate::protocol::Protocol;
use crate::LoadError;

/// Check that the protocol of `plan` supports its options. The plan's files must be loaded.
///
/// # Errors
/// [`LoadError::Plan`] with field and value. Several servers need a protocol whose requests need not wait for
/// a free place. Batches need connections that carry more than one request at a time.
pub fn check_protocol(plan: &Plan) -> Result<(), LoadError> {
    hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, check_protocol_as(plan))
}

/// Check the same for the protocol `P`, whatever protocol the plan names.
pub fn check_protocol_as<P: Protocol>(plan: &Plan) -> Result<(), LoadError> {
    let servers = plan.target.servers().len();
    if servers > 1 && (P::BOUNDED || P::LOSSY) {
        let what = if P::LOSSY { "are datagrams" } else { "have streams" };
        let must = format!("one server where requests {what} ({})", plan.target.protocol.entry().name);
        return Err(refuse("target.endpoints", format!("a list of {servers}"), must));
    }
    let by_turns = || plan.requests_until_close().is_some() || P::new(plan).takes_turns();
    if plan.batching != Batching::None && (plan.in_flight == Some(1) || by_turns()) {
        let must = "`none` where a connection carries one request at a time (`in_flight` 1, \
                    `requests_per_connection`, HTTP/1.0, POST and PATCH, large bodies): no batch would hold \
                    two requests";
        return Err(refuse("batching", plan.batching.name().to_owned(), must.to_owned()));
    }
    Ok(())
}

fn refuse(field: &'static str, value: String, must: String) -> LoadError {
    PlanError::Field { field: field.into(), value, must }.into()
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::engine::tests::{open, plan};

    /// Return the field and value that the check refuses.
    fn refused_field(changes: &Value) -> Option<(String, String)> {
        let mut plan = plan(2, &open(1_000), changes);
        plan.workload = plan.workload.load_files().unwrap();
        match check_protocol(&plan) {
            Ok(()) => None,
            Err(LoadError::Plan(PlanError::Field { field, value, .. })) => Some((field.into_owned(), value)),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn batches_are_refused_where_a_connection_carries_one_request_at_a_time() {
        let target = json!({"protocol": "http", "address": "127.0.0.1:1"});
        let http = |workload: &Value| json!({"target": target, "workload": workload});
        let with = |mut changes: Value, more: &Value| {
            changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            changes
        };
        let methods = [(json!({"interval": {"seconds": 1e-3}}), "`interval`"), (json!("nagle"), "`nagle`")];
        let plain = || http(&json!({"kind": "http"}));
        let large = json!({"hex": "62".repeat(1 << 17)});
        for (method, name) in methods {
            let batching = json!({"batching": method});
            for (changes, why) in [
                (json!({"requests_per_connection": 5}), "memcached, closed after five"),
                (json!({"in_flight": 1}), "memcached, one in flight"),
                (http(&json!({"kind": "http", "version": "1.0"})), "HTTP/1.0"),
                (http(&json!({"kind": "http", "requests": [{"method": "POST"}]})), "POST"),
                (
                    http(&json!({"kind": "http", "requests": [{"method": "PUT", "body": large}]})),
                    "a large body",
                ),
            ] {
                assert_eq!(refused_field(&changes), None, "{why}");
                let refusal = refused_field(&with(changes, &batching)).expect(why);
                assert_eq!(refusal, ("batching".to_owned(), name.to_owned()), "{why}");
            }
            for (changes, why) in [
                (plain(), "GET is pipelined"),
                (http(&json!({"kind": "http", "requests": [{"method": "PUT", "body": "x"}]})), "so is PUT"),
                (json!({"in_flight": 2}), "two in flight are a batch"),
            ] {
                assert_eq!(refused_field(&with(changes, &batching)), None, "{why}");
            }
        }
    }
}
