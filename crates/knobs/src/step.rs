//! What undoes a change, as the journal holds it: paths, values, processes and lists of words. No shell reads any of it.

use std::fmt::{self, Display};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hindmost_host::Tree;
use hindmost_sys::file::{is_of_kernel, open_without_links, set_nonblocking};
use hindmost_sys::process::{continue_process, kill_group, kill_process, place_thread, schedule_thread};
use serde::{Deserialize, Serialize};

use crate::{trust, Owner};

/// How long a command may take; others wait for the journal's lock meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);
/// How often a group is read again: its members fork while they are moved or killed.
const ROUNDS: usize = 3;

/// One action. What no longer exists (a file, a process, a namespace) has nothing to be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// Writes a value into a file.
    Write {
        /// Absolute, without symbolic links.
        path: String,
        /// One line.
        value: String,
    },
    /// Lets stopped processes go on (SIGCONT).
    Continue {
        /// The processes that were stopped.
        processes: Vec<Owner>,
    },
    /// Lets a thread run on processors.
    Place {
        /// The thread.
        thread: Owner,
        /// Their numbers.
        cpus: Vec<usize>,
    },
    /// Gives a thread a policy of the usual scheduler.
    Schedule {
        /// The thread.
        thread: Owner,
        /// Its number in `sched_setscheduler(2)`: 0 other, 3 batch, 5 idle.
        policy: i32,
    },
    /// Moves all members of one cgroup into another.
    Move {
        /// The file `cgroup.procs` that lists them.
        from: String,
        /// The file `cgroup.procs` that takes them.
        to: String,
    },
    /// Kills all members of a cgroup.
    Kill {
        /// The file `cgroup.procs` that lists them.
        members: String,
    },
    /// Sets the token bucket at an interface's root (tc-tbf(8)), if it still has one.
    Shape {
        /// The interface.
        device: String,
        /// Bits a second.
        rate: u64,
        /// Bytes.
        burst: u64,
        /// Bytes.
        limit: u64,
    },
    /// Removes a network namespace, its processes, and the interface that leads to it.
    Disconnect {
        /// The namespace.
        namespace: String,
        /// The interface on this side.
        device: String,
    },
    /// Runs a program.
    Run {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

impl Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { path, value } => write!(out, "write {value:?} to {path:?}"),
            Self::Continue { processes } => {
                let pids: Vec<String> = processes.iter().map(|one| one.pid.to_string()).collect();
                write!(out, "let process {} go on", pids.join(", "))
            }
            Self::Place { thread, cpus } => write!(out, "let thread {} run on CPUs {cpus:?}", thread.pid),
            Self::Schedule { thread, policy } => {
                write!(out, "schedule thread {} by policy {policy}", thread.pid)
            }
            Self::Move { from, to } => write!(out, "move the members of {from:?} to {to:?}"),
            Self::Kill { members } => write!(out, "kill the members of {members:?}"),
            Self::Shape { device, rate, .. } => write!(out, "shape {device:?} to {rate} bit/s"),
            Self::Disconnect { namespace, .. } => write!(out, "remove the network namespace {namespace:?}"),
            Self::Run { command } => write!(out, "run {command:?}"),
        }
    }
}

