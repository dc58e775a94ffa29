//! Scheduling, timers, interrupts, and what the kernel does on its own.

use super::{row, Known, KERNEL};
use crate::format::Format;

pub(super) const ROWS: &[Known] = &[
    row(
        "rt_runtime_us",
        "proc/sys/kernel/sched_rt_runtime_us",
        Format::Plain,
        "microseconds of each second for real-time threads; -1: all (TailWAG, Figure 3)",
        KERNEL,
    ),
    row(
        "autogroup",
        "proc/sys/kernel/sched_autogroup_enabled",
        Format::Flag,
        "sessions share the processors, not threads",
        KERNEL,
    ),
    row(
        "base_slice_ns",
        "sys/kernel/debug/sched/base_slice_ns",
        Format::Plain,
        "nanoseconds that a thread runs before another of its weight does",
        "debugfs is not mounted, or a kernel before 6.6",
    ),
    row(
        "sched_migration_ns",
        "sys/kernel/debug/sched/migration_cost_ns",
        Format::Plain,
        "nanoseconds since it ran for which a thread is not moved",
        "debugfs is not mounted",
    ),
    row(
        "cfs_slice_us",
        "proc/sys/kernel/sched_cfs_bandwidth_slice_us",
        Format::Plain,
        "microseconds of a group's quota that a processor takes at once",
        KERNEL,
    ),
    row(
        "timer_migration",
        "proc/sys/kernel/timer_migration",
        Format::Flag,
        "timers of idle processors move to busy ones",
        KERNEL,
    ),
    row(
        "nmi_watchdog",
        "proc/sys/kernel/nmi_watchdog",
        Format::Flag,
        "the watchdog of hard lock-ups",
        KERNEL,
    ),
    row(
        "watchdog",
        "proc/sys/kernel/watchdog",
        Format::Flag,
        "the watchdogs of soft and hard lock-ups",
        KERNEL,
    ),
    row(
        "unbound_work",
        "sys/devices/virtual/workqueue/cpumask",
        Format::Mask,
        "which processors do the kernel's deferred work",
        KERNEL,
    ),
    row(
        "irq",
        "proc/irq/@/smp_affinity_list",
        Format::Cpus,
        "which processors take this interrupt",
        "no interrupts to be moved",
    ),
];
