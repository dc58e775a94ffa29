//! The knobs that are known. A new one is a row here.

use super::format::Format;
use crate::Tree;

/// One row: where a knob lies, and how it is spelled.
pub(super) struct Known {
    /// What it is called.
    pub(super) name: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    /// Its files: `*` stands for any name or number, all of which take the same value; `@` for a device, each of which
    /// is a knob of its own.
    pub(super) pattern: &'static str,
    /// How its value is spelled.
    pub(super) format: Format,
    /// A file beside it that lists the choices.
    pub(super) choices: Option<&'static str>,
    /// What a host lacks that has no such file.
    pub(super) absent: &'static str,
}

const fn row(
    name: &'static str,
    pattern: &'static str,
    format: Format,
    about: &'static str,
    absent: &'static str,
) -> Known {
    Known { name, about, pattern, format, choices: None, absent }
}

const KERNEL: &str = "this kernel was built without it";
const CPUFREQ: &str = "no frequency scaling here, as in most virtual machines";
const QUEUES: &str = "no network interface with queues";

pub(super) const CATALOGUE: &[Known] = &[
    row(
        "thp",
        "sys/kernel/mm/transparent_hugepage/enabled",
        Format::Chosen,
        "transparent huge pages: who gets them",
        KERNEL,
    ),
    row(
        "thp_defrag",
        "sys/kernel/mm/transparent_hugepage/defrag",
        Format::Chosen,
        "transparent huge pages: whether a page fault waits for one to be made",
        KERNEL,
    ),
    row(
        "ksm",
        "sys/kernel/mm/ksm/run",
        Format::Plain,
        "merging of equal pages: 0 off, 1 on, 2 off and unmerge",
        KERNEL,
    ),
    row(
        "numa_balancing",
        "proc/sys/kernel/numa_balancing",
        Format::Plain,
        "moves pages to the node that uses them, by faults",
        "one NUMA node only, or a kernel without it",
    ),
    row(
        "swappiness",
        "proc/sys/vm/swappiness",
        Format::Plain,
        "how readily memory is swapped out, 0 to 200",
        KERNEL,
    ),
    row(
        "turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        Format::Inverted,
        "Turbo Boost (intel_pstate)",
        "no intel_pstate driver",
    ),
    row(
        "boost",
        "sys/devices/system/cpu/cpufreq/boost",
        Format::Flag,
        "frequency boost (acpi-cpufreq, AMD)",
        CPUFREQ,
    ),
    Known {
        name: "governor",
        about: "what decides the processors' frequency",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        format: Format::Plain,
        choices: Some("scaling_available_governors"),
        absent: CPUFREQ,
    },
    Known {
        name: "energy_preference",
        about: "performance against energy, a hint to the processor",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
        format: Format::Plain,
        choices: Some("energy_performance_available_preferences"),
        absent: CPUFREQ,
    },
    row(
        "smt",
        "sys/devices/system/cpu/smt/control",
        Format::Plain,
        "two threads a core: on, off (forceoff cannot be undone before a boot)",
        "no control of hyper-threading",
    ),
    row(
        "cstate",
        "sys/devices/system/cpu/cpu*/cpuidle/@/disable",
        Format::Inverted,
        "an idle state of the processors",
        "no idle states, as in most virtual machines",
    ),
    Known {
        name: "idle_governor",
        about: "what chooses the idle state",
        pattern: "sys/devices/system/cpu/cpuidle/current_governor",
        format: Format::Plain,
        choices: Some("available_governors"),
        absent: KERNEL,
    },
    row(
        "rps",
        "sys/class/net/@/queues/rx-*/rps_cpus",
        Format::Mask,
        "which processors handle received packets",
        QUEUES,
    ),
    row(
        "rfs",
        "sys/class/net/@/queues/rx-*/rps_flow_cnt",
        Format::Plain,
        "flows that are led to the processor of their reader",
        QUEUES,
    ),
    row(
        "xps",
        "sys/class/net/@/queues/tx-*/xps_cpus",
        Format::Mask,
        "which processors send by this queue",
        QUEUES,
    ),
    row(
        "irq",
        "proc/irq/@/smp_affinity_list",
        Format::Plain,
        "which processors take this interrupt",
        "no interrupts to be moved",
    ),
    row(
        "busy_poll",
        "proc/sys/net/core/busy_poll",
        Format::Plain,
        "microseconds that poll and epoll spin for packets",
        KERNEL,
    ),
    row(
        "busy_read",
        "proc/sys/net/core/busy_read",
        Format::Plain,
        "microseconds that a read spins for packets",
        KERNEL,
    ),
    row(
        "rps_flows",
        "proc/sys/net/core/rps_sock_flow_entries",
        Format::Plain,
        "size of the table that leads flows to their readers",
        KERNEL,
    ),
    row(
        "netdev_budget",
        "proc/sys/net/core/netdev_budget",
        Format::Plain,
        "packets taken in one softirq",
        KERNEL,
    ),
    row(
        "somaxconn",
        "proc/sys/net/core/somaxconn",
        Format::Plain,
        "longest queue of connections not yet accepted",
        KERNEL,
    ),
    row(
        "tcp_idle_slow_start",
        "proc/sys/net/ipv4/tcp_slow_start_after_idle",
        Format::Flag,
        "a connection that rested starts slowly again",
        KERNEL,
    ),
    row(
        "tcp_autocorking",
        "proc/sys/net/ipv4/tcp_autocorking",
        Format::Flag,
        "small writes wait to be sent together",
        KERNEL,
    ),
    Known {
        name: "congestion",
        about: "congestion control of new connections",
        pattern: "proc/sys/net/ipv4/tcp_congestion_control",
        format: Format::Plain,
        choices: Some("tcp_available_congestion_control"),
        absent: KERNEL,
    },
    row(
        "tcp_rmem",
        "proc/sys/net/ipv4/tcp_rmem",
        Format::Plain,
        "receive buffers in bytes: least, at first, most",
        KERNEL,
    ),
    row(
        "tcp_wmem",
        "proc/sys/net/ipv4/tcp_wmem",
        Format::Plain,
        "send buffers in bytes: least, at first, most",
        KERNEL,
    ),
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
        "unbound_work",
        "sys/devices/virtual/workqueue/cpumask",
        Format::Mask,
        "which processors do the kernel's deferred work",
        KERNEL,
    ),
];

/// The files of a pattern that are there: the device that `@` stands for, and the path.
pub(super) fn files(tree: &Tree, pattern: &str) -> Vec<(Option<String>, String)> {
    let mut found = vec![(None, String::new())];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for (device, folder) in found {
            let path =
                |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match part.split_once(['*', '@']) {
                None => next.push((device.clone(), path(part))),
                Some((before, after)) => {
                    let fits = |name: &&String| name.starts_with(before) && name.ends_with(after);
                    // `cpu*` means processors, not cpufreq and cpuidle.
                    let number = |name: &&String| {
                        !part.contains('*') || name[before.len()..].bytes().all(|b| b.is_ascii_digit())
                    };
                    for name in tree.names(&folder).iter().filter(fits).filter(number) {
                        let device = if part.contains('@') { Some(name.clone()) } else { device.clone() };
                        next.push((device, path(name)));
                    }
                }
            }
        }
        found = next;
    }
    found.retain(|(_, file)| tree.text(file).is_some());
    found
}
