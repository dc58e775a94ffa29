//! One process of the application: its files, and those of its threads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::source::{numbered, stat_fields, Source};

/// What a process has used, and its threads together.
#[derive(Clone, Copy, Debug, Default)]
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

struct Thread {
    schedstat: Source,
    last: Ran,
}

/// Files of one process.
pub(crate) struct Process {
    folder: PathBuf,
    stat: Source,
    io: Option<Source>,
    threads: HashMap<u32, Thread>,
    /// Of threads that have ended.
    ended: Ran,
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
        let mut process = Self { folder, stat, io, threads, ended, used, ran, has_ended: false };
        process.look_for_threads();
        Some(process)
    }

    /// Threads come and go; one that is found a second time goes on where it was.
    pub(crate) fn look_for_threads(&mut self) {
        for tid in numbered(&self.folder.join("task")) {
            if !self.threads.contains_key(&tid) {
                if let Ok(schedstat) = Source::open(self.folder.join(format!("task/{tid}/schedstat"))) {
                    self.threads.insert(tid, Thread { schedstat, last: Ran::default() });
                }
            }
        }
    }

    pub(crate) fn refresh(&mut self) {
        match self.read_stat() {
            Some(used) => self.used = used,
            None => self.has_ended = true,
        }
        self.ran = self.read_threads();
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

    fn read_threads(&mut self) -> Ran {
        let mut sum = self.ended;
        let ended = &mut self.ended;
        self.threads.retain(|_, thread| {
            let text = thread.schedstat.read();
            let now = text.and_then(|text| {
                let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
                Some(Ran { run: fields.next()?, delay: fields.next()?, slices: fields.next()? })
            });
            thread.last = now.unwrap_or(thread.last);
            sum += thread.last;
            if now.is_none() {
                *ended += thread.last;
            }
            now.is_some()
        });
        sum
    }

    /// Read calls, write calls, bytes read from disks, bytes written to disks.
    pub(crate) fn calls(&mut self) -> Option<[u64; 4]> {
        let text = self.io.as_mut()?.read()?;
        let of = |key| super::source::number(text, key, 0).unwrap_or(0);
        Some([of("syscr:"), of("syscw:"), of("read_bytes:"), of("write_bytes:")])
    }
}
