use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::process::ticks_per_second;
use serde::Serialize;

use crate::Tree;

/// CPU time of a process (or a process and its descendants), with all its threads, including ended ones. Resolution
/// is one tick, usually 10 ms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessCpu {
    /// Time of the reading (`CLOCK_MONOTONIC`, nanoseconds).
    pub at_ns: u64,
    processes: Vec<Process>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Process {
    pid: u32,
    #[serde(skip)]
    parent: u32,
    /// A pid may be reused: only pid and start time together identify a process.
    started_ticks: u64,
    cpu_ns: u64,
}

impl Process {
    fn read(tree: &Tree, pid: u32) -> Option<Self> {
        Self::parse(pid, &tree.text(&format!("proc/{pid}/stat"))?)
    }

    /// Parse `/proc/PID/stat` (`proc_pid_stat(5)`). The command, field 2, may contain spaces and brackets:
    /// count fields from its last bracket.
    fn parse(pid: u32, text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // `fields[0]` is field 3 of the manual page.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = number(14)?.checked_add(number(15)?)?;
        Some(Self {
            pid,
            parent: u32::try_from(number(4)?).ok()?,
            started_ticks: number(22)?,
            cpu_ns: ticks.checked_mul(1_000_000_000 / ticks_per_second())?,
        })
    }

    fn is(&self, other: &Self) -> bool {
        (self.pid, self.started_ticks) == (other.pid, other.started_ticks)
    }
}

impl ProcessCpu {
    /// Read one process; `None` if it does not exist.
    pub fn read(tree: &Tree, pid: u32) -> Option<Self> {
        Some(Self { processes: vec![Process::read(tree, pid)?], at_ns: MonotonicClock.now().0 })
    }

    /// Read a process and all its descendants, for servers with worker processes.
    pub fn read_family(tree: &Tree, pid: u32) -> Option<Self> {
        let mut family = vec![Process::read(tree, pid)?];
        let mut others: Vec<Process> = tree
            .numbers("proc", "")
            .into_iter()
            .filter(|&other| other != pid)
            .filter_map(|other| Process::read(tree, other))
            .collect();
        // Parents may have higher numbers than their children after pids have wrapped around.
        loop {
            let (children, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|process| family.iter().any(|member| member.pid == process.parent));
            if children.is_empty() {
                break;
            }
            family.extend(children);
            others = rest;
        }
        Some(Self { processes: family, at_ns: MonotonicClock.now().0 })
    }

    /// Return the CPU time used since the processes started.
    pub fn cpu_time(&self) -> Nanos {
        Nanos(self.processes.iter().map(|process| process.cpu_ns).fold(0, u64::saturating_add))
    }

    /// Return the CPU time used after `earlier` as a fraction of one CPU (2.0 = two CPUs busy). `None` if the
    /// pid now belongs to another process, or no time has passed. New children count in full; the last CPU time
    /// of children that ended is unknown.
    pub fn share_since(&self, earlier: &Self) -> Option<f64> {
        let wall = self.at_ns.saturating_sub(earlier.at_ns);
        let same = self.processes.first()?.is(earlier.processes.first()?);
        let used = self.processes.iter().map(|now| {
            let then = earlier.processes.iter().find(|then| then.is(now));
            now.cpu_ns.saturating_sub(then.map_or(0, |then| then.cpu_ns))
        });
        (same && wall > 0).then(|| used.fold(0, u64::saturating_add) as f64 / wall as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    fn stat(pid: u32, command: &str, parent: u32, user: u64, system: u64) -> String {
        format!("{pid} ({command}) S {parent} 1 1 0 -1 0 0 0 0 0 {user} {system} 900 900 20 0 4 0 777 1 2\n")
    }

    fn ticks(ticks: u64) -> Nanos {
        Nanos(ticks * (1_000_000_000 / ticks_per_second()))
    }

    #[test]
    fn brackets_and_spaces_in_a_command_shift_no_field() {
        let fake = FakeTree::new(&[("proc/7/stat", &stat(7, "a) S 1 (b", 1, 3, 4))]);
        let read = ProcessCpu::read(&fake.tree(), 7).unwrap();
        assert_eq!(read.cpu_time(), ticks(7));
        assert_eq!(read.processes[0].started_ticks, 777);
    }

    #[test]
    fn a_family_includes_grandchildren_in_any_order_of_pids() {
        let fake = FakeTree::new(&[
            ("proc/50/stat", &stat(50, "master", 1, 1, 0)),
            ("proc/60/stat", &stat(60, "worker", 50, 10, 0)),
            ("proc/20/stat", &stat(20, "helper", 60, 100, 0)),
            ("proc/30/stat", &stat(30, "stranger", 1, 1000, 0)),
            ("proc/40/stat", "gone"),
        ]);
        let family = ProcessCpu::read_family(&fake.tree(), 50).unwrap();
        assert_eq!(family.cpu_time(), ticks(111));
    }

    #[test]
    fn a_share_follows_the_same_process_and_its_children() {
        let reading = |at_ns, processes: &[(u32, u64, u64)]| ProcessCpu {
            at_ns,
            processes: processes
                .iter()
                .map(|&(pid, started_ticks, cpu_ns)| Process { pid, parent: 1, started_ticks, cpu_ns })
                .collect(),
        };
        let before = reading(1_000, &[(7, 777, 100), (8, 778, 50)]);
        let check = |after: ProcessCpu, expected| assert_eq!(after.share_since(&before), expected);
        check(reading(2_000, &[(7, 777, 600), (8, 778, 50)]), Some(0.5));
        check(reading(2_000, &[(7, 777, 600), (9, 800, 250)]), Some(0.75));
        check(reading(2_000, &[(7, 777, 600), (8, 900, 250)]), Some(0.75));
        check(reading(2_000, &[(7, 999, 600)]), None);
        check(reading(1_000, &[(7, 777, 600)]), None);
    }

    #[test]
    fn missing_and_malformed_processes_are_none() {
        let fake = FakeTree::new(&[("proc/1/stat", "1 (x) S"), ("proc/2/stat", "")]);
        for pid in 1..=3 {
            assert_eq!(ProcessCpu::read(&fake.tree(), pid), None);
        }
    }
}
