use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::tree::field;
use crate::{cpulist, Tree};

/// Flag of kernel threads (`linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;
/// Most threads that are named, by CPU time; the rest are only counted.
const MAX_NAMED: usize = 12;

/// All visible threads of the host and their CPU time. Read before and after a measurement, this names the threads
/// that shared a worker's CPU.
///
/// Reading takes two small files per thread, about 10 us: 2 ms on a small host, 100 ms with thousands of threads.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    threads: Vec<Thread>,
    /// Processes and threads started since boot (`processes` of `/proc/stat`).
    forks: Option<u64>,
}

#[derive(Clone, Debug)]
struct Thread {
    pid: u32,
    tid: u32,
    /// A tid may be reused: only tid and start time together identify a thread.
    started_ticks: u64,
    process: String,
    name: String,
    kernel: bool,
    /// The CPU that it last ran on.
    cpu: u32,
    on_cpu_ns: u64,
    turns: u64,
}

/// A thread that ran between two readings, and whose last CPU was a selected one at either reading.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Neighbour {
    /// Its process id.
    pub pid: u32,
    /// Its thread id.
    pub tid: u32,
    /// The process's name.
    pub process: String,
    /// The thread's name.
    pub name: String,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// CPU time in nanoseconds, on any CPU.
    pub on_cpu_ns: u64,
    /// How often it was given a CPU, any CPU: after wake-ups and after preemption.
    pub turns: u64,
    /// Whether its affinity allows the selected CPUs only, so that all of its time was spent there.
    pub bound: bool,
}

/// The threads that ran on the selected CPUs between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Neighbourhood {
    /// The threads with the most CPU time, in descending order.
    pub named: Vec<Neighbour>,
    /// Number of further threads.
    pub more: u64,
    /// Processes and threads started on the host meanwhile. A thread that began and ended between the readings
    /// is not listed.
    pub forks: Option<u64>,
}

impl Thread {
    fn read(tree: &Tree, pid: u32, tid: u32) -> Option<Self> {
        let place = format!("proc/{pid}/task/{tid}");
        let stat = tree.text(&format!("{place}/stat"))?;
        // The name may contain spaces and brackets: it ends at the last bracket (proc_pid_stat(5)).
        let (head, rest) = stat.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let (on_cpu_ns, turns) = Self::ran(tree, &place)?;
        let cpu = u32::try_from(number(39)?).ok()?;
        Some(Self {
            pid,
            tid,
            started_ticks: number(22)?,
            process: String::new(),
            name,
            kernel: number(9)? & PF_KTHREAD != 0,
            cpu,
            on_cpu_ns,
            turns,
        })
    }

    /// Read CPU time and turns. A kernel without `schedstat` counts switches but no time.
    fn ran(tree: &Tree, place: &str) -> Option<(u64, u64)> {
        if let Some(text) = tree.non_empty_text(&format!("{place}/schedstat")) {
            let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
            let (time, turns) = (words.next()??, words.nth(1)??);
            return Some((time, turns));
        }
        let status = tree.text(&format!("{place}/status"))?;
        let count = |key: &str| field(&status, key, ':')?.parse::<u64>().ok();
        Some((0, count("voluntary_ctxt_switches")?.saturating_add(count("nonvoluntary_ctxt_switches")?)))
    }

    fn key(&self) -> (u32, u64) {
        (self.tid, self.started_ticks)
    }
}

impl Neighbours {
    /// Read all visible threads of all processes except `without` (the caller's own).
    pub fn read(tree: &Tree, without: u32) -> Self {
        let mut threads = Vec::new();
        for pid in tree.numbers("proc", "").into_iter().filter(|&pid| pid != without) {
            let first = threads.len();
            let tids = tree.numbers(&format!("proc/{pid}/task"), "");
            threads.extend(tids.into_iter().filter_map(|tid| Thread::read(tree, pid, tid)));
            let all: &mut [Thread] = &mut threads[first..];
            let process = all.iter().find(|thread| thread.tid == pid).map(|thread| thread.name.clone());
            for thread in all {
                thread.process = process.clone().unwrap_or_else(|| thread.name.clone());
            }
        }
        let stat = tree.text("proc/stat").unwrap_or_default();
        Self { threads, forks: field(&stat, "processes", ' ').and_then(|count| count.parse().ok()) }
    }

    /// Return the threads that ran after `earlier` and whose last CPU is or was one of `cpus`. A new thread
    /// counts in full.
    #[must_use]
    pub fn since(&self, tree: &Tree, earlier: &Self, cpus: &[u32]) -> Neighbourhood {
        let before: HashMap<(u32, u64), &Thread> =
            earlier.threads.iter().map(|one| (one.key(), one)).collect();
        let mut seen: Vec<Neighbour> = self
            .threads
            .iter()
            .filter_map(|now| {
                let then = before.get(&now.key());
                let turns = now.turns.saturating_sub(then.map_or(0, |then| then.turns));
                let here = cpus.contains(&now.cpu) || then.is_some_and(|then| cpus.contains(&then.cpu));
                (here && turns > 0).then(|| Neighbour {
                    pid: now.pid,
                    tid: now.tid,
                    process: now.process.clone(),
                    name: now.name.clone(),
                    kernel: now.kernel,
                    on_cpu_ns: now.on_cpu_ns.saturating_sub(then.map_or(0, |then| then.on_cpu_ns)),
                    turns,
                    bound: false,
                })
            })
            .collect();
        seen.sort_by_key(|one| std::cmp::Reverse((one.on_cpu_ns, one.turns)));
        let more = seen.len().saturating_sub(MAX_NAMED) as u64;
        seen.truncate(MAX_NAMED);
        for one in &mut seen {
            one.bound = is_bound(tree, one, cpus);
        }
        let forks = self.forks.zip(earlier.forks).map(|(now, then)| now.saturating_sub(then));
        Neighbourhood { named: seen, more, forks }
    }
}

