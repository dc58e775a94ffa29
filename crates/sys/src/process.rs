//! This process, its children, and others by number.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Child;

use landlock::{
    path_beneath_rules, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetStatus, Scope, ABI,
};
use rustix::process::{
    geteuid, getppid, kill_process_group, pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal,
};
use rustix::thread::{
    capabilities, sched_setaffinity, set_capabilities, set_no_new_privs, CapabilitySet, CapabilitySets,
    CpuSet,
};

/// A process as it is now: what is sent reaches no later one of the same number (`pidfd_open(2)`).
pub struct Handle(OwnedFd);

impl Handle {
    /// Opens the process that has this number now.
    ///
    /// # Errors
    /// What `pidfd_open(2)` says: `ESRCH` where there is none.
    pub fn open(pid: u32) -> io::Result<Self> {
        Ok(Self(pidfd_open(number(pid)?, PidfdFlags::empty())?))
    }
}

fn number(pid: u32) -> io::Result<Pid> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    raw.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Lets a stopped process go on (`SIGCONT`).
///
/// # Errors
/// What `pidfd_send_signal(2)` says.
pub fn continue_process(process: &Handle) -> io::Result<()> {
    Ok(pidfd_send_signal(&process.0, Signal::CONT)?)
}

/// Kills a process (`SIGKILL`).
///
/// # Errors
/// What `pidfd_send_signal(2)` says.
pub fn kill_process(process: &Handle) -> io::Result<()> {
    Ok(pidfd_send_signal(&process.0, Signal::KILL)?)
}

/// Lets a thread run on some CPUs alone (`sched_setaffinity(2)`).
///
/// # Errors
/// What the kernel says: `EINVAL` for a CPU that there cannot be, or none.
pub fn place_thread(thread: u32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(Some(number(thread)?), &set)?)
}

/// Gives a thread a policy without priorities (`sched_setscheduler(2)`): `SCHED_OTHER`, `SCHED_BATCH` or `SCHED_IDLE`.
///
/// # Errors
/// What the kernel says: `EPERM` for a thread of another user's.
pub fn schedule_thread(thread: u32, policy: i32) -> io::Result<()> {
    // SAFETY: as in `this_thread::make_real_time`; the call reads one sched_param, which lives until it returns.
    let done = unsafe {
        let none: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(number(thread)?.as_raw_pid(), policy, &raw const none)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What a load client may still need: real-time priority, locked memory, more files, busy polling, and the user's
/// files (certificates, rows of data) wherever they lie.
const OF_LOAD: CapabilitySet = CapabilitySet::SYS_NICE
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Gives up, for good, what a load client does not need of root's rights (capabilities(7)); threads that start later have
/// no more. Others' files stay writable only where `folder`, its own, is another user's.
///
/// # Errors
/// What capset(2) and prctl(2) say.
pub fn give_up_rights(folder: &Path) -> io::Result<()> {
    let mut kept = OF_LOAD;
    if std::fs::metadata(folder)?.uid() != effective_user() {
        kept |= CapabilitySet::DAC_OVERRIDE;
    }
    let now = capabilities(None)?;
    let sets = CapabilitySets {
        effective: now.effective & kept,
        permitted: now.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)?;
    Ok(set_no_new_privs(true)?)
}

/// Confines this thread and what it starts, for good: it reads files below `readable` alone, writes below
/// `writable` alone, and executes none (landlock(7)); other threads that run already are not confined.
///
/// Gives whether the kernel enforces all of it; kernels before 5.13, or without Landlock, do not.
///
/// # Errors
/// What prctl(2) and `landlock_restrict_self(2)` say.
pub fn confine(readable: &[PathBuf], writable: &[PathBuf]) -> io::Result<bool> {
    // What a kernel does not know is left out (`CompatLevel::BestEffort`), and the status tells so.
    let newest = ABI::V6;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir;
    let enforced = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))
        .and_then(|rules| rules.scope(Scope::from_all(newest)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(writable, read | write)))
        .and_then(RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    Ok(enforced.ruleset == RulesetStatus::FullyEnforced)
}

/// Whose rights this process has (geteuid(2)); 0: root's.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// The parent's number, 0 where it is outside our namespace (getppid(2)): the least that a call can do.
pub fn parent() -> i32 {
    getppid().map_or(0, Pid::as_raw_pid)
}

/// Kills a child that leads a process group, with all of the group; the child is not reaped yet.
pub fn kill_group(child: &Child) {
    // It may have ended meanwhile, which is what was wanted.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The ticks a second in which `/proc` counts CPU time (`USER_HZ`, 100 almost everywhere).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}
