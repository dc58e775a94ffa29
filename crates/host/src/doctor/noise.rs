use super::format::{percent, span};
use super::{Evidence, Finding, Mark};

/// At p99.9, the host may add a tenth of a good server's p99: 72 to 81 us, measured for memcached over loopback at
/// 5,000 and 20,000 requests/s on a two-core VM.
const DELAY_P999_TO_MIND_NS: u64 = 8_000;

/// At p99, the host adds as much as that server's whole p99: the measurement would show the host.
const DELAY_P99_UNFIT_NS: u64 = 80_000;

/// Check the delay that gaps alone add to the tail, on the worst CPU.
pub(super) fn floor(evidence: &Evidence) -> Option<Finding> {
    let floor = evidence.noise.as_ref()?.worst()?;
    let gaps = &floor.gaps;
    let mark = if gaps.delay_p99_ns > DELAY_P99_UNFIT_NS {
        Mark::Unfit
    } else if gaps.delay_p999_ns > DELAY_P999_TO_MIND_NS {
        Mark::Note
    } else {
        Mark::Fine
    };
    let value = format!(
        "{} of the time taken on CPU {} in {}; longest gap {}; {} gaps above 50 µs, {} above 1 ms",
        percent(gaps.stolen_share),
        floor.cpu,
        span(floor.elapsed_ns),
        span(gaps.largest_ns),
        gaps.over_50us,
        gaps.over_1ms,
    );
    let why = format!(
        "requests scheduled at random moments wait {} at p99 and {} at p99.9 for these gaps alone, whatever \
         the server does",
        span(gaps.delay_p99_ns),
        span(gaps.delay_p999_ns),
    );
    let hint = match floor.run_delay_ns {
        Some(waited) if waited * 2 > gaps.stolen_ns => {
            "other processes of this host use the CPU: find them with `top -H -o %CPU`, stop them, and repeat"
        }
        _ => "repeat `hindmost host doctor` when the host is quiet; average over the remaining noise with more runs: `--runs 20..60`",
    };
    Some(Finding::new("noise_floor", "Noise floor", mark, value, why).hint(hint))
}

/// Check the gaps in which no other thread of this host ran. Interrupts cause gaps of microseconds. A gap above 1
/// ms means that another virtual machine ran, or, on bare metal, the firmware, which is too rare there to be found
/// in a second.
pub(super) fn outside(evidence: &Evidence) -> Option<Finding> {
    if !evidence.facts.is_virtual {
        return None;
    }
    let floors = evidence.noise.as_ref()?.floors.iter();
    let floor = floors.max_by_key(|floor| floor.outside.largest_ns)?;
    let gaps = &floor.outside;
    let (mark, why) = if gaps.over_1ms == 0 {
        let why = "the hypervisor did not stop the CPUs during the check; only interrupts remain";
        (Mark::Fine, why)
    } else {
        let why =
            "the hypervisor stops a CPU during requests, and nothing inside the machine can prevent it: \
                   such outliers depend on other virtual machines, so runs differ";
        (Mark::Note, why)
    };
    let value = format!(
        "longest {}, {} above 1 ms, {} of the time on CPU {}",
        span(gaps.largest_ns),
        gaps.over_1ms,
        percent(gaps.stolen_share),
        floor.cpu,
    );
    let finding = Finding::new("preemption", "Gaps from outside this host", mark, value, why);
    Some(finding.hint("use a machine with dedicated cores, or more runs: `--runs 20..60`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Gaps, Noise, NoiseFloor};
    use crate::HostFacts;

    fn evidence_of(gaps: Gaps, outside: Gaps) -> Evidence {
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
            assert_eq!(floor(&evidence_of(gaps, Gaps::default())).unwrap().mark, mark);
        };
        check(0, 7_000, Mark::Fine);
        check(0, 9_000, Mark::Note);
        check(70_000, 900_000, Mark::Note);
        check(90_000, 900_000, Mark::Unfit);
        assert_eq!(floor(&Evidence::default()), None);
    }

    #[test]
    fn gaps_with_a_thread_switch_are_not_attributed_to_the_hypervisor() {
        let long = Gaps {
            over_1ms: 2,
            largest_ns: 4_000_000,
            stolen_ns: 6_000_000,
            stolen_share: 0.006,
            ..Gaps::default()
        };
        let interrupts = Gaps { largest_ns: 30_000, stolen_share: 0.001, ..Gaps::default() };
        assert_eq!(outside(&evidence_of(long, interrupts)).unwrap().mark, Mark::Fine);
        let stopped = outside(&evidence_of(long, long)).unwrap();
        assert_eq!(stopped.mark, Mark::Note);
        assert!(stopped.value.contains("4.00 ms"), "{}", stopped.value);
        let mut metal = evidence_of(long, long);
        metal.facts.is_virtual = false;
        assert_eq!(outside(&metal), None);
    }
}
