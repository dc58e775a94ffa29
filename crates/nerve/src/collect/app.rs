//! The application: a process with those that it started, or all of a cgroup.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::process::{Process, Ran, Turn, Used};
use super::source::{numbered, stat_fields, Births};
use super::Collector;
use crate::counters::{Id, Values};

/// Whose processes are watched.
#[derive(Clone, Debug)]
pub(crate) enum Whose {
    /// A process and its descendants.
    Process(u32),
    /// All of a cgroup (the folder).
    Cgroup(PathBuf),
}

/// Samples from one look for new processes to the next.
const LOOK: u32 = 10;

/// Processes of the application, shared by the collectors that read different files of them.
pub(crate) struct Members {
    proc: PathBuf,
    whose: Whose,
    open: HashMap<u32, Process>,
    /// What processes that have ended had used.
    ended: Used,
    /// And what their threads had.
    ran: Ran,
    births: Births,
    /// Each process of the host that has been looked at, and who started it.
    parents: HashMap<u32, u32>,
}

impl Members {
    pub(crate) fn find(root: &Path, whose: Whose) -> Rc<RefCell<Self>> {
        let mut members = Self {
            proc: root.join("proc"),
            whose,
            open: HashMap::new(),
            ended: Used::default(),
            ran: Ran::default(),
            births: Births::of(&root.join("proc")),
            parents: HashMap::new(),
        };
        members.look();
        Rc::new(RefCell::new(members))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.open.keys().copied().collect()
    }

    /// Goes on with another process, after the application was started again.
    pub(crate) fn follow(&mut self, pid: u32) {
        (self.whose, self.births) = (Whose::Process(pid), Births::of(&self.proc));
        self.look();
    }

    fn look(&mut self) {
        // A cgroup may be entered by who was there before.
        if matches!(self.whose, Whose::Process(_)) && !self.births.any() {
            return;
        }
        let pids = match &self.whose {
            Whose::Process(pid) => {
                let top = *pid;
                self.look_for_parents();
                self.parents.keys().copied().filter(|pid| self.descends(*pid, top)).collect()
            }
            Whose::Cgroup(folder) => members_of(folder),
        };
        for pid in pids {
            if !self.open.contains_key(&pid) {
                if let Some(process) = Process::open(&self.proc, pid) {
                    self.open.insert(pid, process);
                }
            }
        }
    }

    /// Of processes that are new since the last time: one file each, where asking every thread of the application
    /// for its children costs 10 us a thread.
    fn look_for_parents(&mut self) {
        let mut there = HashMap::new();
        for pid in numbered(&self.proc) {
            let known = self.parents.get(&pid).copied();
            let parent = known.or_else(|| {
                let text = hindmost_sys::file::read_kernel(self.proc.join(format!("{pid}/stat"))).ok()?;
                stat_fields(&text)?.get(1)?.parse().ok()
            });
            there.extend(parent.map(|parent| (pid, parent)));
        }
        self.parents = there;
    }

    /// A process that is a member already stays one, whoever has adopted it.
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

/// Processes of a cgroup and of those below it.
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

/// Processor time, waiting for processors, memory.
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
        if self.turn % LOOK == 0 {
            members.look();
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
                members.ended += Used { threads: 0, pages: 0, ..process.used };
                members.ran += process.ran;
            }
        }
        let (mut used, mut ran) = (members.ended, members.ran);
        for process in members.open.values() {
            used += process.used;
            ran += process.ran;
        }
        values.set(Id::AppUser, used.user);
        values.set(Id::AppSystem, used.system);
        values.set(Id::AppMinor, used.minor);
        values.set(Id::AppMajor, used.major);
        values.set(Id::AppThreads, used.threads);
        values.set(Id::AppRss, used.pages);
        // No process has run for no time: a kernel without these figures has no file, or zeros.
        let known = |value: u64| (ran.run > 0).then_some(value);
        values.put(Id::AppRun, known(ran.run / 1000));
        values.put(Id::AppDelay, known(ran.delay / 1000));
        values.put(Id::AppSwitches, known(ran.slices));
        None
    }
}

/// System calls and disks.
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
        // A process that ended takes its calls with it: a total must not fall.
        let ids = [Id::AppRead, Id::AppWrite, Id::AppDiskRead, Id::AppDiskWrite];
        for ((id, now), before) in ids.into_iter().zip(sum).zip(self.before) {
            values.add(id, now.saturating_sub(before));
        }
        self.before = sum;
        None
    }
}

/// Where the threads that work most run: which were seen on another processor than before.
pub(crate) struct Places {
    members: Rc<RefCell<Members>>,
    ran: HashMap<u32, u64>,
    before: HashMap<u32, String>,
    told: Vec<(u32, String)>,
}

/// Threads that are looked at, of those that ran since the last time, and those of them that are told by name.
const LOOKED_AT: usize = 16;
const TOLD: usize = 4;

impl Places {
    pub(crate) fn new(members: Rc<RefCell<Members>>) -> Self {
        Self { members, ran: HashMap::new(), before: HashMap::new(), told: Vec::new() }
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
        let (mut ran, mut busiest) = (HashMap::new(), Vec::new());
        for (pid, process) in &members.open {
            for (tid, run) in process.threads() {
                ran.insert(tid, run);
                let used = run.saturating_sub(self.ran.get(&tid).copied().unwrap_or(run));
                if used > 0 {
                    busiest.push((used / 1000, tid, *pid));
                }
            }
        }
        self.ran = ran;
        busiest.sort_unstable_by(|a, b| b.cmp(a));
        busiest.truncate(LOOKED_AT);
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
        rows.truncate(TOLD);
        let mut places: Vec<(u32, String)> = rows.iter().map(|row| (row.1, row.3.clone())).collect();
        places.sort_unstable();
        // The same threads in the same places are not told again: it would be most of what the ring holds.
        if rows.is_empty() || places == self.told {
            return None;
        }
        self.told = places;
        let row = |(us, tid, name, cpu): &(u64, u32, String, String)| json!([name, tid, cpu, us]);
        Some(json!({"threads": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}