impl Step {
    /// Whether it is still due after a reboot: a program may have changed anything.
    pub(crate) fn outlives_boot(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Takes it.
    ///
    /// # Errors
    /// What the kernel or the program said.
    pub(crate) fn take(&self, tree: &Tree) -> io::Result<()> {
        match self {
            Self::Write { path, value } => existing(write(tree, path, value)).map(drop),
            Self::Continue { processes } => each(processes, |one| one.signal(continue_process)),
            Self::Place { thread, cpus } => thread.only_if_alive(|| place_thread(thread.pid, cpus)),
            Self::Schedule { thread, policy } => {
                thread.only_if_alive(|| schedule_thread(thread.pid, *policy))
            }
            Self::Move { from, to } => {
                for_members(tree, from, |pid| existing(write(tree, to, &pid.to_string())).map(drop))
            }
            Self::Kill { members } => for_members(tree, members, |pid| {
                Owner::of(pid).map_or(Ok(()), |one| one.signal(kill_process))
            }),
            Self::Shape { device, rate, burst, limit } => shape(device, *rate, *burst, *limit),
            Self::Disconnect { namespace, device } => disconnect(tree, namespace, device),
            Self::Run { command } => run(command).map(drop),
        }
    }
}

/// All are tried; the first failure counts.
fn each<T>(all: &[T], take: impl Fn(&T) -> io::Result<()>) -> io::Result<()> {
    all.iter().map(take).fold(Ok(()), Result::and)
}

/// `None` where what was to be changed has gone.
fn existing<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    const NO_SUCH_PROCESS: i32 = 3;
    const NO_SUCH_DEVICE: i32 = 19;
    match done {
        Ok(one) => Ok(Some(one)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if matches!(error.raw_os_error(), Some(NO_SUCH_PROCESS | NO_SUCH_DEVICE)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a line into a file of the kernel, or in a folder that only root or we can write; follows no link.
fn write(tree: &Tree, path: &str, value: &str) -> io::Result<()> {
    let (mut file, folder) = open_without_links(&tree.locate("/"), path)?;
    if !is_of_kernel(&file) {
        trust::check_file(&folder, path.as_ref())?;
        trust::check_file(&file, path.as_ref())?;
        file.set_len(0)?;
    }
    // With its end of line: nothing would be written where a cpuset of version 2 was empty.
    file.write_all(format!("{value}\n").as_bytes())
}

fn for_members(tree: &Tree, file: &str, take: impl Fn(u32) -> io::Result<()>) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ROUNDS {
        let members: Vec<u32> = match existing(hindmost_sys::file::read_kernel(tree.locate(file)))? {
            Some(text) => text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
            None => return Ok(()),
        };
        if members.is_empty() {
            return Ok(());
        }
        last = each(&members, |pid| take(*pid));
    }
    last
}

fn owned<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_owned).to_vec()
}

/// Does nothing if the bucket was removed meanwhile.
fn shape(device: &str, rate: u64, burst: u64, limit: u64) -> io::Result<()> {
    let shown = run(&owned(["tc", "qdisc", "show", "dev", device, "root"]))?;
    if !shown.contains("tbf") {
        return Ok(());
    }
    let (rate, burst, limit) = (format!("{rate}bit"), burst.to_string(), limit.to_string());
    let bucket = [
        "tc", "qdisc", "change", "dev", device, "root", "tbf", "rate", &rate, "burst", &burst, "limit",
        &limit,
    ];
    run(&owned(bucket)).map(drop)
}

fn disconnect(tree: &Tree, namespace: &str, device: &str) -> io::Result<()> {
    let name = tree.locate("run/netns").join(namespace);
    if let Ok(wanted) = std::fs::metadata(&name) {
        for pid in tree.numbered("proc", "") {
            let inside = std::fs::metadata(tree.locate(&format!("proc/{pid}/ns/net")));
            if inside.is_ok_and(|own| (own.dev(), own.ino()) == (wanted.dev(), wanted.ino())) {
                Owner::of(pid).map_or(Ok(()), |one| one.signal(kill_process))?;
            }
        }
    }
    // The kernel removes one end of a pair with the other, or with its namespace.
    remove(&owned(["ip", "link", "del", device]), || {
        tree.names("sys/class/net").iter().any(|name| name == device)
    })?;
    remove(&owned(["ip", "netns", "del", namespace]), || name.exists())
}

/// Runs a command that removes something, if it is there; that it has gone meanwhile is no error.
fn remove(command: &[String], there: impl Fn() -> bool) -> io::Result<()> {
    if !there() {
        return Ok(());
    }
    match run(command) {
        Err(error) if there() => Err(error),
        _ => Ok(()),
    }
}

/// Runs a program, in a group of its own so that its children end with it; what it printed.
fn run(command: &[String]) -> io::Result<String> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut program = Command::new(program);
    program.args(arguments).current_dir("/").process_group(0);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(read_available(child.stdout.take())),
            Some(status) => return Err(io::Error::other(format!("{status}: {}", last_line(&mut child)))),
            None if Instant::now() < deadline => sleep(PAUSE),
            None => {
                kill_group(&child);
                let _ = child.wait();
                return Err(io::Error::other(format!("it did not end within {} s", PATIENCE.as_secs())));
            }
        }
    }
}

/// What is there to be read: a background child may hold the pipe open.
fn read_available(pipe: Option<impl Read + std::os::fd::AsFd>) -> String {
    let Some(mut pipe) = pipe else {
        return String::new();
    };
    if set_nonblocking(&pipe).is_err() {
        return String::new();
    }
    let mut text = vec![0; 4096];
    let length = pipe.read(&mut text).unwrap_or(0);
    String::from_utf8_lossy(&text[..length]).into_owned()
}

fn last_line(child: &mut Child) -> String {
    read_available(child.stderr.take()).lines().last().unwrap_or("no output").chars().take(200).collect()
}
