use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;

/// Scheduler statistics of one CPU (`/proc/schedstat`, Documentation/scheduler/sched-stats.rst of the kernel).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RunQueue {
    /// The number of the CPU.
    pub cpu: u32,
    /// Time that threads ran on it.
    pub on_cpu_ns: u64,
    /// Time that threads waited for it.
    pub run_delay_ns: u64,
    /// Number of time slices on it, of all threads including the worker's.
    pub turns: u64,
}

/// Statistics of every CPU, since boot or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQueues(Vec<RunQueue>);

impl RunQueues {
    /// Read `/proc/schedstat`; empty on a kernel without it (`CONFIG_SCHEDSTATS`).
    pub fn read(tree: &Tree) -> Self {
        Self(tree.text("proc/schedstat").unwrap_or_default().lines().filter_map(parse).collect())
    }

    /// Return the difference to `earlier` for `cpus`.
    #[must_use]
    pub fn since(&self, earlier: &Self, cpus: &[u32]) -> Vec<RunQueue> {
        let ours = self.0.iter().filter(|now| cpus.contains(&now.cpu));
        ours.filter_map(|now| {
            let then = earlier.0.iter().find(|then| then.cpu == now.cpu)?;
            Some(RunQueue {
                cpu: now.cpu,
                on_cpu_ns: now.on_cpu_ns.saturating_sub(then.on_cpu_ns),
                run_delay_ns: now.run_delay_ns.saturating_sub(then.run_delay_ns),
                turns: now.turns.saturating_sub(then.turns),
            })
        })
        .collect()
    }
}

/// Parse `cpu3 0 0 0 0 0 0 RUNNING WAITING TURNS`: the last three of nine columns, unchanged since version 15
/// (2009).
fn parse(line: &str) -> Option<RunQueue> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let cpu = words.first()?.strip_prefix("cpu")?.parse().ok()?;
    let number = |at: usize| words.get(at)?.parse().ok();
    Some(RunQueue { cpu, on_cpu_ns: number(7)?, run_delay_ns: number(8)?, turns: number(9)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn turns_are_counted_for_the_selected_cpus() {
        let text = |turns| {
            format!("version 16\ntimestamp 9\ncpu0 0 0 0 0 0 0 100 5 7\ndomain0 3 1\ncpu1 0 0 0 0 0 0 900 50 {turns}\n")
        };
        let fake = FakeTree::new(&[("proc/schedstat", &text(70))]);
        let before = RunQueues::read(&fake.tree());
        fake.write("proc/schedstat", text(90).as_bytes());
        let after = RunQueues::read(&fake.tree());
        let expected = RunQueue { cpu: 1, on_cpu_ns: 0, run_delay_ns: 0, turns: 20 };
        assert_eq!(after.since(&before, &[1, 9]), [expected]);
        assert_eq!(after.since(&RunQueues::default(), &[1]), []);
    }

    #[test]
    fn a_kernel_without_the_file_has_no_statistics() {
        let fake = FakeTree::new(&[("proc/schedstat", "version 16\ncpu0 1 2\ncpux\n")]);
        assert_eq!(RunQueues::read(&fake.tree()), RunQueues::default());
        assert_eq!(RunQueues::read(&FakeTree::new(&[]).tree()), RunQueues::default());
    }
}
