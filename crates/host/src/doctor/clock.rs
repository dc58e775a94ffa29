use super::format::span;
use super::{Evidence, Finding, Mark};

/// Counters of the CPU, readable without a system call: x86, ARM, POWER, RISC-V, s390.
const CPU_COUNTERS: [&str; 5] = ["tsc", "arch_sys_counter", "timebase", "riscv_clocksource", "tod"];

/// Devices on a bus, which take a microsecond or more per reading and serve one reader at a time; and tick
/// counters, which advance only every few milliseconds.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// A reading through the vDSO takes about 20 ns, a system call 100 to 300 ns. A request is stamped about three
/// times, and an in-memory server answers in about 30 us (p50 of memcached over loopback at 5,000 to 60,000
/// requests/s on a two-core VM): at 100 ns per reading, the stamps alone add 1 %.
const COSTLY_READING_NS: f64 = 100.0;

/// Half of the 24 to 31 us in which memcached answers there: a client that wakes this much late in one of a hundred
/// sleeps has a visible send delay.
const LATE_WAKING_NS: u64 = 15_000;

/// Timers with a coarser resolution fire only on the scheduler's tick (1 to 10 ms).
const COARSE_TIMERS_NS: u64 = 1_000;

/// Check the clock source.
pub(super) fn source(evidence: &Evidence) -> Option<Finding> {
    let facts = &evidence.facts;
    let source = facts.clocksource.as_deref()?;
    let (mark, why) = if CPU_COUNTERS.contains(&source) {
        (Mark::Fine, "a counter of the CPU: stamps are cheap and consistent across CPUs")
    } else if SLOW.contains(&source) {
        let why = "each stamp waits for a device or a tick, which adds a microsecond or more to every \
                   request, and threads wait for each other to take stamps";
        (Mark::Unfit, why)
    } else {
        let why = "the hypervisor provides the time: stamps cost more, and jump when it corrects \
                   the time or migrates the machine";
        (Mark::Note, why)
    };
    let finding = Finding::new("clocksource", "Clock source", mark, source, why);
    let better = facts.clocksources_available.iter().find(|name| CPU_COUNTERS.contains(&name.as_str()));
    Some(match better {
        Some(name) => finding.hint(format!(
            "echo {name} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None if mark == Mark::Unfit => finding.hint(
            "the kernel found the CPU's counter unstable or is configured not to use it: \
             sudo dmesg | grep -i -e tsc -e clocksource",
        ),
        None => finding,
    })
}

/// Check the cost of a stamp.
pub(super) fn reading_cost(evidence: &Evidence) -> Option<Finding> {
    let floors = evidence.noise.as_ref()?.floors.iter();
    let cost = floors.map(|floor| floor.read_cost_ns).max_by(f64::total_cmp)?;
    let mark = if cost > COSTLY_READING_NS { Mark::Note } else { Mark::Fine };
    let why = format!(
        "a request is stamped about three times, which adds {:.2} µs to the client's work",
        3.0 * cost / 1e3
    );
    let value = format!("{cost:.0} ns");
    let finding = Finding::new("clock_reading", "Cost of reading the clock", mark, value, why);
    Some(finding.hint("use a clock source of the CPU, see clocksource above"))
}

/// Check how late a client sends that sleeps between requests.
pub(super) fn sleep(evidence: &Evidence) -> Option<Finding> {
    let facts = &evidence.facts;
    let late = evidence.noise.as_ref()?.oversleep?;
    let coarse = facts.clock_resolution_ns > COARSE_TIMERS_NS;
    let mark = if coarse || late.p99_ns > LATE_WAKING_NS { Mark::Note } else { Mark::Fine };
    let slack = facts.timer_slack_ns.map_or_else(String::new, |slack| {
        format!(", at a timer slack of 1 ns; this process has {}", span(slack))
    });
    let value = format!(
        "a sleep of {} ends {} late (p50), {} (p99){slack}",
        span(late.asked_ns),
        span(late.p50_ns),
        span(late.p99_ns)
    );
    let why = if coarse {
        "timers fire only on the scheduler's tick: a client that sleeps between requests sends in bursts"
    } else {
        "a client that sleeps between requests sends this much late. Latency counts from the scheduled \
         time, so the send delay would become part of the tail"
    };
    let finding = Finding::new("sleep_pacing", "Waking from a short sleep", mark, value, why);
    Some(finding.hint("let the client spin: `--pacing spin`"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::noise::{Noise, Oversleep};
    use crate::HostFacts;

    #[test]
    fn clock_sources_are_marked_by_what_they_read() {
        let check = |name: &str, mark, hint: bool| {
            let facts = HostFacts {
                clocksource: Some(name.to_owned()),
                clocksources_available: vec!["tsc".to_owned(), name.to_owned()],
                ..HostFacts::default()
            };
            assert_eq!(check_facts(source, facts, mark, name).hint.is_some(), hint, "{name}");
        };
        check("tsc", Mark::Fine, false);
        check("arch_sys_counter", Mark::Fine, false);
        check("kvm-clock", Mark::Note, true);
        check("hyperv_clocksource_tsc_page", Mark::Note, true);
        check("xen", Mark::Note, true);
        check("hpet", Mark::Unfit, true);
        check("acpi_pm", Mark::Unfit, true);
        check("jiffies", Mark::Unfit, true);
        assert_eq!(source(&Evidence::default()), None);
    }

    #[test]
    fn late_waking_is_a_warning() {
        let check = |p99_ns: u64, clock_resolution_ns: u64, mark| {
            let late = Oversleep { asked_ns: 100_000, sleeps: 200, p50_ns: 4_000, p99_ns };
            let noise = Noise { floors: Vec::new(), oversleep: Some(late), steal_share: None };
            let facts = HostFacts { clock_resolution_ns, ..HostFacts::default() };
            let finding = sleep(&Evidence { facts, noise: Some(noise) }).unwrap();
            assert_eq!(finding.mark, mark, "{finding:?}");
        };
        check(9_000, 1, Mark::Fine);
        check(80_000, 1, Mark::Note);
        check(9_000, 4_000_000, Mark::Note);
    }
}
