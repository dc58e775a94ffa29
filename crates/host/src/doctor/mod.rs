//! Checks whether this host is fit to measure a tail, and what would distort the results.
//!
//! [`examine`] gathers evidence once. Every check is a function from that evidence to a [`Finding`], so that tests
//! can cover hosts that are not at hand. A new check is one function and one line in `CHECKS`. Limits are next to
//! the checks that use them, with their reasons.

#![allow(
    clippy::unnecessary_wraps,
    reason = "all checks have the same type, including those that always return a finding"
)]

mod clock;
mod cpu;
mod format;
mod limits;
mod load;
mod memory;
mod noise;
mod power;
mod privilege;
mod stamps;
mod virtualisation;

use std::net::SocketAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::noise::Noise;
use crate::{HostFacts, Nic, Tree};

/// How much something distorts a measurement, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// No distortion.
    Fine,
    /// It may show in the tail: keep it in mind, or change it.
    Note,
    /// It dominates the tail: results would describe the host instead of the server.
    Unfit,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Finding {
    /// Name in JSON; never changes.
    pub id: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What was found, with numbers and units.
    pub value: String,
    /// How much it distorts a measurement.
    pub mark: Mark,
    /// Why it matters for tail latency, in one sentence.
    pub why: String,
    /// What to do: a command if possible.
    pub hint: Option<String>,
}

impl Finding {
    fn new(
        id: &'static str,
        title: &'static str,
        mark: Mark,
        value: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { id, title, value: value.into(), mark, why: why.into(), hint: None }
    }

    /// Add a hint, unless the mark is `Fine`.
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = (self.mark > Mark::Fine).then(|| hint.into());
        self
    }
}

/// The input of the checks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Evidence {
    facts: HostFacts,
    noise: Option<Noise>,
}

/// A check; it returns `None` if the host provides no data for it.
type Check = fn(&Evidence) -> Option<Finding>;

/// All checks, in the order of the report.
const CHECKS: &[Check] = &[
    cpu::count,
    cpu::quota,
    cpu::smt,
    noise::floor,
    noise::outside,
    virtualisation::virtual_machine,
    virtualisation::steal,
    clock::source,
    clock::reading_cost,
    clock::sleep,
    power::governor,
    power::turbo,
    power::idle_states,
    load::load_average,
    load::pressure,
    memory::available,
    memory::swap,
    memory::transparent_hugepages,
    memory::numa_balancing,
    limits::open_files,
    limits::local_ports,
    limits::accept_queue,
    stamps::stamps,
    privilege::knobs,
    privilege::scheduling,
    privilege::tracing,
];

/// Facts, noise and findings of a host.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Checkup {
    /// Properties and settings of the host.
    pub facts: HostFacts,
    /// CPU time that the host takes away; `None` if no spin was requested.
    pub noise: Option<Noise>,
    /// One entry per check with a result.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Return the worst mark of all findings.
    pub fn worst(&self) -> Mark {
        let marks = self.findings.iter().map(|finding| finding.mark);
        marks.max().unwrap_or(Mark::Fine)
    }
}

/// Examine the host of `tree`. The noise floor is measured on the real host for `spin`, on up to four of the
/// allowed CPUs at a time; a `spin` of zero skips it. Of the network interfaces, only the one that leads to
/// `server` is examined, or all if `server` is absent.
pub fn examine(tree: &Tree, spin: Duration, server: Option<SocketAddr>) -> Checkup {
    // Read the facts first: the spin itself raises load and pressure.
    let mut facts = HostFacts::read(tree);
    if let Some(nic) = server.and_then(Nic::towards) {
        facts.nics = vec![nic];
    }
    let noise = (!spin.is_zero()).then(|| Noise::measure(&facts.cpus_allowed, spin));
    judge(Evidence { facts, noise })
}

fn judge(evidence: Evidence) -> Checkup {
    let findings = CHECKS.iter().filter_map(|check| check(&evidence)).collect();
    Checkup { findings, facts: evidence.facts, noise: evidence.noise }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    /// Assert mark and value of the finding that `check` returns for these facts.
    pub(super) fn check_facts(check: Check, facts: HostFacts, mark: Mark, value: &str) -> Finding {
        let evidence = Evidence { facts, noise: None };
        let finding = check(&evidence).expect("a finding");
        assert_eq!((finding.mark, finding.value.as_str()), (mark, value));
        finding
    }

    #[test]
    fn the_worst_finding_marks_the_host() {
        assert!(Mark::Fine < Mark::Note && Mark::Note < Mark::Unfit);
        let one_cpu = FakeTree::new(&[("sys/devices/system/cpu/online", "0")]);
        let checkup = examine(&one_cpu.tree(), Duration::ZERO, None);
        assert_eq!(checkup.worst(), Mark::Unfit);
        assert_eq!(checkup.noise, None);
    }

    #[test]
    fn each_finding_has_a_unique_name_and_a_reason() {
        let checkup = examine(&Tree::new("/"), Duration::from_millis(5), None);
        let mut ids: Vec<&str> = checkup.findings.iter().map(|finding| finding.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), checkup.findings.len());
        for finding in &checkup.findings {
            assert!(!finding.value.is_empty() && finding.why.len() > 20, "{finding:?}");
            assert!(finding.mark > Mark::Fine || finding.hint.is_none(), "{finding:?}");
        }
    }

    #[test]
    fn a_host_without_any_file_does_not_panic() {
        let checkup = examine(&Tree::new("/nowhere/at/all"), Duration::ZERO, None);
        assert_eq!(checkup.worst(), Mark::Unfit, "no CPU was found");
    }

    #[test]
    fn a_server_on_this_host_is_reached_by_loopback() {
        let server = "127.0.0.1:11211".parse().ok();
        let facts = examine(&Tree::new("/nowhere/at/all"), Duration::ZERO, server).facts;
        assert_eq!(facts.nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>(), ["lo"]);
    }

    #[test]
    fn json_has_the_documented_keys() {
        let checkup = examine(&Tree::new("/nowhere/at/all"), Duration::ZERO, None);
        let json = serde_json::to_value(&checkup).unwrap();
        assert_eq!(json["facts"]["virtual"], false);
        assert_eq!(json["facts"]["hypervisor"], "none");
        for key in ["kernel", "cpu_model", "memory_bytes", "clocksource", "governor", "turbo", "smt"] {
            assert!(json["facts"].get(key).is_some_and(serde_json::Value::is_null), "{key}");
        }
        let finding = json["findings"][0].as_object().unwrap();
        for key in ["id", "title", "value", "mark", "why", "hint"] {
            assert!(finding.contains_key(key), "{key}");
        }
        assert_eq!(finding["mark"], "unfit");
    }
}
