use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::HostFacts;
use crate::Tree;

const CPUS: &str = "sys/devices/system/cpu";

/// An idle state of a CPU (C-state).
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Time to wake from it, in microseconds.
    pub exit_us: u64,
}

impl HostFacts {
    /// Add frequency, turbo, SMT and idle states. Call it after the topology is known.
    pub(super) fn add_power(&mut self, tree: &Tree) {
        self.governor = governor(tree);
        self.turbo = turbo(tree);
        self.smt = tree.flag(&format!("{CPUS}/smt/active")).or((self.threads_per_core > 1).then_some(true));
        self.deepest_idle = deepest_idle(tree);
    }
}

fn governor(tree: &Tree) -> Option<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for cpu in tree.numbers(CPUS, "cpu") {
        if let Some(name) = tree.non_empty_text(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor")) {
            *counts.entry(name).or_default() += 1;
        }
    }
    if counts.len() < 2 {
        return counts.into_keys().next();
    }
    let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    Some(parts.join(", "))
}

/// Return the turbo setting; Intel's `no_turbo` takes precedence over `boost` of other drivers.
fn turbo(tree: &Tree) -> Option<bool> {
    tree.flag(&format!("{CPUS}/intel_pstate/no_turbo"))
        .map(|off| !off)
        .or_else(|| tree.flag(&format!("{CPUS}/cpufreq/boost")))
}

/// Return the enabled state with the longest exit latency, on the first CPU that has any.
fn deepest_idle(tree: &Tree) -> Option<IdleState> {
    let folder = tree
        .numbers(CPUS, "cpu")
        .into_iter()
        .map(|cpu| format!("{CPUS}/cpu{cpu}/cpuidle"))
        .find(|folder| !tree.numbers(folder, "state").is_empty())?;
    tree.numbers(&folder, "state")
        .into_iter()
        .map(|state| format!("{folder}/state{state}"))
        .filter(|state| tree.flag(&format!("{state}/disable")) != Some(true))
        .filter_map(|state| {
            Some(IdleState {
                name: tree.non_empty_text(&format!("{state}/name"))?,
                exit_us: tree.value(&format!("{state}/latency"))?,
            })
        })
        .max_by_key(|state| state.exit_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    fn facts(files: &[(&str, &str)]) -> HostFacts {
        HostFacts::read(&FakeTree::new(files).tree())
    }

    #[test]
    fn different_governors_are_counted() {
        let path = |cpu: u32| format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor");
        let check = |names: &[&str], expected: Option<&str>| {
            let fake = FakeTree::new(&[]);
            for (cpu, name) in (0..).zip(names) {
                fake.write(&path(cpu), name.as_bytes());
            }
            assert_eq!(HostFacts::read(&fake.tree()).governor.as_deref(), expected);
        };
        check(&["performance\n", "performance\n"], Some("performance"));
        check(&["powersave\n", "performance\n", "powersave\n"], Some("performance (1), powersave (2)"));
        check(&["\n"], None);
        check(&[], None);
    }

    #[test]
    fn turbo_is_read_from_either_driver() {
        let intel = format!("{CPUS}/intel_pstate/no_turbo");
        let boost = format!("{CPUS}/cpufreq/boost");
        assert_eq!(facts(&[(&intel, "0\n")]).turbo, Some(true));
        assert_eq!(facts(&[(&intel, "1\n"), (&boost, "1\n")]).turbo, Some(false));
        assert_eq!(facts(&[(&boost, "1\n")]).turbo, Some(true));
        assert_eq!(facts(&[(&boost, "on\n")]).turbo, None);
        assert_eq!(facts(&[]).turbo, None);
    }

    #[test]
    fn smt_is_read_from_its_switch_or_from_siblings() {
        let switch = format!("{CPUS}/smt/active");
        let online = (format!("{CPUS}/online"), "0-1");
        let sibling = (format!("{CPUS}/cpu0/topology/core_cpus_list"), "0-1");
        assert_eq!(facts(&[(&switch, "1\n")]).smt, Some(true));
        assert_eq!(facts(&[(&switch, "0\n")]).smt, Some(false));
        assert_eq!(facts(&[(&online.0, online.1), (&sibling.0, sibling.1)]).smt, Some(true));
        assert_eq!(facts(&[(&online.0, online.1)]).smt, None);
    }

    #[test]
    fn a_disabled_idle_state_does_not_count() {
        let state = |number: u32, name: &str| format!("{CPUS}/cpu0/cpuidle/state{number}/{name}");
        let fake = FakeTree::new(&[
            (&state(0, "name"), "POLL"),
            (&state(0, "latency"), "0"),
            (&state(1, "name"), "C1E"),
            (&state(1, "latency"), "10"),
            (&state(1, "disable"), "0"),
            (&state(2, "name"), "C6"),
            (&state(2, "latency"), "133"),
        ]);
        let deepest = |fake: &FakeTree| HostFacts::read(&fake.tree()).deepest_idle;
        let c6 = IdleState { name: "C6".to_owned(), exit_us: 133 };
        assert_eq!(deepest(&fake), Some(c6));
        fake.write(&state(2, "disable"), b"1\n");
        let c1e = IdleState { name: "C1E".to_owned(), exit_us: 10 };
        assert_eq!(deepest(&fake), Some(c1e));
    }
}
