//! The application: a process and its descendants, or all processes of a cgroup.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::process::{Process, RunTime, Turn, Usage};
use super::source::{numeric_entries, stat_fields, ProcessBirths};
use super::Collector;
use crate::counters::{Id, Values};

/// Processes to watch.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// None yet: the application has not started.
    Awaited,
    /// A process and its descendants.
    Process(u32),
    /// All processes of a cgroup, given by its folder.
    Cgroup(PathBuf),
}

/// Readings between two searches for new processes.
const SCAN_INTERVAL: u32 = 10;

/// Processes of the application, shared by the collectors that read their files.
pub(crate) struct Members {
    proc: PathBuf,
    scope: Scope,
    open: HashMap<u32, Process>,
    /// Usage of ended processes.
    ended_usage: Usage,
    /// Run time of ended threads.
    ended_run_time: RunTime,
    births: ProcessBirths,
    /// Parent of each known process of the host.
    parents: HashMap<u32, u32>,
}

impl Members {
    pub(crate) fn find(root: &Path, scope: Scope) -> Rc<RefCell<Self>> {
        let mut members = Self {
            proc: root.join("proc"),
            scope,
            open: HashMap::new(),
            ended_usage: Usage::default(),
            ended_run_time: RunTime::default(),
            births: ProcessBirths::new(&root.join("proc")),
            parents: HashMap::new(),
        };
        members.find_processes();
        Rc::new(RefCell::new(members))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.open.keys().copied().collect()
    }

    /// Continue with another process after a restart of the application.
    pub(crate) fn follow(&mut self, pid: u32) {
        (self.scope, self.births) = (Scope::Process(pid), ProcessBirths::new(&self.proc));
        self.find_processes();
    }

    fn find_processes(&mut self) {
        // An existing process may enter a cgroup.
        if matches!(self.scope, Scope::Process(_)) && !self.births.has_new() {
            return;
        }
        let pids = match &self.scope {
            Scope::Awaited => Vec::new(),
            Scope::Process(pid) => {
                let top = *pid;
                self.read_parents();
                self.parents.keys().copied().filter(|pid| self.descends(*pid, top)).collect()
            }
            Scope::Cgroup(folder) => members_of(folder),
        };
        for pid in pids {
            if !self.open.contains_key(&pid) {
                if let Some(process) = Process::open(&self.proc, pid) {
                    self.open.insert(pid, process);
                }
            }
        }
    }

    /// Read the parent of each new process: one file per process. Reading the children of every thread of the
    /// application would cost 10 µs per thread.
    fn read_parents(&mut self) {
        let mut parents = HashMap::new();
        for pid in numeric_entries(&self.proc) {
            let known = self.parents.get(&pid).copied();
            let parent = known.or_else(|| {
                let text = hindmost_sys::file::read_kernel(self.proc.join(format!("{pid}/stat"))).ok()?;
                stat_fields(&text)?.get(1)?.parse().ok()
            });
            parents.extend(parent.map(|parent| (pid, parent)));
        }
        self.parents = parents;
    }

    /// Whether a process descends from `top`. Members stay members even if they are re-parented.
    fn descends(&self, pid: u32, top: u32) -> bool {
        let mut at = pid;
        while at != top {
            match self.parents.get(&at) {
                Some(parent) if *parent != 0 && *parent != at => at = *parent,
                _ => return false,
            }
        }
        true
    }
}

/// Return the processes of a cgroup and of its descendants.
fn members_of(folder: &Path) -> Vec<u32> {
    let text = hindmost_sys::file::read_kernel(folder.join("cgroup.procs")).unwrap_or_default();
    let mut found: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(members_of(&entry.path()));
        }
    }
    found
}

/// CPU time, waiting for CPUs, and memory.
pub(crate) struct App {
    members: Rc<RefCell<Members>>,
    turn: u32,
}

impl App {
    pub(crate) fn new(members: Rc<RefCell<Members>>) -> Self {
        Self { members, turn: 0 }
    }
}

