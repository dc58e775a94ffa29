//! Scheduling, timers, interrupts and background work of the kernel.

use super::{row, CatalogueRow, KERNEL};
use crate::format::Format;

pub(super) const ROWS: &[CatalogueRow] = &[
    row(
        "rt_runtime_us",
        "proc/sys/kernel/sched_rt_runtime_us",
        Format::Plain,
        "microseconds of each second that real-time threads may use; -1: all (TailWAG, Figure 3)",
        KERNEL,
    ),
    row(
        "autogroup",
        "proc/sys/kernel/sched_autogroup_enabled",
        Format::Flag,
        "CPU time is shared between sessions instead of threads",
        KERNEL,
    ),
    row(
        "base_slice_ns",
        "sys/kernel/debug/sched/base_slice_ns",
        Format::Plain,
        "time slice of a thread in nanoseconds",
        "debugfs is not mounted, or the kernel is older than 6.6",
    ),
    row(
        "sched_migration_ns",
        "sys/kernel/debug/sched/migration_cost_ns",
        Format::Plain,
        "nanoseconds after running in which a thread is not migrated",
        "debugfs is not mounted",
    ),
    row(
        "cfs_slice_us",
        "proc/sys/kernel/sched_cfs_bandwidth_slice_us",
        Format::Plain,
        "microseconds of a cgroup's quota that a CPU takes at a time",
        KERNEL,
    ),
    row(
        "timer_migration",
        "proc/sys/kernel/timer_migration",
        Format::Flag,
        "timers of idle CPUs migrate to busy ones",
        KERNEL,
    ),
    row("nmi_watchdog", "proc/sys/kernel/nmi_watchdog", Format::Flag, "watchdog for hard lock-ups", KERNEL),
    row("watchdog", "proc/sys/kernel/watchdog", Format::Flag, "watchdogs for soft and hard lock-ups", KERNEL),
    row(
        "unbound_work",
        "sys/devices/virtual/workqueue/cpumask",
        Format::Mask,
        "CPUs that do the kernel's deferred work",
        KERNEL,
    ),
    row(
        "irq",
        "proc/irq/@/smp_affinity_list",
        Format::Cpus,
        "CPUs that handle this interrupt",
        "no interrupts that can be moved",
    ),
];
