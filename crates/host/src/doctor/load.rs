use super::words::{cpus, percent};
use super::{Evidence, Finding, Mark};

/// A quarter of a busy thread for each CPU: on average every fourth request finds somebody at work there.
/// Load averages look back a minute, so they warn and do not condemn.
const LOAD_PER_CPU_TO_MIND: f64 = 0.25;

/// A hundredth of the time some thread waited for a CPU: the p99 of whoever it is holds that wait.
const PRESSURE_TO_MIND: f64 = 1.0;

/// A fifth of the time, and with a thread or more for every CPU there is nowhere to move out of the way.
const PRESSURE_UNFIT: f64 = 20.0;

/// How many threads ran or waited lately.
pub(super) fn load_average(evidence: &Evidence) -> Option<Finding> {
    let load = evidence.facts.load_average?.one;
    let allowed = evidence.facts.cpus_allowed.len();
    let per_cpu = load / allowed.max(1) as f64;
    let mark = if per_cpu > LOAD_PER_CPU_TO_MIND { Mark::Mind } else { Mark::Fine };
    let value = format!("{load:.2} over a minute, on {}", cpus(allowed));
    let why = "each thread that is not the measurement's takes turns on its CPUs, milliseconds at a time";
    let finding = Finding::new("load_average", "Other work on this host", mark, value, why);
    Some(finding.hint("find it with `top -H -o %CPU`, stop it, wait a minute"))
}

/// How long threads waited for a CPU lately.
pub(super) fn pressure(evidence: &Evidence) -> Option<Finding> {
    let waited = evidence.facts.cpu_pressure_avg10?;
    let all_busy =
        evidence.facts.load_average.is_some_and(|load| load.one >= evidence.facts.cpus_allowed.len() as f64);
    let mark = if waited > PRESSURE_UNFIT && all_busy {
        Mark::Unfit
    } else if waited > PRESSURE_TO_MIND {
        Mark::Mind
    } else {
        Mark::Fine
    };
    let value = format!("{} of the last 10 s", percent(waited / 100.0));
    let why = "for this share of time some thread was ready to run and had no CPU; a server in its place \
               answers that much later";
    let finding = Finding::new("cpu_pressure", "Waiting for a CPU (PSI)", mark, value, why);
    Some(finding.hint("find who runs with `top -H -o %CPU`, stop it, look again in 10 s"))
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
        check_facts(load_average, busy(0.9, 0.0), Mark::Mind, "0.90 over a minute, on 2 CPUs");
        assert_eq!(load_average(&Evidence::default()), None);
    }

    #[test]
    fn pressure_is_unfit_only_where_no_cpu_is_left() {
        check_facts(pressure, busy(0.1, 0.4), Mark::Fine, "0.40 % of the last 10 s");
        check_facts(pressure, busy(0.1, 2.9), Mark::Mind, "2.9 % of the last 10 s");
        check_facts(pressure, busy(1.0, 60.0), Mark::Mind, "60 % of the last 10 s");
        check_facts(pressure, busy(5.0, 60.0), Mark::Unfit, "60 % of the last 10 s");
        assert_eq!(pressure(&Evidence::default()), None);
    }
}