impl Collector for App {
    fn name(&self) -> &'static str {
        "application"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let members = &mut *self.members.borrow_mut();
        self.turn = self.turn.wrapping_add(1);
        if self.turn % SCAN_INTERVAL == 0 {
            members.find_processes();
        }
        let turn = Turn::own(self.turn, members.open.len());
        let mut gone = Vec::new();
        for (pid, process) in &mut members.open {
            process.refresh(turn);
            if process.has_ended {
                gone.push(*pid);
            }
        }
        for pid in gone {
            if let Some(process) = members.open.remove(&pid) {
                members.ended_usage += Usage { threads: 0, pages: 0, ..process.usage };
                members.ended_run_time += process.run_time;
            }
        }
        let (mut usage, mut run_time) = (members.ended_usage, members.ended_run_time);
        for process in members.open.values() {
            usage += process.usage;
            run_time += process.run_time;
        }
        values.set(Id::AppUser, usage.user);
        values.set(Id::AppSystem, usage.system);
        values.set(Id::AppMinor, usage.minor);
        values.set(Id::AppMajor, usage.major);
        values.set(Id::AppThreads, usage.threads);
        values.set(Id::AppRss, usage.pages);
        // Every process has run for some time: zero means that the kernel does not provide these figures.
        let known = |value: u64| (run_time.run > 0).then_some(value);
        values.set_or_unknown(Id::AppRun, known(run_time.run / 1000));
        values.set_or_unknown(Id::AppDelay, known(run_time.delay / 1000));
        values.set_or_unknown(Id::AppSwitches, known(run_time.slices));
        None
    }
}

/// System calls and disk I/O.
pub(crate) struct Calls {
    members: Rc<RefCell<Members>>,
    before: [u64; 4],
}

impl Calls {
    pub(crate) fn new(members: Rc<RefCell<Members>>) -> Self {
        Self { members, before: [0; 4] }
    }
}

impl Collector for Calls {
    fn name(&self) -> &'static str {
        "application's I/O"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let mut members = self.members.borrow_mut();
        let (mut sum, mut readable) = ([0; 4], false);
        for calls in members.open.values_mut().filter_map(Process::calls) {
            readable = true;
            sum.iter_mut().zip(calls).for_each(|(sum, more)| *sum += more);
        }
        if !readable {
            return None;
        }
        // The calls of an ended process disappear, but a total must not decrease.
        let ids = [Id::AppRead, Id::AppWrite, Id::AppDiskRead, Id::AppDiskWrite];
        for ((id, now), before) in ids.into_iter().zip(sum).zip(self.before) {
            values.add(id, now.saturating_sub(before));
        }
        self.before = sum;
        None
    }
}

/// The busiest threads, their CPUs, and how many of them moved to another CPU.
pub(crate) struct Places {
    members: Rc<RefCell<Members>>,
    run_times: HashMap<u32, u64>,
    before: HashMap<u32, String>,
    reported: Vec<(u32, String)>,
}

/// Number of busiest threads whose CPU is read, and number of those that are reported.
const SAMPLED_THREADS: usize = 16;
const REPORTED_THREADS: usize = 4;

impl Places {
    pub(crate) fn new(members: Rc<RefCell<Members>>) -> Self {
        Self { members, run_times: HashMap::new(), before: HashMap::new(), reported: Vec::new() }
    }
}

impl Collector for Places {
    fn name(&self) -> &'static str {
        "threads' processors"
    }

    fn period(&self) -> u32 {
        10
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let members = self.members.borrow();
        let (mut run_times, mut busiest) = (HashMap::new(), Vec::new());
        for (pid, process) in &members.open {
            for (tid, run) in process.threads() {
                run_times.insert(tid, run);
                let used = run.saturating_sub(self.run_times.get(&tid).copied().unwrap_or(run));
                if used > 0 {
                    busiest.push((used / 1000, tid, *pid));
                }
            }
        }
        self.run_times = run_times;
        busiest.sort_unstable_by(|a, b| b.cmp(a));
        busiest.truncate(SAMPLED_THREADS);
        let (mut now, mut moved, mut rows) = (HashMap::new(), 0, Vec::new());
        for (used, tid, pid) in busiest {
            let Some((name, cpu)) = members.open.get(&pid).and_then(|process| process.place(tid)) else {
                continue;
            };
            moved += u64::from(self.before.get(&tid).is_some_and(|before| *before != cpu));
            rows.push((used, tid, name, cpu.clone()));
            now.insert(tid, cpu);
        }
        self.before = now;
        values.add(Id::AppMoves, moved);
        rows.truncate(REPORTED_THREADS);
        let mut places: Vec<(u32, String)> = rows.iter().map(|row| (row.1, row.3.clone())).collect();
        places.sort_unstable();
        // Do not repeat an unchanged report: repetitions would fill most of the ring.
        if rows.is_empty() || places == self.reported {
            return None;
        }
        self.reported = places;
        let row = |(us, tid, name, cpu): &(u64, u32, String, String)| json!([name, tid, cpu, us]);
        Some(json!({"threads": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}
