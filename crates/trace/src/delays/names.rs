//! Names of culprits.

use std::collections::HashMap;

use serde::Serialize;

/// How a culprit is related to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// A thread of the server itself.
    Own,
    /// A thread of another process.
    Other,
    /// A thread of the kernel.
    Kernel,
    /// An interrupt.
    Interrupt,
    /// No thread: the CPU had to wake from idle.
    Idle,
    /// Unknown: it was not seen who ran.
    Unknown,
}

/// A culprit. Threads of one process with the same name are one culprit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Name {
    #[serde(rename = "name")]
    pub text: String,
    pub process: u32,
    pub relation: Relation,
}

/// Numbers of culprits and of their threads.
#[derive(Default)]
pub struct Names {
    all: Vec<NamedThread>,
    numbers: HashMap<(Name, u32), u32>,
}

/// A thread of a culprit, or the culprit itself if the thread is 0.
struct NamedThread {
    name: Name,
    thread: u32,
    culprit: u32,
}

impl Names {
    pub fn number(&mut self, name: &str, process: u32, relation: Relation) -> u32 {
        self.entry(Name { text: name.to_owned(), process, relation }, 0)
    }

    /// Return the number of one thread.
    pub fn thread(&mut self, name: &str, process: u32, relation: Relation, thread: u32) -> u32 {
        self.entry(Name { text: name.to_owned(), process, relation }, thread)
    }

    fn entry(&mut self, name: Name, thread: u32) -> u32 {
        let key = (name, thread);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let culprit = if thread == 0 { self.all.len() as u32 } else { self.entry(key.0.clone(), 0) };
        let number = self.all.len() as u32;
        self.all.push(NamedThread { name: key.0.clone(), thread, culprit });
        self.numbers.insert(key, number);
        number
    }

    pub fn get(&self, number: u32) -> Option<&Name> {
        self.all.get(number as usize).map(|one| &one.name)
    }

    /// Return the culprit to which a number belongs, and the thread; 0 for the culprit itself.
    pub fn culprit(&self, number: u32) -> (u32, u32) {
        self.all.get(number as usize).map_or((number, 0), |one| (one.culprit, one.thread))
    }
}

/// Return the name of a softirq as in `/proc/softirqs`.
pub fn softirq(number: u16) -> &'static str {
    const NAMES: [&str; 10] =
        ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    NAMES.get(usize::from(number)).copied().unwrap_or("softirq")
}

/// Return a zero-terminated name of the kernel as text.
pub fn text(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
