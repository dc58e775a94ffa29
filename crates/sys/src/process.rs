//! This process, its children, and other processes by pid.
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

/// A handle of a process: signals never reach a later process with the same pid (`pidfd_open(2)`).
pub struct Handle(OwnedFd);

impl Handle {
    /// Open the process that has this pid now.
    ///
    /// # Errors
    /// The error of `pidfd_open(2)`: `ESRCH` if there is none.
    pub fn open(pid: u32) -> io::Result<Self> {
        Ok(Self(pidfd_open(number(pid)?, PidfdFlags::empty())?))
    }
}

fn number(pid: u32) -> io::Result<Pid> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    raw.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Continue a stopped process (`SIGCONT`).
///
/// # Errors
/// The error of `pidfd_send_signal(2)`.
pub fn continue_process(process: &Handle) -> io::Result<()> {
    Ok(pidfd_send_signal(&process.0, Signal::CONT)?)
}

/// Kill a process (`SIGKILL`).
///
/// # Errors
/// The error of `pidfd_send_signal(2)`.
pub fn kill_process(process: &Handle) -> io::Result<()> {
    Ok(pidfd_send_signal(&process.0, Signal::KILL)?)
}

/// Restrict a thread to some CPUs (`sched_setaffinity(2)`).
///
/// # Errors
/// The error of the kernel: `EINVAL` for CPUs that do not exist, or an empty set.
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

/// Set a scheduling policy without priorities (`sched_setscheduler(2)`): `SCHED_OTHER`, `SCHED_BATCH` or
/// `SCHED_IDLE`.
///
/// # Errors
/// The error of the kernel: `EPERM` for a thread of another user.
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

/// Capabilities that a client may still need: real-time priority, locked memory, more files, busy polling, and
/// access to the user's files (certificates, data rows) in any folder.
const CLIENT_CAPABILITIES: CapabilitySet = CapabilitySet::SYS_NICE
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::DAC_READ_SEARCH);

/// Permanently drop the root capabilities that a client does not need (capabilities(7)); threads started later
/// inherit the rest. Files of other users stay writable only if its own `folder` belongs to another user.
///
/// # Errors
/// The error of capset(2) or prctl(2).
pub fn give_up_rights(folder: &Path) -> io::Result<()> {
    let mut kept = CLIENT_CAPABILITIES;
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

/// Permanently confine this thread and its children: they can read files only below `readable`, write only below
/// `writable`, and execute none (landlock(7)). Other running threads are not confined.
///
/// Return whether the kernel enforces all of it; kernels before 5.13, or without Landlock, do not.
///
/// # Errors
/// The error of prctl(2) or `landlock_restrict_self(2)`.
pub fn confine(readable: &[PathBuf], writable: &[PathBuf]) -> io::Result<bool> {
    // Features that the kernel lacks are skipped (`CompatLevel::BestEffort`), and the status reports that.
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

/// Return the effective user id of this process (geteuid(2)); 0 is root.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// Return the parent's pid, 0 if it is outside our namespace (getppid(2)): the cheapest system call.
pub fn parent() -> i32 {
    getppid().map_or(0, Pid::as_raw_pid)
}

/// Kill a child that leads a process group, with the whole group; the child must not be reaped yet.
pub fn kill_group(child: &Child) {
    // It may have ended meanwhile, which is fine.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// Return the unit of CPU times in `/proc`, in ticks per second (`USER_HZ`, 100 almost everywhere).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}
