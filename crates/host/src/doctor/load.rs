use super::format::{cpus, percent};
use super::{Evidence, Finding, Mark};

/// A quarter of a busy thread per CPU: on average, every fourth request finds another thread running. Load averages
/// cover the last minute, so they only warn.
const LOAD_PER_CPU_TO_NOTE: f64 = 0.25;

/// A thread waited for a CPU for 1 % of the time: that wait is in the p99 of the affected program.
const PRESSURE_TO_MIND: f64 = 1.0;

/// 20 % of the time. If there is also a runnable thread for every CPU, no CPU is free to use instead.
const PRESSURE_UNFIT: f64 = 20.0;

/// Check how many threads ran or waited recently.
pub(super) fn load_average(evidence: &Evidence) -> Option<Finding> {
    let load = evidence.facts.load_average?.one;
    let allowed = evidence.facts.cpus_allowed.len();
    let per_cpu = load / allowed.max(1) as f64;
    let mark = if per_cpu > LOAD_PER_CPU_TO_NOTE { Mark::Note } else { Mark::Fine };
    let value = format!("{load:.2} over a minute, on {}", cpus(allowed));
    let why = "other threads run on the same CPUs for milliseconds at a time";
    let finding = Finding::new("load_average", "Other work on this host", mark, value, why);
    Some(finding.hint("find the process with `top -H -o %CPU`, stop it, and wait a minute"))
}

/// Check how long threads waited for a CPU recently.
pub(super) fn pressure(evidence: &Evidence) -> Option<Finding> {
    let waited = evidence.facts.cpu_pressure_avg10?;
    let all_busy =
        evidence.facts.load_average.is_some_and(|load| load.one >= evidence.facts.cpus_allowed.len() as f64);
    let mark = if waited > PRESSURE_UNFIT && all_busy {
        Mark::Unfit
    } else if waited > PRESSURE_TO_MIND {
        Mark::Note
    } else {
        Mark::Fine
    };
    let value = format!("{} of the last 10 s", percent(waited / 100.0));
    let why = "for this fraction of the time a thread was ready to run but had no CPU; a server that waits \
               like this answers that much later";
    let finding = Finding::new("cpu_pressure", "Waiting for a CPU (PSI)", mark, value, why);
    Some(finding.hint("find the process with `top -H -o %CPU`, stop it, and repeat after 10 s"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::{HostFacts, LoadAverage};

    fn busy(one: f64, waited: f64) -> HostFacts {
        HostFacts {
            cpus_allowed: vec![0, 1],
            load_average: Some(LoadAverage { one, five: 0.0, fifteen: 0.0 }),
            cpu_pressure_avg10: Some(waited),
            ..HostFacts::default()
        }
    }

    #[test]
    fn load_counts_for_each_allowed_cpu() {
        check_facts(load_average, busy(0.4, 0.0), Mark::Fine, "0.40 over a minute, on 2 CPUs");
        check_facts(load_average, busy(0.9, 0.0), Mark::Note, "0.90 over a minute, on 2 CPUs");
        assert_eq!(load_average(&Evidence::default()), None);
    }

    #[test]
    fn pressure_is_unfit_only_if_no_cpu_is_free() {
        check_facts(pressure, busy(0.1, 0.4), Mark::Fine, "0.40 % of the last 10 s");
        check_facts(pressure, busy(0.1, 2.9), Mark::Note, "2.9 % of the last 10 s");
        check_facts(pressure, busy(1.0, 60.0), Mark::Note, "60 % of the last 10 s");
        check_facts(pressure, busy(5.0, 60.0), Mark::Unfit, "60 % of the last 10 s");
        assert_eq!(pressure(&Evidence::default()), None);
    }
}
