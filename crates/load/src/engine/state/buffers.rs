//! Sizes of a connection's buffers. The plan determines them, and they do not grow during the run.

use hindmost_plan::{Load, Plan, Workload};

use super::stamp_queue::capacity_per_connection;
use crate::protocol::{
    largest_command, largest_message, largest_raw, largest_statement, Grpc, Http, Http2, Protocol,
};

/// Memory for bytes that wait to be written, over all connections of a client. Larger only if the largest
/// request needs more.
const OUT_BYTES: usize = 64 << 20;
/// Most of that memory for one connection.
const OUT_OF_ONE: usize = 1 << 20;

/// Buffer sizes of one connection. Buffers are allocated before the load and do not grow: scheduled requests
/// beyond them are `unsent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Requests that wait for a reply.
    pub requests: usize,
    /// Bytes that wait for space in the socket buffer.
    pub out_bytes: usize,
    /// Requests that wait for a stamp.
    pub stamped: usize,
}

impl Buffers {
    /// Compute the buffers for each connection of `plan`, on a worker with `slots` connections.
    pub fn for_plan(plan: &Plan, slots: u32) -> Self {
        // Four times a connection's fair share, because connections are chosen at random.
        let fair = max_outstanding(plan, slots).div_ceil(slots.max(1)) * 4;
        let closed = matches!(plan.load, Load::Closed { .. });
        let least = 2 * largest_request(plan);
        Self {
            requests: if closed { plan.in_flight.unwrap_or(1) } else { fair.max(64) } as usize,
            out_bytes: (OUT_BYTES / plan.connections as usize).min(OUT_OF_ONE).max(least),
            stamped: if plan.stamp_every == 0 { 0 } else { capacity_per_connection(slots) },
        }
    }

    /// Return the most requests that `plan` puts on a connection at once.
    pub fn in_flight(self, plan: &Plan) -> usize {
        plan.in_flight.map_or(self.requests, |most| self.requests.min(most as usize))
    }
}

/// Return the number of requests in flight that a worker with `slots` connections can track.
pub fn max_outstanding(plan: &Plan, slots: u32) -> u32 {
    (plan.max_outstanding / plan.threads.len() as u32).max(slots)
}

/// Return an upper bound on the bytes of a request of this plan.
pub fn largest_request(plan: &Plan) -> usize {
    match &plan.workload {
        Workload::KeyValue(mix) => {
            (mix.key_bytes.largest() + if mix.get_ratio < 1.0 { mix.value_bytes.largest() } else { 0 })
                as usize
                + 128
        }
        Workload::Http(_) if plan.target.protocol == Http2::PROTOCOL => Http2::new(plan).largest(),
        Workload::Http(_) if plan.target.protocol == Grpc::PROTOCOL => Grpc::new(plan).largest(),
        Workload::Http(_) => Http::new(plan).largest(),
        Workload::Commands(commands) => largest_command(commands),
        Workload::Sql(sql) => largest_statement(sql),
        Workload::Messages(messages) => largest_message(messages),
        Workload::Raw(raw) => largest_raw(raw),
        Workload::Dns(_) => crate::protocol::Dns::new(plan).largest(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::engine::tests::{every_ms, plan};

    #[test]
    fn output_buffers_are_bounded_over_all_connections() {
        for connections in [1, 16, 64, 1_000, 10_000] {
            let buffers = Buffers::for_plan(&plan(connections, &every_ms(), &Value::Null), connections);
            assert!(connections as usize * buffers.out_bytes <= OUT_BYTES.max(OUT_OF_ONE), "{buffers:?}");
        }
    }
}
