//! Frequencies and idle states.

use super::{row, Known, KERNEL};
use crate::find::files;
use crate::format::Format;

const CPUFREQ: &str = "no frequency scaling here, as in most virtual machines";
const PSTATE: &str = "no intel_pstate driver";

pub(super) const ROWS: &[Known] = &[
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
    Known {
        name: "governor",
        about: "what decides the processors' frequency",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        format: Format::Plain,
        find: files,
        choices: Some("scaling_available_governors"),
        absent: CPUFREQ,
    },
    Known {
        name: "energy_preference",
        about: "performance against energy, a hint to the processor",
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
        "the lowest frequency that the governor may choose",
        CPUFREQ,
    ),
    row(
        "freq_max_khz",
        "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
        Format::Plain,
        "the highest frequency that the governor may choose",
        CPUFREQ,
    ),
    row(
        "pstate_min_percent",
        "sys/devices/system/cpu/intel_pstate/min_perf_pct",
        Format::Plain,
        "the lowest performance of a processor, of its highest",
        PSTATE,
    ),
    row(
        "pstate_max_percent",
        "sys/devices/system/cpu/intel_pstate/max_perf_pct",
        Format::Plain,
        "the highest performance of a processor that is allowed",
        PSTATE,
    ),
    row(
        "pstate_status",
        "sys/devices/system/cpu/intel_pstate/status",
        Format::Plain,
        "who scales frequencies: active (the processor), passive (the kernel)",
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
        "0 (performance) to 15 (power saving), a hint to the processor",
        "no such hint, as in most virtual machines",
    ),
    row(
        "uncore_min_khz",
        "sys/devices/system/cpu/intel_uncore_frequency/@/min_freq_khz",
        Format::Plain,
        "the lowest frequency of caches and memory controllers",
        "no intel_uncore_frequency driver",
    ),
    row(
        "uncore_max_khz",
        "sys/devices/system/cpu/intel_uncore_frequency/@/max_freq_khz",
        Format::Plain,
        "the highest frequency of caches and memory controllers",
        "no intel_uncore_frequency driver",
    ),
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
        find: files,
        choices: Some("available_governors"),
        absent: KERNEL,
    },
    row(
        "resume_latency_us",
        "sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
        Format::Plain,
        "the longest wake-up of each processor that is allowed: 0 any, n/a none at all",
        KERNEL,
    ),
    row(
        "haltpoll_ns",
        "sys/module/haltpoll/parameters/guest_halt_poll_ns",
        Format::Plain,
        "nanoseconds that a virtual machine's idle processor polls before it halts",
        "no haltpoll governor",
    ),
];
