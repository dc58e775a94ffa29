//! What an instance needs of its host: known from its plan, and never more while it runs.

use hindmost_plan::{Load, Plan, Workload};
use serde::Serialize;

use super::connection::Pending;
use super::instance::windows;
use super::open_files::SPARE;
use super::stamping::{room, Chosen};
use super::worker::READ_BYTES;
use crate::protocol::Protocol;
use crate::record::{Recorder, Row, Window};

/// Memory for bytes waiting to be written, of an instance, over all its connections; more only where
/// the largest request asks for it.
const OUT_BYTES: usize = 64 << 20;
/// The most of it that one connection gets.
const OUT_OF_ONE: usize = 1 << 20;
/// An interpreter with the engine in it, its threads' stacks: 12 MB measured with one thread.
const PROCESS_BYTES: u64 = 24 << 20;
/// Copies of the rows that exist while they are written as Parquet: the rows, their columns, the encoded
/// pages.
const COPIES: u64 = 4;

/// Buffers of one connection. They are allocated before the load and do not grow: what is due beyond
/// them is `unsent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Requests that wait for a reply.
    pub requests: usize,
    /// Bytes that wait for room in the kernel.
    pub out_bytes: usize,
    /// Requests that wait for a stamp.
    pub chosen: usize,
}

impl Buffers {
    /// For each connection of `plan`, on a worker that has `slots` of them.
    pub fn of(plan: &Plan, slots: u32) -> Self {
        // Four times a connection's fair share, because the choice of connections is random.
        let fair = max_outstanding(plan, slots).div_ceil(slots.max(1)) * 4;
        let closed = matches!(plan.load, Load::Closed { .. });
        let least = 2 * largest_request(plan);
        Self {
            requests: if closed { 1 } else { fair.max(64) as usize },
            out_bytes: (OUT_BYTES / plan.connections as usize).min(OUT_OF_ONE).max(least),
            chosen: if plan.stamp_every == 0 { 0 } else { room(slots) },
        }
    }
}

/// Requests in flight that a worker with `slots` connections keeps track of.
pub fn max_outstanding(plan: &Plan, slots: u32) -> u32 {
    (plan.max_outstanding / plan.threads.len() as u32).max(slots)
}

/// The most bytes a request of this plan can have.
pub fn largest_request(plan: &Plan) -> usize {
    match &plan.workload {
        Workload::KeyValue(mix) => {
            (mix.key_bytes.largest() + if mix.get_ratio < 1.0 { mix.value_bytes.largest() } else { 0 })
                as usize
                + 128
        }
        Workload::Http(mix) => mix.paths.iter().map(String::len).max().unwrap_or(1) + 512,
    }
}

/// What an instance needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// File descriptors.
    pub files: u64,
    /// Local ports.
    pub ports: u64,
    /// The most memory that it can come to hold, whatever the server does. A server that keeps up leaves
    /// most of the connections' share untouched.
    pub memory_bytes: u64,
    /// Of it, for each connection.
    pub connection_bytes: u64,
}

impl Needs {
    /// Of an instance of `plan`.
    pub fn of(plan: &Plan) -> Self {
        hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, with_codec(plan))
    }
}

fn with_codec<P: Protocol>(plan: &Plan) -> Needs {
    let threads = plan.threads.len() as u64;
    let connections = u64::from(plan.connections);
    let buffers = Buffers::of(plan, (connections / threads).max(1) as u32);
    let connection_bytes = buffers.requests * size_of::<Pending>()
        + buffers.chosen * size_of::<Chosen>()
        + buffers.out_bytes
        + P::MAX_HEAD
        + 512;
    let rows = (u64::from(plan.keep.samples) + u64::from(plan.keep.worst)) * size_of::<Row>() as u64;
    let (_, windows) = windows(plan);
    let thread = Recorder::histogram_bytes(plan.workload.mix().kinds.len()) as u64
        + rows
        + (windows * size_of::<Window>() + READ_BYTES + P::MAX_HEAD) as u64;
    Needs {
        files: connections + threads + SPARE,
        ports: connections,
        memory_bytes: PROCESS_BYTES
            + threads * thread
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
    fn ten_thousand_connections_cost_ten_kilobytes_each_whatever_the_threads() {
        let usual = json!({"kind": "key-value"});
        for threads in [1, 8] {
            let needs = Needs::of(&plan(10_000, threads, &usual));
            assert!((5_000..12_000).contains(&needs.connection_bytes), "{needs:?}");
            assert_eq!(needs.files, 10_000 + threads as u64 + SPARE);
        }
    }

    #[test]
    fn the_bytes_that_wait_are_bounded_over_all_connections() {
        let usual = json!({"kind": "key-value"});
        for connections in [1, 16, 64, 1_000, 10_000] {
            let buffers = Buffers::of(&plan(connections, 1, &usual), connections);
            assert!(connections as usize * buffers.out_bytes <= OUT_BYTES.max(OUT_OF_ONE), "{buffers:?}");
        }
    }

    #[test]
    fn large_values_make_large_needs() {
        let large = json!({"kind": "key-value", "value_bytes": 900_000, "get_ratio": 0.5});
        let needs = Needs::of(&plan(10_000, 1, &large));
        assert!(needs.memory_bytes > 10_000 * 2 * 900_000, "{needs:?}");
    }
}
