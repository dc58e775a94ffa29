//! One process of the application: its files and those of its threads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::source::{numeric_entries, stat_fields, Source};

/// Usage of a process with all its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) minor: u64,
    pub(crate) major: u64,
    pub(crate) threads: u64,
    pub(crate) pages: u64,
}

/// Scheduling times of threads: nanoseconds running, nanoseconds waiting, and number of time slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTime {
    pub(crate) run: u64,
    pub(crate) delay: u64,
    pub(crate) slices: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
        self.minor += other.minor;
        self.major += other.major;
        self.threads += other.threads;
        self.pages += other.pages;
    }
}

impl std::ops::AddAssign for RunTime {
    fn add_assign(&mut self, other: Self) {
        self.run += other.run;
        self.delay += other.delay;
        self.slices += other.slices;
    }
}

/// Up to this many threads or processes are read every time; if there are more, idle ones are read in rotation.
const READ_ALL_BELOW: usize = 64;
/// Unchanged readings after which a process or thread counts as idle. If it wakes, its next turn shows all of its
/// usage.
const IDLE_AFTER: u8 = 3;
/// Turns for the application, which is read every second: an idle thread is noticed within ten seconds.
const TURNS: u32 = 10;

/// Selects the idle processes or threads to read in this turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    number: u32,
    turns: u32,
}

impl Turn {
    pub(crate) fn new(number: u32, count: usize, turns: u32) -> Self {
        Self { number, turns: if count > READ_ALL_BELOW { turns } else { 1 } }
    }

    /// Return the turn for the application's own processes or threads.
    pub(crate) fn own(number: u32, count: usize) -> Self {
        Self::new(number, count, TURNS)
    }

    pub(crate) fn skips(self, id: u32, idle: u8) -> bool {
        idle >= IDLE_AFTER && id.wrapping_add(self.number) % self.turns != 0
    }
}

struct Thread {
    schedstat: Source,
    last: RunTime,
    idle: u8,
}

/// Files of one process.
pub(crate) struct Process {
    pid: u32,
    folder: PathBuf,
    stat: Source,
    io: Option<Source>,
    threads: HashMap<u32, Thread>,
    /// Run time of ended threads.
    ended: RunTime,
    idle: u8,
    /// Values of the last reading.
    pub(crate) usage: Usage,
    pub(crate) run_time: RunTime,
    pub(crate) has_ended: bool,
}

impl Process {
    pub(crate) fn open(proc: &Path, pid: u32) -> Option<Self> {
        let folder = proc.join(pid.to_string());
        let stat = Source::open(folder.join("stat")).ok()?;
        let io = Source::open(folder.join("io")).ok();
        let (threads, ended, usage, run_time) =
            (HashMap::new(), RunTime::default(), Usage::default(), RunTime::default());
        let mut process =
            Self { pid, folder, stat, io, threads, ended, idle: 0, usage, run_time, has_ended: false };
        process.find_threads();
        Some(process)
    }

    /// Open the files of new threads; known threads are kept.
    fn find_threads(&mut self) {
        for tid in numeric_entries(&self.folder.join("task")) {
            if !self.threads.contains_key(&tid) {
                if let Ok(schedstat) = Source::open(self.folder.join(format!("task/{tid}/schedstat"))) {
                    self.threads.insert(tid, Thread { schedstat, last: RunTime::default(), idle: 0 });
                }
            }
        }
    }

    pub(crate) fn refresh(&mut self, turn: Turn) {
        if turn.skips(self.pid, self.idle) {
            return;
        }
        let before = (self.usage, self.run_time);
        match self.read_stat() {
            Some(usage) => self.usage = usage,
            None => self.has_ended = true,
        }
        self.run_time = self.read_threads(turn.number);
        // The kernel also reports the number of threads: search for threads only if it differs.
        if !self.has_ended && self.usage.threads != self.threads.len() as u64 {
            self.find_threads();
        }
        self.idle = if before == (self.usage, self.run_time) { self.idle.saturating_add(1) } else { 0 };
    }

    fn read_stat(&mut self) -> Option<Usage> {
        let fields = stat_fields(self.stat.read()?)?;
        let at = |nth: usize| fields.get(nth).and_then(|field| field.parse().ok()).unwrap_or(0);
        if fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
            return None;
        }
        Some(Usage {
            minor: at(7),
            major: at(9),
            user: at(11),
            system: at(12),
            threads: at(17),
            pages: at(21),
        })
    }

    fn read_threads(&mut self, number: u32) -> RunTime {
        let turn = Turn::own(number, self.threads.len());
        let mut sum = self.ended;
        let ended = &mut self.ended;
        self.threads.retain(|tid, thread| {
            if turn.skips(*tid, thread.idle) {
                sum += thread.last;
                return true;
            }
            let text = thread.schedstat.read();
            let now = text.and_then(|text| {
                let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
                Some(RunTime { run: fields.next()?, delay: fields.next()?, slices: fields.next()? })
            });
            thread.idle = if now == Some(thread.last) { thread.idle.saturating_add(1) } else { 0 };
            thread.last = now.unwrap_or(thread.last);
            sum += thread.last;
            if now.is_none() {
                *ended += thread.last;
            }
            now.is_some()
        });
        sum
    }

    /// Return each thread with the nanoseconds that it has run.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.threads.iter().map(|(tid, thread)| (*tid, thread.last.run))
    }

    /// Return the name and CPU of a thread.
    pub(crate) fn place(&self, tid: u32) -> Option<(String, String)> {
        let text = hindmost_sys::file::read_kernel(self.folder.join(format!("task/{tid}/stat"))).ok()?;
        let cpu = stat_fields(&text)?.get(36)?.to_string();
        Some((super::source::stat_name(&text).to_owned(), cpu))
    }

    /// Return read calls, write calls, bytes read from disks and bytes written to disks.
    pub(crate) fn calls(&mut self) -> Option<[u64; 4]> {
        let text = self.io.as_mut()?.read()?;
        let value = |key| super::source::number(text, key, 0).unwrap_or(0);
        Some([value("syscr:"), value("syscw:"), value("read_bytes:"), value("write_bytes:")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_idle_ones_of_many_are_rotated_and_each_gets_a_turn() {
        let few = Turn::own(5, READ_ALL_BELOW);
        assert!((0..1000).all(|id| !few.skips(id, u8::MAX)));
        for id in 0..1000 {
            let read = (0..TURNS)
                .filter(|number| !Turn::own(*number, READ_ALL_BELOW + 1).skips(id, IDLE_AFTER))
                .count();
            assert_eq!(read, 1);
            assert!(!Turn::own(0, READ_ALL_BELOW + 1).skips(id, IDLE_AFTER - 1));
        }
    }
}
