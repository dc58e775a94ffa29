//! Frequencies and idle states.

use super::{row, CatalogueRow, KERNEL};
use crate::find::files;
use crate::format::Format;

const CPUFREQ: &str = "no frequency scaling, as in most virtual machines";
const PSTATE: &str = "no intel_pstate driver";

pub(super) const ROWS: &[CatalogueRow] = &[
    row(
        "turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        Format::Inverted,
        "Turbo Boost (intel_pstate)",
        PSTATE,
    ),
    row(
        "boost",
        "sys/devices/system/cpu/cpufreq/boost",
        Format::Flag,
        "frequency boost (acpi-cpufreq, AMD)",
        CPUFREQ,
    ),
    CatalogueRow {
        name: "governor",
        about: "what chooses the CPUs' frequency",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        format: Format::Plain,
        find: files,
        choices: Some("scaling_available_governors"),
        absent: CPUFREQ,
    },
    CatalogueRow {
        name: "energy_preference",
        about: "energy-performance preference, a hint to the CPU",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
        format: Format::Plain,
        find: files,
        choices: Some("energy_performance_available_preferences"),
        absent: CPUFREQ,
    },
    row(
        "freq_min_khz",
        "sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
        Format::Plain,
        "lowest frequency that the governor may choose",
        CPUFREQ,
    ),
    row(
        "freq_max_khz",
        "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
        Format::Plain,
        "highest frequency that the governor may choose",
        CPUFREQ,
    ),
    row(
        "pstate_min_percent",
        "sys/devices/system/cpu/intel_pstate/min_perf_pct",
        Format::Plain,
        "lowest performance level, in percent of the highest",
        PSTATE,
    ),
    row(
        "pstate_max_percent",
        "sys/devices/system/cpu/intel_pstate/max_perf_pct",
        Format::Plain,
        "highest allowed performance level, in percent",
        PSTATE,
    ),
    row(
        "pstate_status",
        "sys/devices/system/cpu/intel_pstate/status",
        Format::Plain,
        "what scales frequencies: active (the CPU), passive (the kernel)",
        PSTATE,
    ),
    row(
        "hwp_boost",
        "sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost",
        Format::Flag,
        "a thread that wakes from input or output gets a higher frequency",
        PSTATE,
    ),
    row(
        "energy_bias",
        "sys/devices/system/cpu/cpu*/power/energy_perf_bias",
        Format::Plain,
        "0 (performance) to 15 (power saving), a hint to the CPU",
        "no such hint, as in most virtual machines",
    ),
    row(
        "uncore_min_khz",
        "sys/devices/system/cpu/intel_uncore_frequency/@/min_freq_khz",
        Format::Plain,
        "lowest frequency of caches and memory controllers",
        "no intel_uncore_frequency driver",
    ),
    row(
        "uncore_max_khz",
        "sys/devices/system/cpu/intel_uncore_frequency/@/max_freq_khz",
        Format::Plain,
        "highest frequency of caches and memory controllers",
        "no intel_uncore_frequency driver",
    ),
    row(
        "smt",
        "sys/devices/system/cpu/smt/control",
        Format::Plain,
        "two threads per core: on, off (forceoff cannot be undone without a reboot)",
        "no control of hyper-threading",
    ),
    row(
        "cstate",
        "sys/devices/system/cpu/cpu*/cpuidle/@/disable",
        Format::Inverted,
        "an idle state of the CPUs",
        "no idle states, as in most virtual machines",
    ),
    CatalogueRow {
        name: "idle_governor",
        about: "what chooses the idle state",
        pattern: "sys/devices/system/cpu/cpuidle/current_governor",
        format: Format::Plain,
        find: files,
        choices: Some("available_governors"),
        absent: KERNEL,
    },
    row(
        "resume_latency_us",
        "sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
        Format::Plain,
        "longest allowed wake-up time of each CPU: 0 any, n/a no idle state",
        KERNEL,
    ),
    row(
        "haltpoll_ns",
        "sys/module/haltpoll/parameters/guest_halt_poll_ns",
        Format::Plain,
        "nanoseconds that an idle CPU of a virtual machine polls before it halts",
        "no haltpoll governor",
    ),
];
