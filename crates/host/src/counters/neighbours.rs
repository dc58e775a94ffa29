use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::tree::field;
use crate::{cpulist, Tree};

/// Flag of the kernel's own threads (`linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;
/// So many are named, those that took most; of the rest only the number is told.
const NAMED: usize = 12;

/// Every thread of the host that can be seen, and how much it has run: read before and after a
/// measurement, this names whoever ran beside a worker on its CPU.
///
/// Two small files a thread, some 10 us: 2 ms on a small host, 100 ms where thousands of threads live.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    threads: Vec<Thread>,
    /// Processes and threads started since the host did (`processes` of `/proc/stat`).
    forks: Option<u64>,
}

#[derive(Clone, Debug)]
struct Thread {
    pid: u32,
    tid: u32,
    /// A tid may be given anew: only together with its start does it name a thread.
    started_ticks: u64,
    process: String,
    name: String,
    kernel: bool,
    /// The CPU that it ran on last.
    cpu: u32,
    on_cpu_ns: u64,
    turns: u64,
}

/// A thread that ran between two readings, and whose last CPU was one of those asked about at one of them.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Neighbour {
    /// Its process.
    pub pid: u32,
    /// Its own number.
    pub tid: u32,
    /// The process's name.
    pub process: String,
    /// The thread's name.
    pub name: String,
    /// Whether it is the kernel's own.
    pub kernel: bool,
    /// Time on a CPU, this or another.
    pub on_cpu_ns: u64,
    /// Times it was given a CPU, this or another: wake-ups, and returns after others' turns.
    pub turns: u64,
    /// Whether it may run nowhere else, so that all of it was here.
    pub bound: bool,
}

/// Who ran beside us between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Neighbourhood {
    /// Those that took most CPU time, the greediest first.
    pub named: Vec<Neighbour>,
    /// How many more there were.
    pub more: u64,
    /// Processes and threads started meanwhile, anywhere: one that began and ended between the readings
    /// is in no list.
    pub forks: Option<u64>,
}

impl Thread {
    fn read(tree: &Tree, pid: u32, tid: u32) -> Option<Self> {
        let place = format!("proc/{pid}/task/{tid}");
        let stat = tree.text(&format!("{place}/stat"))?;
        // The name may hold spaces and brackets: it ends at the last bracket (proc_pid_stat(5)).
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

    /// Time on a CPU and turns. A kernel without `schedstat` counts switches only, and no time.
    fn ran(tree: &Tree, place: &str) -> Option<(u64, u64)> {
        if let Some(text) = tree.word(&format!("{place}/schedstat")) {
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
    /// Reads every thread of every process but `without` (the caller's own), as far as they can be seen.
    pub fn read(tree: &Tree, without: u32) -> Self {
        let mut threads = Vec::new();
        for pid in tree.numbered("proc", "").into_iter().filter(|&pid| pid != without) {
            let first = threads.len();
            let tids = tree.numbered(&format!("proc/{pid}/task"), "");
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

    /// Who ran after `earlier` and was on one of `cpus` last, then or now. Whoever came meanwhile counts
    /// in full.
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
        let more = seen.len().saturating_sub(NAMED) as u64;
        seen.truncate(NAMED);
        for one in &mut seen {
            one.bound = bound(tree, one, cpus);
        }
        let forks = self.forks.zip(earlier.forks).map(|(now, then)| now.saturating_sub(then));
        Neighbourhood { named: seen, more, forks }
    }
}

/// Whether the thread may run on no other than these CPUs.
fn bound(tree: &Tree, one: &Neighbour, cpus: &[u32]) -> bool {
    let status = tree.text(&format!("proc/{}/task/{}/status", one.pid, one.tid)).unwrap_or_default();
    let allowed = field(&status, "Cpus_allowed_list", ':').and_then(cpulist::parse).unwrap_or_default();
    !allowed.is_empty() && allowed.iter().all(|cpu| cpus.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    /// One thread's files: its CPU, time on it, turns.
    fn thread(fake: &FakeTree, pid: u32, tid: u32, name: &str, cpu: u32, ran: (u64, u64)) {
        let place = format!("proc/{pid}/task/{tid}");
        // Fields 4 to 38; the 22nd is the start.
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
    fn who_ran_on_our_cpu_is_named_with_what_it_took() {
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

        let told: Vec<_> =
            span.named.iter().map(|n| (n.name.as_str(), n.on_cpu_ns, n.turns, n.bound)).collect();
        assert_eq!(told, [("a) S (b", 2_000, 4, true), ("new", 70, 1, false)]);
        assert_eq!((span.named[0].process.as_str(), span.named[0].kernel), ("server", false));
        assert_eq!((span.more, span.forks), (0, Some(3)));
    }

    #[test]
    fn whoever_left_our_cpu_meanwhile_is_named_too() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "wanderer", 1, (0, 1));
        let before = read(&fake);
        thread(&fake, 7, 7, "wanderer", 0, (10, 2));
        assert_eq!(read(&fake).since(&fake.tree(), &before, &[1]).named.len(), 1);
        assert_eq!(read(&fake).since(&fake.tree(), &before, &[3]).named.len(), 0);
    }

    #[test]
    fn the_kernels_own_threads_are_told_apart() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "kworker/1:1-events", 1, (5, 1));
        let stat = fake.tree().text("proc/7/task/7/stat").unwrap();
        let stat = stat.replacen(" 1 1 1 1 1 1 ", " 2 0 0 0 -1 69238880 ", 1);
        fake.write("proc/7/task/7/stat", stat.as_bytes());
        assert!(read(&fake).threads[0].kernel);
    }

    #[test]
    fn a_tid_given_anew_is_another_thread() {
        let fake = FakeTree::new(&[]);
        thread(&fake, 7, 7, "old", 1, (1_000, 10));
        let mut before = read(&fake);
        before.threads[0].started_ticks = 5;
        thread(&fake, 7, 7, "new", 1, (30, 3));
        let span = read(&fake).since(&fake.tree(), &before, &[1]);
        assert_eq!((span.named[0].on_cpu_ns, span.named[0].turns), (30, 3));
    }

    #[test]
    fn the_greediest_are_named_and_the_rest_counted() {
        let fake = FakeTree::new(&[]);
        for pid in 1..=20 {
            thread(&fake, pid, pid, "t", 1, (u64::from(pid), 1));
        }
        let span = read(&fake).since(&fake.tree(), &Neighbours::default(), &[1]);
        assert_eq!((span.named.len(), span.more), (NAMED, 20 - NAMED as u64));
        assert_eq!(span.named[0].pid, 20);
    }

    #[test]
    fn without_a_scheduler_account_switches_are_turns() {
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
