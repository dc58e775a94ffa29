use super::{Evidence, Finding, Mark};

fn has(evidence: &Evidence, capability: &str) -> bool {
    evidence.facts.capabilities.iter().any(|name| name == capability)
}

/// Check whether settings of the host can be changed. Writing to `/sys` and `/proc/sys` requires root and, for many
/// files, `CAP_SYS_ADMIN`, which root in a container lacks.
pub(super) fn knobs(evidence: &Evidence) -> Option<Finding> {
    let root = evidence.facts.is_root;
    let admin = has(evidence, "CAP_SYS_ADMIN");
    let (mark, value) = match (root, admin) {
        (true, true) => (Mark::Fine, "root"),
        (true, false) => (Mark::Note, "root without CAP_SYS_ADMIN"),
        (false, _) => (Mark::Note, "not root"),
    };
    let why = if mark == Mark::Fine {
        "governor, turbo, huge pages and the like can be set and compared"
    } else {
        "knobs, attribute and colocate cannot set what affects the tail (governor, turbo, huge pages); \
         measure works with the present settings"
    };
    let finding = Finding::new("root", "Changing settings of the host", mark, value, why);
    Some(finding.hint("sudo hindmost host doctor  (in a container: docker run --privileged)"))
}

/// Check the right to set priorities and CPUs of other users' processes (sched(7), capabilities(7)).
pub(super) fn scheduling(evidence: &Evidence) -> Option<Finding> {
    let (mark, value, why) = if has(evidence, "CAP_SYS_NICE") {
        (Mark::Fine, "CAP_SYS_NICE", "any server can be pinned to CPUs and given a priority")
    } else {
        let why = "attribute and colocate cannot pin another user's server to CPUs or raise priorities; \
                   measure pins only processes that it starts";
        (Mark::Note, "no CAP_SYS_NICE", why)
    };
    let finding = Finding::new("scheduling", "Pinning and priorities", mark, value, why);
    Some(finding.hint("sudo hindmost host doctor  (in a container: docker run --cap-add SYS_NICE)"))
}

/// Check the right to trace the kernel. It takes `CAP_BPF` and `CAP_PERFMON` (Linux 5.8 or newer), or
/// `CAP_SYS_ADMIN` for both. Counters of the whole host also need a `perf_event_paranoid` of 0 or less.
pub(super) fn tracing(evidence: &Evidence) -> Option<Finding> {
    let facts = &evidence.facts;
    let admin = has(evidence, "CAP_SYS_ADMIN");
    let probes = admin || has(evidence, "CAP_BPF") && has(evidence, "CAP_PERFMON");
    let open = facts.perf_event_paranoid.is_some_and(|level| level <= 0);
    let counters = facts.hardware_counters && (admin || has(evidence, "CAP_PERFMON") || open);
    let (mark, why) = match (probes, counters) {
        (true, true) => (Mark::Fine, "stages of a request and cache misses can be measured"),
        (true, false) => (
            Mark::Note,
            "trace and watch work; without hardware counters, colocate and diagnose use time alone instead \
             of cycles and cache misses; measure does not need them",
        ),
        (false, _) => (
            Mark::Note,
            "trace, watch and diagnose cannot load their probes, so they cannot say where in a request's \
             path the tail arises; measure does not need them",
        ),
    };
    let value = format!(
        "kernel probes {}, hardware counters {}",
        if probes { "allowed" } else { "not allowed" },
        match (facts.hardware_counters, counters) {
            (false, _) => "not visible",
            (true, false) => "not allowed",
            (true, true) => "allowed",
        }
    );
    let finding = Finding::new("tracing", "Tracing and hardware counters", mark, value, why);
    Some(match (probes, facts.hardware_counters) {
        (true, false) => finding,
        _ => finding
            .hint("sudo hindmost host doctor  (in a container: docker run --cap-add BPF --cap-add PERFMON)"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::HostFacts;

    fn with(is_root: bool, capabilities: &[&str], hardware_counters: bool) -> HostFacts {
        HostFacts {
            is_root,
            capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
            perf_event_paranoid: Some(2),
            hardware_counters,
            ..HostFacts::default()
        }
    }

    #[test]
    fn root_without_the_capability_cannot_set_knobs() {
        check_facts(knobs, with(true, &["CAP_SYS_ADMIN"], false), Mark::Fine, "root");
        check_facts(knobs, with(true, &[], false), Mark::Note, "root without CAP_SYS_ADMIN");
        let user = check_facts(knobs, with(false, &[], false), Mark::Note, "not root");
        assert!(user.why.contains("attribute") && user.hint.is_some());
    }

    #[test]
    fn priorities_require_their_own_capability() {
        check_facts(scheduling, with(false, &["CAP_SYS_NICE"], false), Mark::Fine, "CAP_SYS_NICE");
        check_facts(scheduling, with(true, &[], false), Mark::Note, "no CAP_SYS_NICE");
    }

    #[test]
    fn probes_require_both_capabilities_and_counters_require_hardware() {
        let check = |capabilities: &[&str], hardware, mark, probes: &str, counters: &str| {
            let value = format!("kernel probes {probes}, hardware counters {counters}");
            check_facts(tracing, with(false, capabilities, hardware), mark, &value);
        };
        check(&["CAP_BPF", "CAP_PERFMON"], true, Mark::Fine, "allowed", "allowed");
        check(&["CAP_SYS_ADMIN"], true, Mark::Fine, "allowed", "allowed");
        check(&["CAP_SYS_ADMIN"], false, Mark::Note, "allowed", "not visible");
        check(&["CAP_PERFMON"], true, Mark::Note, "not allowed", "allowed");
        check(&["CAP_BPF"], true, Mark::Note, "not allowed", "not allowed");
        let open = HostFacts { perf_event_paranoid: Some(-1), ..with(false, &[], true) };
        let value = "kernel probes not allowed, hardware counters allowed";
        check_facts(tracing, open, Mark::Note, value);
    }
}
