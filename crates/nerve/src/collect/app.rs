//! The application: a process with those that it started, or all of a cgroup.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::process::{Process, Ran, Used};
use super::source::{numbered, stat_fields, stat_name};
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

/// Samples from one look for new processes and threads to the next.
const LOOK: u64 = 10;

/// Processes of the application, shared by the collectors that read different files of them.
pub(crate) struct Members {
    proc: PathBuf,
    whose: Whose,
    open: HashMap<u32, Process>,
    /// What processes that have ended had used.
    ended: Used,
    /// And what their threads had.
    ran: Ran,
}

impl Members {
    pub(crate) fn find(root: &Path, whose: Whose) -> Rc<RefCell<Self>> {
        let mut members = Self {
            proc: root.join("proc"),
            whose,
            open: HashMap::new(),
            ended: Used::default(),
            ran: Ran::default(),
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

    fn look(&mut self) {
        let pids = match &self.whose {
            Whose::Process(pid) => descendants(&self.proc, *pid),
            Whose::Cgroup(folder) => {
                let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
                text.lines().filter_map(|line| line.trim().parse().ok()).collect()
            }
        };
        for pid in pids {
            if let Some(process) = self.open.get_mut(&pid) {
                process.look_for_threads();
            } else if let Some(process) = Process::open(&self.proc, pid) {
                self.open.insert(pid, process);
            }
        }
    }
}

fn descendants(proc: &Path, pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        let folder = proc.join(format!("{}/task", all[at]));
        for tid in numbered(&folder) {
            let text = fs::read_to_string(folder.join(format!("{tid}/children"))).unwrap_or_default();
            for child in text.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
                if !all.contains(&child) {
                    all.push(child);
                }
            }
        }
        at += 1;
    }
    all
}

/// Processor time, waiting for processors, memory.
pub(crate) struct App {
    members: Rc<RefCell<Members>>,
    looked: u64,
}

impl App {
    pub(crate) fn new(members: Rc<RefCell<Members>>) -> Self {
        Self { members, looked: 0 }
    }
}

impl Collector for App {
    fn name(&self) -> &'static str {
        "application"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let members = &mut *self.members.borrow_mut();
        self.looked += 1;
        if self.looked % LOOK == 0 {
            members.look();
        }
        let mut gone = Vec::new();
        for (pid, process) in &mut members.open {
            process.refresh();
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
        values.set(Id::AppRun, ran.run / 1000);
        values.set(Id::AppDelay, ran.delay / 1000);
        values.set(Id::AppSwitches, ran.slices);
        None
    }
}

/// System calls and disks.
pub(crate) struct Calls(pub(crate) Rc<RefCell<Members>>);

impl Collector for Calls {
    fn name(&self) -> &'static str {
        "application's I/O"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let mut members = self.0.borrow_mut();
        let mut sum = [0; 4];
        for calls in members.open.values_mut().filter_map(Process::calls) {
            sum.iter_mut().zip(calls).for_each(|(sum, more)| *sum += more);
        }
        // A process that ended takes its calls with it: a total must not fall.
        for (id, value) in [Id::AppRead, Id::AppWrite, Id::AppDiskRead, Id::AppDiskWrite].into_iter().zip(sum)
        {
            values.set(id, value.max(values.get(id) as u64));
        }
        None
    }
}

/// Where threads run: which were seen on another processor than before, and which use most.
pub(crate) struct Places {
    members: Rc<RefCell<Members>>,
    proc: PathBuf,
    before: HashMap<u32, (String, u64)>,
}

/// Threads that are told by name.
const TOLD: usize = 4;

impl Places {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        Self { members, proc: root.join("proc"), before: HashMap::new() }
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
        let pids = self.members.borrow().pids();
        let (mut now, mut moved, mut rows) = (HashMap::new(), 0, Vec::new());
        for pid in pids {
            let folder = self.proc.join(format!("{pid}/task"));
            for tid in numbered(&folder) {
                let Ok(text) = fs::read_to_string(folder.join(format!("{tid}/stat"))) else { continue };
                let Some(fields) = stat_fields(&text) else { continue };
                let at =
                    |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
                let (cpu, ticks) = (fields.get(36).copied().unwrap_or("").to_owned(), at(11) + at(12));
                if let Some((before, used)) = self.before.get(&tid) {
                    moved += u64::from(*before != cpu);
                    rows.push((ticks.saturating_sub(*used), tid, stat_name(&text).to_owned(), cpu.clone()));
                }
                now.insert(tid, (cpu, ticks));
            }
        }
        self.before = now;
        values.add(Id::AppMoves, moved);
        rows.retain(|row| row.0 > 0);
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.truncate(TOLD);
        let row = |(ticks, tid, name, cpu): &(u64, u32, String, String)| json!([name, tid, cpu, ticks]);
        (moved > 0 && !rows.is_empty()).then(|| json!({"threads": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}
