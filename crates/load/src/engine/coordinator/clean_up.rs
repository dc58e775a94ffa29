//! Removal of the stored keys after the load, over separate connections.

use std::sync::Arc;

use hindmost_clock::MonotonicClock;
use hindmost_plan::{Keep, Plan, Share, Thread, Workload};

use super::client::{Assignment, Job, Servers};
use crate::arrivals::Part;
use crate::engine::control::{windows, Control, Progress};
use crate::engine::hot_path::Worker;
use crate::protocol::Protocol;
use crate::transport::StampedTransport;
use crate::LoadError;

/// Connections used for removal: enough for all threads of a server, and at least one for each server.
const CONNECTIONS: u32 = 16;

/// Remove every key of `plan` from the server, whichever client stored it. Return how many existed.
///
/// # Errors
/// [`LoadError`]: the server is unreachable or does not answer.
pub fn clean_up(plan: &Plan) -> Result<u32, LoadError> {
    let workload = plan.workload.clone().load_files()?;
    if !matches!(workload, Workload::KeyValue(_)) {
        return Ok(0);
    }
    let plan = &Plan {
        workload,
        client: Share::default(),
        threads: vec![Thread::default()],
        connections: plan.connections.min(CONNECTIONS.max(plan.target.servers().len() as u32)),
        keep: Keep { samples: 0, worst: 0 },
        stamp_every: 0,
        witnessed: None,
        requests_per_connection: None,
        ..plan.clone()
    };
    let servers = Servers::resolve(plan)?;
    hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, clean_up_with(plan, &servers))
}

fn clean_up_with<P: Protocol>(plan: &Plan, servers: &Servers) -> Result<u32, LoadError> {
    let (window, capacity) = windows(plan);
    let assignment = Assignment {
        plan,
        servers,
        index: 0,
        control: Arc::new(Control::default()),
        progress: Arc::new(Progress::new(capacity)),
        window,
        live: None,
    };
    assignment.work::<P, _>(RemoveKeys)
}

/// Removes all keys.
struct RemoveKeys;

impl Job for RemoveKeys {
    type Output = u32;

    fn run<P: Protocol>(
        self,
        plan: &Plan,
        mut worker: Worker<P, dyn StampedTransport, MonotonicClock>,
    ) -> Result<u32, LoadError> {
        let Workload::KeyValue(keys) = &plan.workload else { return Ok(0) };
        worker.remove_all(keys, Part::WHOLE)
    }
}
