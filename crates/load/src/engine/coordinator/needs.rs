//! Resources that a client needs from its host. The plan determines them, and they do not grow during the
//! run.

use hindmost_clock::Nanos;
use hindmost_plan::{Plan, Workload};
use serde::Serialize;

use crate::engine::control::windows;
use crate::engine::hot_path::READ_BYTES;
use crate::engine::state::away::ROOM;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::buffers::Buffers;
use crate::engine::state::last_messages::LastMessages;
use crate::engine::state::request::Pending;
use crate::engine::state::sessions::Sessions;
use crate::engine::state::stamp_queue::StampedRequest;
use crate::protocol::{Protocol, IDS_BYTES, LONGEST_PATH};
use crate::record::{Recorder, Row, Window};

/// Open files other than connections: result files, epoll and the interpreter's own files. We counted 30.
const SPARE: u64 = 64;
/// Memory of an interpreter with the engine and its thread stacks: 12 MB measured with one thread.
const PROCESS_BYTES: u64 = 24 << 20;
/// Copies of the sample rows in memory while Parquet is written: the rows, their columns and the encoded
/// pages.
const COPIES: u64 = 4;

/// Resources that a client needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// File descriptors.
    pub files: u64,
    /// Local ports.
    pub ports: u64,
    /// Upper bound on memory, whatever the server does. With a server that keeps up, most of the connections'
    /// share stays untouched.
    pub memory_bytes: u64,
    /// The part of `memory_bytes` that each connection adds.
    pub connection_bytes: u64,
}

impl Needs {
    /// Compute the needs of a client of `plan`.
    pub fn for_plan(plan: &Plan) -> Self {
        hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, with_codec(plan))
    }

    /// Compute the needs of a client that speaks `P`, whatever protocol the plan names.
    pub fn for_protocol<P: Protocol>(plan: &Plan) -> Self {
        with_codec::<P>(plan)
    }
}

fn with_codec<P: Protocol>(plan: &Plan) -> Needs {
    let threads = plan.threads.len() as u64;
    let connections = u64::from(plan.connections);
    let buffers = Buffers::for_plan(plan, (connections / threads).max(1) as u32);
    let connection_bytes = buffers.requests * size_of::<Pending>()
        + buffers.stamped * size_of::<StampedRequest>()
        + buffers.out_bytes
        + P::MAX_HEAD
        + size_of::<P::Session>()
        + usize::from(P::LOSSY) * IDS_BYTES
        + if matches!(&plan.workload, Workload::Http(http) if http.follow.is_some()) {
            LONGEST_PATH
        } else {
            0
        }
        + if P::TAGGED { buffers.requests * size_of::<u32>() } else { 0 }
        + if plan.stream { buffers.requests * LastMessages::BYTES } else { 0 }
        + 512;
    // Requests may wait for an exclusive connection, or for a free place on a shared one.
    let bounded = P::BOUNDED || plan.in_flight.is_some();
    let waiting = plan.max_outstanding as usize
        * (usize::from(P::MAY_CLOSE || plan.requests_until_close().is_some()) * size_of::<Pending>()
            + usize::from(bounded) * size_of::<Waiting>());
    let rows = (u64::from(plan.keep.samples) + u64::from(plan.keep.worst)) * size_of::<Row>() as u64;
    let (_, windows) = windows(plan);
    let thread = Recorder::histogram_bytes(plan.workload.kinds().len(), plan.stream) as u64
        + rows
        + Sessions::bytes(plan) as u64
        + (ROOM * size_of::<(Nanos, Nanos)>()) as u64
        + (windows * size_of::<Window>() + READ_BYTES + P::MAX_HEAD) as u64;
    Needs {
        files: connections + threads + SPARE,
        ports: connections,
        memory_bytes: PROCESS_BYTES
            + threads * thread
            + waiting as u64
            + COPIES * rows
            + connections * connection_bytes as u64,
        connection_bytes: connection_bytes as u64,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(connections: u32, threads: usize, workload: &serde_json::Value) -> Plan {
        let plan = json!({
            "schema": hindmost_plan::SCHEMA, "seed": 1,
            "target": {"protocol": "memcached", "address": "127.0.0.1:1"},
            "load": {"loop": "open", "rate_per_s": 1000.0},
            "connections": connections,
            "threads": vec![json!({}); threads],
            "workload": workload,
        });
        Plan::from_json(&plan.to_string()).unwrap()
    }

    #[test]
    fn ten_thousand_connections_need_ten_kilobytes_each() {
        let usual = json!({"kind": "key-value"});
        for threads in [1, 8] {
            let needs = Needs::for_plan(&plan(10_000, threads, &usual));
            assert!((5_000..12_000).contains(&needs.connection_bytes), "{needs:?}");
            assert_eq!(needs.files, 10_000 + threads as u64 + SPARE);
        }
    }

    #[test]
    fn large_values_make_large_needs() {
        let large = json!({"kind": "key-value", "value_bytes": 900_000, "get_ratio": 0.5});
        let needs = Needs::for_plan(&plan(10_000, 1, &large));
        assert!(needs.memory_bytes > 10_000 * 2 * 900_000, "{needs:?}");
    }
}
