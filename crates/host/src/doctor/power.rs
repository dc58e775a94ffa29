use super::{Evidence, Finding, Mark};

/// Waking from C1 or C1E takes 2 to 10 us on Intel servers, from C6 133 us (the kernel's `intel_idle` tables for
/// Skylake-SP). A server that answers in 30 us is visibly slower beyond this limit.
const SLOW_WAKING_US: u64 = 20;

/// Check the frequency governor.
pub(super) fn governor(evidence: &Evidence) -> Option<Finding> {
    let facts = &evidence.facts;
    let (mark, value, why) = match facts.governor.as_deref() {
        Some("performance") => (Mark::Fine, "performance", "CPUs run at full frequency at any load"),
        Some(other) => (
            Mark::Note,
            other,
            "an idle CPU raises its frequency only under load: at low load, most requests meet a slow CPU or a \
             change of step, and latency may be higher than at high load (Treadmill, finding 3)",
        ),
        None if facts.is_virtual => {
            (Mark::Note, "not visible", "the hypervisor's host chooses the frequency by the load of all guests")
        }
        None => (
            Mark::Note,
            "not visible",
            "without a frequency driver, the firmware chooses the frequency; check its power profile",
        ),
    };
    let finding = Finding::new("governor", "Frequency governor", mark, value, why);
    Some(match facts.governor {
        Some(_) => {
            finding.hint("echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
        }
        None => finding,
    })
}

/// Check whether cores run faster while few are busy.
pub(super) fn turbo(evidence: &Evidence) -> Option<Finding> {
    let (mark, value, why) = match evidence.facts.turbo {
        Some(false) => (Mark::Fine, "off", "the frequency does not depend on temperature and other cores"),
        Some(true) => (
            Mark::Note,
            "on",
            "the frequency falls when more cores are busy or the chip gets hot, so runs differ by what \
             ran before or at the same time",
        ),
        None => (
            Mark::Note,
            "not visible",
            "whether the frequency changes with temperature and the load of other cores cannot be seen from \
             here; compare settings only in interleaved runs",
        ),
    };
    let finding = Finding::new("turbo", "Turbo", mark, value, why);
    Some(match evidence.facts.turbo {
        Some(_) => finding.hint(
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo  (other drivers: \
             echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost)",
        ),
        None => finding,
    })
}

/// Check how long an idle CPU takes to wake.
pub(super) fn idle_states(evidence: &Evidence) -> Option<Finding> {
    let deepest = evidence.facts.deepest_idle.as_ref()?;
    let mark = if deepest.exit_us > SLOW_WAKING_US { Mark::Note } else { Mark::Fine };
    let value = format!("down to {}, {} µs to wake", deepest.name, deepest.exit_us);
    let why = format!(
        "a request that finds the server's CPU idle waits up to {} µs before the server runs, most often \
         at low load",
        deepest.exit_us
    );
    let finding = Finding::new("idle_states", "Sleep of idle CPUs", mark, value, why);
    Some(finding.hint(format!("sudo cpupower idle-set -D {SLOW_WAKING_US}")))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::{HostFacts, IdleState};

    #[test]
    fn only_the_performance_governor_is_fine() {
        let check = |name: Option<&str>, is_virtual, mark, value, hint| {
            let governor_name = name.map(str::to_owned);
            let facts = HostFacts { governor: governor_name, is_virtual, ..HostFacts::default() };
            assert_eq!(check_facts(governor, facts, mark, value).hint.is_some(), hint);
        };
        check(Some("performance"), false, Mark::Fine, "performance", false);
        check(Some("powersave"), false, Mark::Note, "powersave", true);
        let mixed = "performance (1), powersave (7)";
        check(Some(mixed), false, Mark::Note, mixed, true);
        check(None, true, Mark::Note, "not visible", false);
        check(None, false, Mark::Note, "not visible", false);
    }

    #[test]
    fn turbo_is_fine_only_when_off() {
        for (state, mark, value) in [
            (Some(false), Mark::Fine, "off"),
            (Some(true), Mark::Note, "on"),
            (None, Mark::Note, "not visible"),
        ] {
            check_facts(turbo, HostFacts { turbo: state, ..HostFacts::default() }, mark, value);
        }
    }

    #[test]
    fn deep_sleep_is_a_warning() {
        let with_state = |name: &str, exit_us| HostFacts {
            deepest_idle: Some(IdleState { name: name.to_owned(), exit_us }),
            ..HostFacts::default()
        };
        check_facts(idle_states, with_state("C1E", 10), Mark::Fine, "down to C1E, 10 µs to wake");
        check_facts(idle_states, with_state("C6", 133), Mark::Note, "down to C6, 133 µs to wake");
        assert_eq!(idle_states(&Evidence::default()), None);
    }
}
