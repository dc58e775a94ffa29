use schemars::JsonSchema;
use serde::Serialize;

use super::HostFacts;
use crate::tree::field;
use crate::Tree;

/// Capabilities that Hindmost can use, with their bits (include/uapi/linux/capability.h).
const CAPABILITIES: [(&str, u32); 8] = [
    ("CAP_NET_ADMIN", 12),
    ("CAP_IPC_LOCK", 14),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_NICE", 23),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// Where the kernel lists a CPU's hardware counters: x86, x86 with two kinds of core; ARM's names vary.
const COUNTERS: &str = "sys/bus/event_source/devices";

/// A range of local ports, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PortRange {
    /// Lowest port.
    pub first: u16,
    /// Highest port.
    pub last: u16,
}

impl PortRange {
    /// Return the number of ports.
    pub fn count(self) -> u32 {
        u32::from(self.last.saturating_sub(self.first)) + 1
    }
}

impl HostFacts {
    /// Add the rights of this process, and the limits that servers inherit from it.
    pub(super) fn add_process(&mut self, tree: &Tree) {
        self.timer_slack_ns = tree.value("proc/self/timerslack_ns");
        self.is_root =
            status(tree, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok()) == Some(0);
        let effective =
            status(tree, "CapEff").and_then(|text| u64::from_str_radix(&text, 16).ok()).unwrap_or(0);
        self.capabilities = CAPABILITIES
            .iter()
            .filter(|(_, bit)| effective >> bit & 1 == 1)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        self.perf_event_paranoid = tree.value("proc/sys/kernel/perf_event_paranoid");
        self.hardware_counters = tree.names(COUNTERS).iter().any(|name| {
            name == "cpu" || name == "cpu_core" || name.starts_with("armv") && name.contains("pmu")
        });
        let limits = tree.text("proc/self/limits").unwrap_or_default();
        let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let mut files = files.unwrap_or_default().split_whitespace().map(|word| word.parse().ok());
        self.open_files_limit = files.next().flatten();
        self.open_files_hard_limit = files.next().flatten();
        self.local_ports = tree.text("proc/sys/net/ipv4/ip_local_port_range").and_then(|text| {
            let (first, last) = text.split_once(char::is_whitespace)?;
            Some(PortRange { first: first.trim().parse().ok()?, last: last.trim().parse().ok()? })
        });
        self.somaxconn = tree.value("proc/sys/net/core/somaxconn");
    }
}

/// Return a field of the calling thread's `status` file.
pub(super) fn status(tree: &Tree, key: &str) -> Option<String> {
    ["proc/thread-self/status", "proc/self/status"]
        .iter()
        .filter_map(|path| tree.text(path))
        .find_map(|text| field(&text, key, ':').map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn effective_privileges_count() {
        let check = |status: &str, is_root: bool, capabilities: &[&str]| {
            let facts = HostFacts::read(&FakeTree::new(&[("proc/self/status", status)]).tree());
            assert_eq!(facts.is_root, is_root, "{status:?}");
            assert_eq!(facts.capabilities, capabilities, "{status:?}");
        };
        check("Uid:\t1000\t0\t0\t0\nCapEff:\t0000000000800000\n", true, &["CAP_SYS_NICE"]);
        check("Uid:\t0\t1000\t0\t0\nCapEff:\t000000c000000000\n", false, &["CAP_PERFMON", "CAP_BPF"]);
        check("Uid:\t0\nCapEff:\tzz\n", false, &[]);
        check("", false, &[]);
    }

    #[test]
    fn the_calling_threads_affinity_takes_precedence_over_its_process() {
        let fake = FakeTree::new(&[
            ("proc/self/status", "Cpus_allowed_list:\t0-7\n"),
            ("proc/thread-self/status", "Cpus_allowed_list:\t2-3\n"),
        ]);
        assert_eq!(HostFacts::read(&fake.tree()).cpus_allowed, [2, 3]);
    }

    #[test]
    fn limits_and_ports_are_read() {
        let fake = FakeTree::new(&[
            (
                "proc/self/limits",
                "Limit          Soft Limit   Hard Limit   Units\n\
                 Max open files            1024                 unlimited              files\n",
            ),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("sys/bus/event_source/devices/armv8_pmuv3_0/type", "8"),
        ]);
        let facts = HostFacts::read(&fake.tree());
        assert_eq!(facts.open_files_limit, Some(1024));
        assert_eq!(facts.open_files_hard_limit, None);
        assert_eq!(facts.local_ports.unwrap().count(), 28_232);
        assert_eq!(facts.somaxconn, Some(4096));
        assert!(facts.hardware_counters);
    }
}
