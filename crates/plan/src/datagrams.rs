//! Options of a plan that a protocol over UDP does not support.

use hindmost_wire::Framing;

use crate::error::{refuse, PlanError};
use crate::{Batching, Io, Plan, Workload};

/// A value must fit into one datagram (65,507 bytes, RFC 768) together with its command and key.
const MOST_VALUE_BYTES: u32 = 65_000;

pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let spoken = plan.target.protocol.entry();
    if spoken.framing != Framing::Datagram {
        return Ok(());
    }
    if plan.io != Io::Epoll {
        return Err(refuse("io", "`io_uring`", format!("`epoll` for {}, which uses UDP", spoken.name)));
    }
    if plan.batching == Batching::Nagle {
        let must = format!("`none` or an interval for {}, which uses UDP", spoken.name);
        return Err(refuse("batching", "`nagle`", must));
    }
    if plan.target.tls.is_some() {
        return Err(refuse("target.tls", "given", format!("omitted for {}: UDP has no TLS", spoken.name)));
    }
    if plan.requests_per_connection.is_some() {
        let must = format!("omitted for {}: UDP has no connections", spoken.name);
        return Err(refuse("requests_per_connection", "given", must));
    }
    match &plan.workload {
        Workload::KeyValue(mix) if mix.get_ratio < 1.0 && mix.value_bytes.largest() > MOST_VALUE_BYTES => {
            let must = format!(
                "at most {MOST_VALUE_BYTES} for {}: a larger value does not fit into a datagram",
                spoken.name
            );
            Err(refuse("workload.value_bytes", mix.value_bytes.largest(), must))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    #[test]
    fn options_that_udp_lacks_are_refused() {
        let read = |changes: &Value| {
            let mut plan = json!({
                "schema": crate::SCHEMA, "seed": 1, "load": {"loop": "open", "rate_per_s": 1.0},
                "target": {"protocol": "memcached-udp", "address": "127.0.0.1:1"},
            });
            for (key, value) in changes.as_object().into_iter().flatten() {
                plan[key] = value.clone();
            }
            Plan::from_json(&plan.to_string()).map(drop)
        };
        assert_eq!(read(&json!({"batching": {"interval": {"seconds": 0.001}}})), Ok(()));
        let large = json!({"kind": "key-value", "get_ratio": 0.5, "value_bytes": 70_000});
        for (changes, field) in [
            (json!({"io": "io_uring"}), "io"),
            (json!({"requests_per_connection": 5}), "requests_per_connection"),
            (json!({"batching": "nagle"}), "batching"),
            (json!({"workload": large}), "workload.value_bytes"),
        ] {
            assert_eq!(read(&changes).unwrap_err().field_and_value().0, field);
        }
    }
}
