use super::words::{percent, span};
use super::{Evidence, Finding, Mark};

/// At p99.9 the host may add a tenth of what a good server shows at p99: 72 to 81 us for memcached over
/// loopback at 5,000 and 20,000/s on a two-core VM, measured.
const DELAY_P999_TO_MIND_NS: u64 = 8_000;

/// At p99 the host alone adds as much as that server's whole p99: what is measured is the host.
const DELAY_P99_UNFIT_NS: u64 = 80_000;

/// Pauses that no scheduler of this host explains, from this length on, are another machine's turn:
/// interrupts and their deferred work take microseconds.
const OUTSIDE_TO_MIND_NS: u64 = 1_000_000;

/// What gaps alone make of the tail, on the worst CPU.
pub(super) fn floor(evidence: &Evidence) -> Option<Finding> {
    let floor = evidence.noise.as_ref()?.worst()?;
    let gaps = &floor.gaps;
    let mark = if gaps.delay_p99_ns > DELAY_P99_UNFIT_NS {
        Mark::Unfit
    } else if gaps.delay_p999_ns > DELAY_P999_TO_MIND_NS {
        Mark::Mind
    } else {
        Mark::Fine
    };
    let value = format!(
        "{} of the time taken on CPU {} in {}; longest gap {}; {} gaps above 50 us, {} above 1 ms",
        percent(gaps.stolen_share),
        floor.cpu,
        span(floor.elapsed_ns),
        span(gaps.largest_ns),
        gaps.over_50us,
        gaps.over_1ms,
    );
    let why = format!(
        "requests due at random moments wait {} at p99 and {} at p99.9 for these gaps alone, whatever \
         the server does",
        span(gaps.delay_p99_ns),
        span(gaps.delay_p999_ns),
    );
    let hint = match floor.run_delay_ns {
        Some(waited) if waited * 2 > gaps.stolen_ns => {
            "other processes of this host take the CPU: find them with top -H -o %CPU, stop them, look again"
        }
        _ => "hindmost doctor again when the host is quiet; more runs average over what stays: --runs 20..60",
    };
    Some(Finding::new("noise_floor", "Noise floor", mark, value, why).hint(hint))
}

/// Time that went neither to the spin nor to another thread of this host. On bare metal the same figure
/// would hold firmware's interrupts, but only in a virtual machine does it have a likely name.
pub(super) fn outside(evidence: &Evidence) -> Option<Finding> {
    if !evidence.facts.is_virtual {
        return None;
    }
    let floors = &evidence.noise.as_ref()?.floors;
    let floor = floors
        .iter()
        .filter(|floor| floor.run_delay_ns.is_some())
        .max_by_key(|floor| floor.unexplained_ns())?;
    let taken = floor.unexplained_ns();
    let mark = if floor.gaps.largest_ns > OUTSIDE_TO_MIND_NS && taken > OUTSIDE_TO_MIND_NS {
        Mark::Mind
    } else {
        Mark::Fine
    };
    let value = format!(
        "{} in {} on CPU {} went to no thread of this host; longest gap {}",
        span(taken),
        span(floor.elapsed_ns),
        floor.cpu,
        span(floor.gaps.largest_ns)
    );
    let why = if mark == Mark::Fine {
        "interrupts explain so little; the hypervisor left the CPUs alone while this was looked at"
    } else {
        "the hypervisor stops a CPU in mid-request and nothing inside the machine can prevent it: such \
         outliers come and go with the neighbours, so runs differ"
    };
    let finding = Finding::new(
        "preemption",
        "Preemption by the hypervisor",
        mark,
        value,
        why,
    );
    Some(finding.hint("a machine with dedicated cores, or more runs: --runs 20..60"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Gaps, Noise, NoiseFloor};
    use crate::HostFacts;

    fn spun(gaps: Gaps, run_delay_ns: u64) -> Evidence {
        let floor = NoiseFloor {
            cpu: 1,
            pinned: true,
            elapsed_ns: 1_000_000_000,
            read_cost_ns: 24.0,
            gaps,
            run_delay_ns: Some(run_delay_ns),
            involuntary_switches: 0,
        };
        Evidence {
            facts: HostFacts {
                is_virtual: true,
                ..HostFacts::default()
            },
            noise: Some(Noise {
                floors: vec![floor],
                oversleep: None,
                steal_share: None,
            }),
        }
    }

    #[test]
    fn a_floor_is_judged_by_the_delay_it_adds_to_the_tail() {
        let check = |delay_p99_ns, delay_p999_ns, mark| {
            let gaps = Gaps {
                delay_p99_ns,
                delay_p999_ns,
                ..Gaps::default()
            };
            assert_eq!(floor(&spun(gaps, 0)).unwrap().mark, mark);
        };
        check(0, 7_000, Mark::Fine);
        check(0, 9_000, Mark::Mind);
        check(70_000, 900_000, Mark::Mind);
        check(90_000, 900_000, Mark::Unfit);
        assert_eq!(floor(&Evidence::default()), None);
    }

    #[test]
    fn gaps_that_other_threads_explain_are_not_the_hypervisors() {
        let gaps = Gaps {
            largest_ns: 4_000_000,
            stolen_ns: 12_000_000,
            ..Gaps::default()
        };
        assert_eq!(outside(&spun(gaps, 11_900_000)).unwrap().mark, Mark::Fine);
        assert_eq!(outside(&spun(gaps, 100_000)).unwrap().mark, Mark::Mind);
        assert!(floor(&spun(gaps, 0))
            .unwrap()
            .value
            .contains("longest gap 4.00 ms"));
        let mut metal = spun(gaps, 0);
        metal.facts.is_virtual = false;
        assert_eq!(outside(&metal), None);
    }
}