/// Whether the thread's affinity allows no other CPUs than these.
fn is_bound(tree: &Tree, one: &Neighbour, cpus: &[u32]) -> bool {
    let status = tree.text(&format!("proc/{}/task/{}/status", one.pid, one.tid)).unwrap_or_default();
    let allowed = field(&status, "Cpus_allowed_list", ':').and_then(cpulist::parse).unwrap_or_default();
    !allowed.is_empty() && allowed.iter().all(|cpu| cpus.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    /// Write one thread's files: its CPU, CPU time and turns.
    fn thread(fake: &FakeTree, pid: u32, tid: u32, name: &str, cpu: u32, ran: (u64, u64)) {
        let place = format!("proc/{pid}/task/{tid}");
        // Fields 4 to 38; field 22 is the start time.
        let middle: Vec<&str> = (4..39).map(|field| if field == 22 { "777" } else { "1" }).collect();
        let stat = format!("{tid} ({name}) S {} {cpu} 0 0\n", middle.join(" "));
        fake.write(&format!("{place}/stat"), stat.as_bytes());
        fake.write(&format!("{place}/schedstat"), format!("{} 5 {}\n", ran.0, ran.1).as_bytes());
        fake.write(&format!("{place}/status"), b"Name:\tx\nCpus_allowed_list:\t0-1\n");
    }

    fn read(fake: &FakeTree) -> Neighbours {
        Neighbours::read(&fake.tree(), 999)
    }

    #[test]
    fn threads_on_our_cpu_are_named_with_their_cpu_time() {
        let fake = FakeTree::new(&[("proc/stat", "cpu 1 2\nprocesses 100\n")]);
        thread(&fake, 7, 7, "server", 0, (1_000, 10));
        thread(&fake, 7, 8, "a) S (b", 1, (500, 5));
        thread(&fake, 9, 9, "idle", 1, (40, 2));
        thread(&fake, 999, 999, "ourselves", 1, (1, 1));
        let before = read(&fake);
        thread(&fake, 7, 7, "server", 0, (9_000, 20));
        thread(&fake, 7, 8, "a) S (b", 1, (2_500, 9));
        thread(&fake, 999, 999, "ourselves", 1, (9_999, 9));
        thread(&fake, 12, 12, "new", 1, (70, 1));
        fake.write("proc/stat", b"cpu 1 2\nprocesses 103\n");
        fake.write("proc/7/task/8/status", b"Cpus_allowed_list:\t1\n");
        let span = read(&fake).since(&fake.tree(), &before, &[1]);

        let names: Vec<_> =
            span.named.iter().map(|n| (n.name.as_str(), n.on_cpu_ns, n.turns, n.bound)).collect();
        assert_eq!(names, [("a) S (b", 2_000, 4, true), ("new", 70, 1, false)]);
        assert_eq!((span.named[0].process.as_str(), span.named[0].kernel), ("server", false));
        assert_eq!((span.more, span.forks), (0, Some(3)));
    }

    #[test]
    fn a_thread_that_left_our_cpu_is_named() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "wanderer", 1, (0, 1));
        let before = read(&fake);
        thread(&fake, 7, 7, "wanderer", 0, (10, 2));
        assert_eq!(read(&fake).since(&fake.tree(), &before, &[1]).named.len(), 1);
        assert_eq!(read(&fake).since(&fake.tree(), &before, &[3]).named.len(), 0);
    }

    #[test]
    fn kernel_threads_are_marked() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "kworker/1:1-events", 1, (5, 1));
        let stat = fake.tree().text("proc/7/task/7/stat").unwrap();
        let stat = stat.replacen(" 1 1 1 1 1 1 ", " 2 0 0 0 -1 69238880 ", 1);
        fake.write("proc/7/task/7/stat", stat.as_bytes());
        assert!(read(&fake).threads[0].kernel);
    }

    #[test]
    fn a_reused_tid_is_another_thread() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "old", 1, (1_000, 10));
        let mut before = read(&fake);
        before.threads[0].started_ticks = 5;
        thread(&fake, 7, 7, "new", 1, (30, 3));
        let span = read(&fake).since(&fake.tree(), &before, &[1]);
        assert_eq!((span.named[0].on_cpu_ns, span.named[0].turns), (30, 3));
    }

    #[test]
    fn threads_with_most_cpu_time_are_named_and_the_rest_counted() {
        let fake = FakeTree::new(&[]);
        for pid in 1..=20 {
            thread(&fake, pid, pid, "t", 1, (u64::from(pid), 1));
        }
        let span = read(&fake).since(&fake.tree(), &Neighbours::default(), &[1]);
        assert_eq!((span.named.len(), span.more), (MAX_NAMED, 20 - MAX_NAMED as u64));
        assert_eq!(span.named[0].pid, 20);
    }

    #[test]
    fn without_schedstat_switches_count_as_turns() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "t", 1, (5, 1));
        fake.write("proc/7/task/7/schedstat", b"");
        let status = "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n";
        fake.write("proc/7/task/7/status", status.as_bytes());
        let span = read(&fake).since(&fake.tree(), &Neighbours::default(), &[1]);
        assert_eq!((span.named[0].turns, span.named[0].on_cpu_ns), (7, 0));
        for junk in ["", "7 (t", "7 (t) S 1", "7 (t) S x"] {
            fake.write("proc/7/task/7/stat", junk.as_bytes());
            assert!(read(&fake).threads.is_empty(), "{junk:?}");
        }
    }
}
