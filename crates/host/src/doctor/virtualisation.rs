use super::format::percent;
use super::{Evidence, Finding, Mark};

/// One tick in a second on two CPUs is 0.5 %, so a spin cannot resolve less. Over the days since boot, more than
/// this limit is significant.
const STEAL_TO_MIND: f64 = 0.001;

/// The hypervisor has the CPU in one of twenty moments, which determines the p95 and everything beyond.
const STEAL_UNFIT: f64 = 0.05;

/// Check whether a hypervisor decides when the CPUs run.
pub(super) fn virtual_machine(evidence: &Evidence) -> Option<Finding> {
    const ID: &str = "virtual_machine";
    const TITLE: &str = "Virtual machine";
    let facts = &evidence.facts;
    if !facts.is_virtual {
        let why = "no hypervisor schedules the CPUs";
        return Some(Finding::new(ID, TITLE, Mark::Fine, "no sign of one", why));
    }
    let why = "other virtual machines share cores, caches and frequency, so the tail depends on \
               them; only differences measured at the same time hold elsewhere";
    let finding = Finding::new(ID, TITLE, Mark::Note, facts.hypervisor.as_str(), why);
    Some(finding.hint("repeat at another time of day and compare; for absolute figures use bare metal"))
}

/// Check the steal time reported by the hypervisor.
pub(super) fn steal(evidence: &Evidence) -> Option<Finding> {
    if !evidence.facts.is_virtual {
        return None;
    }
    let since_start = evidence.facts.steal_share?;
    let now = evidence.noise.as_ref().and_then(|noise| noise.steal_share);
    let worst = now.unwrap_or(0.0).max(since_start);
    let mark = match worst {
        share if now.unwrap_or(since_start) > STEAL_UNFIT && share > STEAL_UNFIT => Mark::Unfit,
        share if share > STEAL_TO_MIND => Mark::Note,
        _ => Mark::Fine,
    };
    let mut value = format!("{} since the start", percent(since_start));
    if let Some(now) = now {
        value = format!("{} during the spin, {value}", percent(now));
    }
    let why = format!(
        "an equal share of requests ({}) falls into moments when the server's or the client's CPU \
         does not run",
        percent(worst)
    );
    let finding = Finding::new("steal", "Time stolen by the hypervisor", mark, value, why);
    Some(
        finding
            .hint("use a machine with dedicated cores, or try another hour: vmstat 1 shows it in column st"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::noise::Noise;
    use crate::HostFacts;

    #[test]
    fn a_virtual_machine_is_a_warning() {
        let guest = HostFacts { is_virtual: true, hypervisor: "kvm".to_owned(), ..HostFacts::default() };
        check_facts(virtual_machine, guest, Mark::Note, "kvm");
        check_facts(virtual_machine, HostFacts::default(), Mark::Fine, "no sign of one");
    }

    #[test]
    fn recent_steal_outweighs_earlier_steal() {
        let check = |now: Option<f64>, since_start: f64, mark| {
            let facts =
                HostFacts { is_virtual: true, steal_share: Some(since_start), ..HostFacts::default() };
            let noise =
                now.map(|share| Noise { floors: Vec::new(), oversleep: None, steal_share: Some(share) });
            assert_eq!(steal(&Evidence { facts, noise }).unwrap().mark, mark);
        };
        check(None, 0.0, Mark::Fine);
        check(None, 0.002, Mark::Note);
        check(None, 0.2, Mark::Unfit);
        check(Some(0.0), 0.2, Mark::Note);
        check(Some(0.005), 0.0, Mark::Note);
        check(Some(0.06), 0.0, Mark::Unfit);
        assert_eq!(steal(&Evidence::default()), None);
    }
}
