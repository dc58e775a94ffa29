//! Steps that undo a change, as stored in the journal: paths, values, processes and lists of words. No shell
//! interprets them.

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

/// Time limit of a command; other processes wait for the journal's lock meanwhile.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How often the members of a cgroup are read again: they may fork while they are moved or killed.
const ROUNDS: usize = 3;

/// One action. If its object (a file, a process, a namespace) no longer exists, there is nothing to restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// Write a value into a file.
    Write {
        /// Absolute path without symbolic links.
        path: String,
        /// One line.
        value: String,
    },
    /// Continue stopped processes (SIGCONT).
    Continue {
        /// The stopped processes.
        processes: Vec<Owner>,
    },
    /// Set the CPU affinity of a thread.
    Place {
        /// The thread.
        thread: Owner,
        /// The numbers of the CPUs.
        cpus: Vec<usize>,
    },
    /// Set the normal scheduling policy of a thread.
    Schedule {
        /// The thread.
        thread: Owner,
        /// The policy in `sched_setscheduler(2)`: 0 other, 3 batch, 5 idle.
        policy: i32,
    },
    /// Move all members of one cgroup to another.
    Move {
        /// The file `cgroup.procs` of the source.
        from: String,
        /// The file `cgroup.procs` of the destination.
        to: String,
    },
    /// Kill all members of a cgroup.
    Kill {
        /// The file `cgroup.procs` of the cgroup.
        members: String,
    },
    /// Set the token bucket at an interface's root (tc-tbf(8)), if it still has one.
    Shape {
        /// The interface.
        device: String,
        /// Rate in bit/s.
        rate: u64,
        /// Burst in bytes.
        burst: u64,
        /// Limit in bytes.
        limit: u64,
    },
    /// Remove a network namespace, its processes, and the interface that leads to it.
    Disconnect {
        /// The namespace.
        namespace: String,
        /// The interface on this side.
        device: String,
    },
    /// Run a program.
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
                write!(out, "continue process {}", pids.join(", "))
            }
            Self::Place { thread, cpus } => {
                write!(out, "set the affinity of thread {} to CPUs {cpus:?}", thread.pid)
            }
            Self::Schedule { thread, policy } => {
                write!(out, "set the scheduling policy of thread {} to {policy}", thread.pid)
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
    /// Whether the step is needed after a reboot: a program may have changed anything.
    pub(crate) fn outlives_boot(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Execute the step.
    ///
    /// # Errors
    /// The error of the kernel or the program.
    pub(crate) fn execute(&self, tree: &Tree) -> io::Result<()> {
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
                Owner::find(pid).map_or(Ok(()), |one| one.signal(kill_process))
            }),
            Self::Shape { device, rate, burst, limit } => shape(device, *rate, *burst, *limit),
            Self::Disconnect { namespace, device } => disconnect(tree, namespace, device),
            Self::Run { command } => run(command).map(drop),
        }
    }
}

/// Try all; return the first error.
fn each<T>(all: &[T], execute: impl Fn(&T) -> io::Result<()>) -> io::Result<()> {
    all.iter().map(execute).fold(Ok(()), Result::and)
}

/// Return `None` if the object no longer exists.
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

/// Write a line into a kernel file, or into a folder that only root or this user can write. Symbolic links are not
/// followed.
fn write(tree: &Tree, path: &str, value: &str) -> io::Result<()> {
    let (mut file, folder) = open_without_links(&tree.locate("/"), path)?;
    if !is_of_kernel(&file) {
        trust::check_file(&folder, path.as_ref())?;
        trust::check_file(&file, path.as_ref())?;
        file.set_len(0)?;
    }
    // The line end is required: without it, writing an empty cpuset (cgroup version 2) would write nothing.
    file.write_all(format!("{value}\n").as_bytes())
}

fn for_members(tree: &Tree, file: &str, execute: impl Fn(u32) -> io::Result<()>) -> io::Result<()> {
    let mut last = Ok(());
    for _ in 0..ROUNDS {
        let members: Vec<u32> = match existing(hindmost_sys::file::read_kernel(tree.locate(file)))? {
            Some(text) => text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
            None => return Ok(()),
        };
        if members.is_empty() {
            return Ok(());
        }
        last = each(&members, |pid| execute(*pid));
    }
    last
}

fn to_strings<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_owned).to_vec()
}

/// Does nothing if the bucket was removed meanwhile.
fn shape(device: &str, rate: u64, burst: u64, limit: u64) -> io::Result<()> {
    let shown = run(&to_strings(["tc", "qdisc", "show", "dev", device, "root"]))?;
    if !shown.contains("tbf") {
        return Ok(());
    }
    let (rate, burst, limit) = (format!("{rate}bit"), burst.to_string(), limit.to_string());
    let bucket = [
        "tc", "qdisc", "change", "dev", device, "root", "tbf", "rate", &rate, "burst", &burst, "limit",
        &limit,
    ];
    run(&to_strings(bucket)).map(drop)
}

fn disconnect(tree: &Tree, namespace: &str, device: &str) -> io::Result<()> {
    let name = tree.locate("run/netns").join(namespace);
    if let Ok(wanted) = std::fs::metadata(&name) {
        for pid in tree.numbers("proc", "") {
            let inside = std::fs::metadata(tree.locate(&format!("proc/{pid}/ns/net")));
            if inside.is_ok_and(|own| (own.dev(), own.ino()) == (wanted.dev(), wanted.ino())) {
                Owner::find(pid).map_or(Ok(()), |one| one.signal(kill_process))?;
            }
        }
    }
    // The kernel removes one end of a pair with the other, or with its namespace.
    remove(&to_strings(["ip", "link", "del", device]), || {
        tree.names("sys/class/net").iter().any(|name| name == device)
    })?;
    remove(&to_strings(["ip", "netns", "del", namespace]), || name.exists())
}

/// Run a command that removes something, if it exists; it is no error if it disappears meanwhile.
fn remove(command: &[String], there: impl Fn() -> bool) -> io::Result<()> {
    if !there() {
        return Ok(());
    }
    match run(command) {
        Err(error) if there() => Err(error),
        _ => Ok(()),
    }
}

/// Run a program in its own process group, so that its children end with it; return its output.
fn run(command: &[String]) -> io::Result<String> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut program = Command::new(program);
    program.args(arguments).current_dir("/").process_group(0);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn()?;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(read_available(child.stdout.take())),
            Some(status) => return Err(io::Error::other(format!("{status}: {}", last_line(&mut child)))),
            None if Instant::now() < deadline => sleep(POLL_INTERVAL),
            None => {
                kill_group(&child);
                let _ = child.wait();
                return Err(io::Error::other(format!("no exit within {} s", TIMEOUT.as_secs())));
            }
        }
    }
}

/// Read the available output without waiting for more: a background child may keep the pipe open.
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
