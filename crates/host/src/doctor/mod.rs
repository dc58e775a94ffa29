//! Is this host fit to measure a tail, and what of it would distort the figures?
//!
//! [`examine`] gathers evidence once; every check is a function from that evidence to a [`Finding`],
//! so that each can be shown to judge right on hosts that are not at hand. A new check is one function
//! and one line in `CHECKS`. Limits stand beside the checks that use them, with their reasons.

#![allow(
    clippy::unnecessary_wraps,
    reason = "a check that always has something to judge is of the same type as the others"
)]

mod clock;
mod cpu;
mod limits;
mod load;
mod memory;
mod noise;
mod power;
mod privilege;
mod stamps;
mod virtualisation;
mod words;

use std::net::SocketAddr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::noise::Noise;
use crate::{HostFacts, Nic, Tree};

/// How far something distorts a measurement, from least to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Not at all.
    Fine,
    /// It may show in the tail: keep it in mind, or change it.
    Mind,
    /// It makes the tail: figures from here would tell of the host instead of the server.
    Unfit,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Finding {
    /// Its name in JSON; never changes.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What was found, with numbers and units.
    pub value: String,
    /// How far it distorts.
    pub mark: Mark,
    /// Why it matters for tail latency, one sentence.
    pub why: String,
    /// What to do: a command where one exists.
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

    /// With a hint, unless all is fine.
    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = (self.mark > Mark::Fine).then(|| hint.into());
        self
    }
}

/// What the checks judge by.
#[derive(Clone, Debug, Default, PartialEq)]
struct Evidence {
    facts: HostFacts,
    noise: Option<Noise>,
}

/// `None` where the host gives nothing to judge.
type Check = fn(&Evidence) -> Option<Finding>;

/// All checks, in the order in which people read them.
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

/// What the host is, what was measured of it, and what that means.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Checkup {
    /// What the host is and how it is set.
    pub facts: HostFacts,
    /// What the host takes away; `None` where no spin was asked for.
    pub noise: Option<Noise>,
    /// One entry a check that had something to judge.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// The worst mark of all findings.
    pub fn worst(&self) -> Mark {
        let marks = self.findings.iter().map(|finding| finding.mark);
        marks.max().unwrap_or(Mark::Fine)
    }
}

/// Looks at the host of `tree`. The noise floor is that of the real host, measured for `spin` on up to
/// four of the allowed CPUs at a time; with a `spin` of zero nothing is measured. Of the network interfaces
/// the one that leads to `server` is looked at, or all where none is named.
pub fn examine(tree: &Tree, spin: Duration, server: Option<SocketAddr>) -> Checkup {
    // The facts first: the spin itself raises load and pressure.
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

    /// Asserts mark and value of the finding that `check` makes of these facts.
    pub(super) fn check_facts(check: Check, facts: HostFacts, mark: Mark, value: &str) -> Finding {
        let evidence = Evidence { facts, noise: None };
        let finding = check(&evidence).expect("something to judge");
        assert_eq!((finding.mark, finding.value.as_str()), (mark, value));
        finding
    }

    #[test]
    fn the_worst_finding_marks_the_host() {
        assert!(Mark::Fine < Mark::Mind && Mark::Mind < Mark::Unfit);
        let one_cpu = FakeTree::new(&[("sys/devices/system/cpu/online", "0")]);
        let checkup = examine(&one_cpu.tree(), Duration::ZERO, None);
        assert_eq!(checkup.worst(), Mark::Unfit);
        assert_eq!(checkup.noise, None);
    }

    #[test]
    fn each_finding_has_a_name_of_its_own_and_says_why() {
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
    fn a_host_that_tells_nothing_is_no_reason_to_panic() {
        let checkup = examine(&Tree::new("/nowhere/at/all"), Duration::ZERO, None);
        assert_eq!(checkup.worst(), Mark::Unfit, "no CPU is known");
    }

    #[test]
    fn the_way_to_a_server_on_this_host_is_loopback() {
        let server = "127.0.0.1:11211".parse().ok();
        let facts = examine(&Tree::new("/nowhere/at/all"), Duration::ZERO, server).facts;
        assert_eq!(facts.nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>(), ["lo"]);
    }

    #[test]
    fn json_has_the_keys_that_readers_were_promised() {
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
