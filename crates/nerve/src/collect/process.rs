//! One process of the application: its files, and those of its threads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::source::{numbered, stat_fields, Source};

/// What a process has used, and its threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) minor: u64,
    pub(crate) major: u64,
    pub(crate) threads: u64,
    pub(crate) pages: u64,
}

/// What threads have used on processors: nanoseconds running, nanoseconds waiting, times on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) run: u64,
    pub(crate) delay: u64,
    pub(crate) slices: u64,
}

impl std::ops::AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
        self.minor += other.minor;
        self.major += other.major;
        self.threads += other.threads;
        self.pages += other.pages;
    }
}

impl std::ops::AddAssign for Ran {
    fn add_assign(&mut self, other: Self) {
        self.run += other.run;
        self.delay += other.delay;
        self.slices += other.slices;
    }
}

/// Up to so many threads, or processes, are all read each time; beyond, those that did nothing lately take turns.
const ALL: usize = 64;
/// Readings without a change after which one is idle. One that wakes is seen at its next turn, and nothing of what it
/// used is lost.
const IDLE: u8 = 3;
/// Of the application, read every second: an idle thread is seen within ten.
const TURNS: u32 = 10;

/// Who is read in this turn, of many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    number: u32,
    turns: u32,
}

impl Turn {
    pub(crate) fn of(number: u32, among: usize, turns: u32) -> Self {
        Self { number, turns: if among > ALL { turns } else { 1 } }
    }

    /// Of the application's own.
    pub(crate) fn own(number: u32, among: usize) -> Self {
        Self::of(number, among, TURNS)
    }

    pub(crate) fn skips(self, id: u32, idle: u8) -> bool {
        idle >= IDLE && id.wrapping_add(self.number) % self.turns != 0
    }
}

struct Thread {
    schedstat: Source,
    last: Ran,
    idle: u8,
}

/// Files of one process.
pub(crate) struct Process {
    pid: u32,
    folder: PathBuf,
    stat: Source,
    io: Option<Source>,
    threads: HashMap<u32, Thread>,
    /// Of threads that have ended.
    ended: Ran,
    idle: u8,
    /// By the last reading, as all below.
    pub(crate) used: Used,
    pub(crate) ran: Ran,
    pub(crate) has_ended: bool,
}

impl Process {
    pub(crate) fn open(proc: &Path, pid: u32) -> Option<Self> {
        let folder = proc.join(pid.to_string());
        let stat = Source::open(folder.join("stat")).ok()?;
        let io = Source::open(folder.join("io")).ok();
        let (threads, ended, used, ran) = (HashMap::new(), Ran::default(), Used::default(), Ran::default());
        let mut process =
            Self { pid, folder, stat, io, threads, ended, idle: 0, used, ran, has_ended: false };
        process.look_for_threads();
        Some(process)
    }

    /// Threads come and go; one that is found a second time goes on where it was.
    fn look_for_threads(&mut self) {
        for tid in numbered(&self.folder.join("task")) {
            if !self.threads.contains_key(&tid) {
                if let Ok(schedstat) = Source::open(self.folder.join(format!("task/{tid}/schedstat"))) {
                    self.threads.insert(tid, Thread { schedstat, last: Ran::default(), idle: 0 });
                }
            }
        }
    }

    pub(crate) fn refresh(&mut self, turn: Turn) {
        if turn.skips(self.pid, self.idle) {
            return;
        }
        let before = (self.used, self.ran);
        match self.read_stat() {
            Some(used) => self.used = used,
            None => self.has_ended = true,
        }
        self.ran = self.read_threads(turn.number);
        // The kernel counts threads with the rest: only where it has others are they looked for.
        if !self.has_ended && self.used.threads != self.threads.len() as u64 {
            self.look_for_threads();
        }
        self.idle = if before == (self.used, self.ran) { self.idle.saturating_add(1) } else { 0 };
    }

    fn read_stat(&mut self) -> Option<Used> {
        let fields = stat_fields(self.stat.read()?)?;
        let at = |nth: usize| fields.get(nth).and_then(|field| field.parse().ok()).unwrap_or(0);
        if fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
            return None;
        }
        Some(Used {
            minor: at(7),
            major: at(9),
            user: at(11),
            system: at(12),
            threads: at(17),
            pages: at(21),
        })
    }

    fn read_threads(&mut self, number: u32) -> Ran {
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
                Some(Ran { run: fields.next()?, delay: fields.next()?, slices: fields.next()? })
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

    /// Threads with the nanoseconds that each has run.
    pub(crate) fn threads(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.threads.iter().map(|(tid, thread)| (*tid, thread.last.run))
    }

    /// Name and processor of a thread.
    pub(crate) fn place(&self, tid: u32) -> Option<(String, String)> {
        let text = hindmost_sys::file::read_kernel(self.folder.join(format!("task/{tid}/stat"))).ok()?;
        let cpu = stat_fields(&text)?.get(36)?.to_string();
        Some((super::source::stat_name(&text).to_owned(), cpu))
    }

    /// Read calls, write calls, bytes read from disks, bytes written to disks.
    pub(crate) fn calls(&mut self) -> Option<[u64; 4]> {
        let text = self.io.as_mut()?.read()?;
        let of = |key| super::source::number(text, key, 0).unwrap_or(0);
        Some([of("syscr:"), of("syscw:"), of("read_bytes:"), of("write_bytes:")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_only_idle_ones_take_turns_and_each_has_its_own() {
        let few = Turn::own(5, ALL);
        assert!((0..1000).all(|id| !few.skips(id, u8::MAX)));
        for id in 0..1000 {
            let read = (0..TURNS).filter(|number| !Turn::own(*number, ALL + 1).skips(id, IDLE)).count();
            assert_eq!(read, 1);
            assert!(!Turn::own(0, ALL + 1).skips(id, IDLE - 1));
        }
    }
}
