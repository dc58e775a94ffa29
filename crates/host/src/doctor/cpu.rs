use super::words::cpus;
use super::{Evidence, Finding, Mark};

/// With fewer CPUs than this, client and server take turns on one.
const FEWEST_CPUS: usize = 2;

/// With fewer than this, server and client have a CPU each, and all else that the host does must run on
/// one of the two. From four on one can be left to interrupts and the kernel's workers.
const ENOUGH_CPUS: usize = 4;

/// The CPUs that a measurement may use.
pub(super) fn count(evidence: &Evidence) -> Option<Finding> {
    let (allowed, online) = (evidence.facts.cpus_allowed.len(), evidence.facts.cpus_online);
    let (mark, why) = match allowed {
        ..FEWEST_CPUS => (
            Mark::Unfit,
            "client and server share one CPU: each waits for the other's turn, and that wait is what \
             would be measured",
        ),
        FEWEST_CPUS..ENOUGH_CPUS => (
            Mark::Mind,
            "server and client fill the CPUs, so that interrupts and every other process run in between \
             and show in the tail",
        ),
        ENOUGH_CPUS.. => (Mark::Fine, "server, client and the rest of the host can have CPUs of their own"),
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

/// A control group that stops its processes for the rest of a period (100 ms as a rule) once they have
/// used up its CPU time: below what the allowed CPUs could use, a measurement will run into it.
pub(super) fn quota(evidence: &Evidence) -> Option<Finding> {
    const ID: &str = "cpu_quota";
    const TITLE: &str = "CPU quota of the control group";
    let allowed = evidence.facts.cpus_allowed.len();
    let Some(quota) = &evidence.facts.cpu_quota else {
        let why = "no limit stops server or client in mid-request";
        return Some(Finding::new(ID, TITLE, Mark::Fine, "none seen", why));
    };
    let throttled = quota
        .throttled_periods
        .map_or_else(String::new, |periods| format!(", stopped in {periods} periods so far"));
    let value = format!("{:.2} CPUs, {} allowed{throttled}", quota.cpus, cpus(allowed));
    let (mark, why) = if quota.cpus < allowed as f64 {
        let stopped_share = 1.0 - quota.cpus / allowed as f64;
        let longest_ms = quota.period_us as f64 / 1e3 * stopped_share;
        let why = format!(
            "once the quota is used up all threads stop, for up to {longest_ms:.0} ms when all CPUs are \
             busy, and every request due meanwhile waits that long"
        );
        (Mark::Unfit, why)
    } else {
        (Mark::Fine, "the quota covers all allowed CPUs, so it stops nobody".to_owned())
    };
    let unlimited = if quota.file.ends_with("cpu.max") { "max" } else { "-1" };
    let hint = format!(
        "echo {unlimited} | sudo tee /{}  (in a container: start it without a CPU limit)",
        quota.file
    );
    Some(Finding::new(ID, TITLE, mark, value, why).hint(hint))
}

/// Whether server and client may get the two threads of one core.
pub(super) fn smt(evidence: &Evidence) -> Option<Finding> {
    let threads = evidence.facts.threads_per_core;
    let (mark, value, why) = if evidence.facts.smt? {
        (
            Mark::Mind,
            format!("on, {threads} threads a core"),
            "two busy threads of one core slow each other down, so latency depends on who runs next door: \
             give server and client cores of their own",
        )
    } else {
        (Mark::Fine, "off".to_owned(), "each CPU is a core of its own, as far as can be seen")
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
    fn allowed_cpus_count_not_those_online() {
        check_facts(count, with_cpus(1), Mark::Unfit, "1 CPU of 8 online");
        check_facts(count, with_cpus(2), Mark::Mind, "2 CPUs of 8 online");
        check_facts(count, with_cpus(3), Mark::Mind, "3 CPUs of 8 online");
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
            "1.50 CPUs, 2 CPUs allowed, stopped in 3 periods so far",
        );
        assert!(tight.why.contains("25 ms"));
        assert!(tight.hint.unwrap().starts_with("echo max | sudo tee /sys/fs/cgroup/a/cpu.max"));
        check_facts(quota, with_quota(2.0, None), Mark::Fine, "2.00 CPUs, 2 CPUs allowed");
        check_facts(quota, with_cpus(2), Mark::Fine, "none seen");
    }

    #[test]
    fn smt_is_to_be_minded_where_it_is_on() {
        let with_smt = |smt| HostFacts { smt, threads_per_core: 2, ..HostFacts::default() };
        check_facts(smt, with_smt(Some(true)), Mark::Mind, "on, 2 threads a core");
        check_facts(smt, with_smt(Some(false)), Mark::Fine, "off");
        assert_eq!(smt(&Evidence { facts: with_smt(None), noise: None }), None);
    }
}
