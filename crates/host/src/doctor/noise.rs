use super::words::{percent, span};
use super::{Evidence, Finding, Mark};

/// At p99.9 the host may add a tenth of what a good server shows at p99: 72 to 81 us for memcached over
/// loopback at 5,000 and 20,000/s on a two-core VM, measured.
const DELAY_P999_TO_MIND_NS: u64 = 8_000;

/// At p99 the host alone adds as much as that server's whole p99: what is measured is the host.
const DELAY_P99_UNFIT_NS: u64 = 80_000;

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
            "other processes of this host take the CPU: find them with `top -H -o %CPU`, stop them, look again"
        }
        _ => "`hindmost host doctor` again when the host is quiet; more runs average over what stays: `--runs 20..60`",
    };
    Some(Finding::new("noise_floor", "Noise floor", mark, value, why).hint(hint))
}

/// Gaps in which no other thread of this host ran. Interrupts make such gaps too, of microseconds; one
/// above a millisecond is the turn of another machine, or, on bare metal, of the firmware, which is
/// too rare there to be looked for in a second.
pub(super) fn outside(evidence: &Evidence) -> Option<Finding> {
    if !evidence.facts.is_virtual {
        return None;
    }
    let floors = evidence.noise.as_ref()?.floors.iter();
    let floor = floors.max_by_key(|floor| floor.outside.largest_ns)?;
    let gaps = &floor.outside;
    let (mark, why) = if gaps.over_1ms == 0 {
        let why = "the hypervisor let the CPUs run while this was looked at; what is left is interrupts";
        (Mark::Fine, why)
    } else {
        let why = "the hypervisor stops a CPU in mid-request and nothing inside the machine can prevent it: \
                   such outliers come and go with the neighbours, so runs differ";
        (Mark::Mind, why)
    };
    let value = format!(
        "longest {}, {} above 1 ms, {} of the time on CPU {}",
        span(gaps.largest_ns),
        gaps.over_1ms,
        percent(gaps.stolen_share),
        floor.cpu,
    );
    let finding = Finding::new("preemption", "Gaps from outside this host", mark, value, why);
    Some(finding.hint("a machine with dedicated cores, or more runs: `--runs 20..60`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Gaps, Noise, NoiseFloor};
    use crate::HostFacts;

    fn spun(gaps: Gaps, outside: Gaps) -> Evidence {
        let floor = NoiseFloor {
            cpu: 1,
            pinned: true,
            elapsed_ns: 1_000_000_000,
            read_cost_ns: 24.0,
            gaps,
            outside,
            run_delay_ns: Some(0),
            involuntary_switches: 0,
        };
        Evidence {
            facts: HostFacts { is_virtual: true, ..HostFacts::default() },
            noise: Some(Noise { floors: vec![floor], oversleep: None, steal_share: None }),
        }
    }

    #[test]
    fn a_floor_is_judged_by_the_delay_it_adds_to_the_tail() {
        let check = |delay_p99_ns, delay_p999_ns, mark| {
            let gaps = Gaps { delay_p99_ns, delay_p999_ns, ..Gaps::default() };
            assert_eq!(floor(&spun(gaps, Gaps::default())).unwrap().mark, mark);
        };
        check(0, 7_000, Mark::Fine);
        check(0, 9_000, Mark::Mind);
        check(70_000, 900_000, Mark::Mind);
        check(90_000, 900_000, Mark::Unfit);
        assert_eq!(floor(&Evidence::default()), None);
    }

    #[test]
    fn gaps_in_which_another_thread_ran_are_not_the_hypervisors() {
        let long = Gaps {
            over_1ms: 2,
            largest_ns: 4_000_000,
            stolen_ns: 6_000_000,
            stolen_share: 0.006,
            ..Gaps::default()
        };
        let interrupts = Gaps { largest_ns: 30_000, stolen_share: 0.001, ..Gaps::default() };
        assert_eq!(outside(&spun(long, interrupts)).unwrap().mark, Mark::Fine);
        let stopped = outside(&spun(long, long)).unwrap();
        assert_eq!(stopped.mark, Mark::Mind);
        assert!(stopped.value.contains("4.00 ms"), "{}", stopped.value);
        let mut metal = spun(long, long);
        metal.facts.is_virtual = false;
        assert_eq!(outside(&metal), None);
    }
}
