use super::format::cpus;
use super::{Evidence, Finding, Mark};

/// With fewer CPUs, client and server share one.
const FEWEST_CPUS: usize = 2;

/// With fewer CPUs, server and client have one each, and everything else must run on one of the two. With four or
/// more, one remains for interrupts and kernel threads.
const ENOUGH_CPUS: usize = 4;

/// Check the number of CPUs that a measurement may use.
pub(super) fn count(evidence: &Evidence) -> Option<Finding> {
    let (allowed, online) = (evidence.facts.cpus_allowed.len(), evidence.facts.cpus_online);
    let (mark, why) = match allowed {
        ..FEWEST_CPUS => (
            Mark::Unfit,
            "client and server share one CPU: each waits while the other runs, and the measurement \
             would show that wait",
        ),
        FEWEST_CPUS..ENOUGH_CPUS => (
            Mark::Note,
            "server and client fill the CPUs, so interrupts and other processes interrupt them \
             and show in the tail",
        ),
        ENOUGH_CPUS.. => (Mark::Fine, "server, client and the rest of the host can have separate CPUs"),
    };
    let value = format!("{} of {online} online", cpus(allowed));
    let finding = Finding::new("cpus", "CPUs to use", mark, value, why);
    let hint = if allowed < online {
        let last = online - 1;
        format!("taskset -cp 0-{last} $$ (in this shell), if its control group allows that")
    } else {
        format!("measure from another machine, or on one with {ENOUGH_CPUS} cores")
    };
    Some(finding.hint(hint))
}

/// Check the CPU quota. A cgroup stops its processes for the rest of a period (usually 100 ms) once they have used
/// up its CPU time; a measurement reaches a quota below the allowed CPUs.
pub(super) fn quota(evidence: &Evidence) -> Option<Finding> {
    const ID: &str = "cpu_quota";
    const TITLE: &str = "CPU quota of the control group";
    let allowed = evidence.facts.cpus_allowed.len();
    let Some(quota) = &evidence.facts.cpu_quota else {
        let why = "no quota interrupts the server or the client";
        return Some(Finding::new(ID, TITLE, Mark::Fine, "none seen", why));
    };
    let throttled = quota
        .throttled_periods
        .map_or_else(String::new, |periods| format!(", throttled in {periods} periods so far"));
    let value = format!("{:.2} CPUs, {} allowed{throttled}", quota.cpus, cpus(allowed));
    let (mark, why) = if quota.cpus < allowed as f64 {
        let stopped_share = 1.0 - quota.cpus / allowed as f64;
        let longest_ms = quota.period_us as f64 / 1e3 * stopped_share;
        let why = format!(
            "when the quota is used up, all threads stop for up to {longest_ms:.0} ms if all CPUs are \
             busy, and every request scheduled meanwhile waits that long"
        );
        (Mark::Unfit, why)
    } else {
        (Mark::Fine, "the quota covers all allowed CPUs, so no thread is throttled".to_owned())
    };
    let unlimited = if quota.file.ends_with("cpu.max") { "max" } else { "-1" };
    let hint = format!(
        "echo {unlimited} | sudo tee /{}  (in a container: start it without a CPU limit)",
        quota.file
    );
    Some(Finding::new(ID, TITLE, mark, value, why).hint(hint))
}

/// Check whether server and client may run on the two threads of one core.
pub(super) fn smt(evidence: &Evidence) -> Option<Finding> {
    let threads = evidence.facts.threads_per_core;
    let (mark, value, why) = if evidence.facts.smt? {
        (
            Mark::Note,
            format!("on, {threads} threads per core"),
            "two busy threads of one core slow each other down, so latency depends on the other thread: \
             give server and client separate cores",
        )
    } else {
        (Mark::Fine, "off".to_owned(), "each visible CPU is a separate core")
    };
    let finding = Finding::new("smt", "Threads of a core (SMT)", mark, value, why);
    Some(finding.hint("echo off | sudo tee /sys/devices/system/cpu/smt/control"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::{CpuQuota, HostFacts};

    fn with_cpus(allowed: u32) -> HostFacts {
        HostFacts { cpus_online: 8, cpus_allowed: (0..allowed).collect(), ..HostFacts::default() }
    }

    #[test]
    fn allowed_cpus_count_instead_of_online_ones() {
        check_facts(count, with_cpus(1), Mark::Unfit, "1 CPU of 8 online");
        check_facts(count, with_cpus(2), Mark::Note, "2 CPUs of 8 online");
        check_facts(count, with_cpus(3), Mark::Note, "3 CPUs of 8 online");
        check_facts(count, with_cpus(4), Mark::Fine, "4 CPUs of 8 online");
    }

    #[test]
    fn a_quota_below_the_allowed_cpus_is_unfit() {
        let with_quota = |cpus, throttled_periods| HostFacts {
            cpu_quota: Some(CpuQuota {
                file: "sys/fs/cgroup/a/cpu.max".to_owned(),
                cpus,
                period_us: 100_000,
                throttled_periods,
            }),
            ..with_cpus(2)
        };
        let tight = check_facts(
            quota,
            with_quota(1.5, Some(3)),
            Mark::Unfit,
            "1.50 CPUs, 2 CPUs allowed, throttled in 3 periods so far",
        );
        assert!(tight.why.contains("25 ms"));
        assert!(tight.hint.unwrap().starts_with("echo max | sudo tee /sys/fs/cgroup/a/cpu.max"));
        check_facts(quota, with_quota(2.0, None), Mark::Fine, "2.00 CPUs, 2 CPUs allowed");
        check_facts(quota, with_cpus(2), Mark::Fine, "none seen");
    }

    #[test]
    fn smt_is_a_warning() {
        let with_smt = |smt| HostFacts { smt, threads_per_core: 2, ..HostFacts::default() };
        check_facts(smt, with_smt(Some(true)), Mark::Note, "on, 2 threads per core");
        check_facts(smt, with_smt(Some(false)), Mark::Fine, "off");
        assert_eq!(smt(&Evidence { facts: with_smt(None), noise: None }), None);
    }
}
