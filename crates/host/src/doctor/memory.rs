use super::format::{memory, percent};
use super::{Evidence, Finding, Mark};

/// The kernel reclaims in the background below a few percent. From 10 % on, loading a server with keys reaches that
/// point within a run.
const LITTLE_AVAILABLE: f64 = 0.1;

/// 1 % of the memory is swapped out: one page access in a hundred may wait for a disk.
const MUCH_SWAPPED: f64 = 0.01;

/// Check the available memory.
pub(super) fn available(evidence: &Evidence) -> Option<Finding> {
    let total = evidence.facts.memory_bytes?;
    let left = evidence.facts.memory_available_bytes?;
    let share = left as f64 / total.max(1) as f64;
    let mark = if share < LITTLE_AVAILABLE { Mark::Note } else { Mark::Fine };
    let value = format!("{} of {} ({})", memory(left), memory(total), percent(share));
    let why =
        "a request that needs a page when none is free must reclaim one, which takes a millisecond or more";
    let finding = Finding::new("memory", "Memory available", mark, value, why);
    Some(finding.hint("find the largest processes: ps -eo pid,rss,comm --sort=-rss | head"))
}

/// Check the swapped-out memory.
pub(super) fn swap(evidence: &Evidence) -> Option<Finding> {
    let used = evidence.facts.swap_used_bytes?;
    let total = evidence.facts.memory_bytes?;
    let share = used as f64 / total.max(1) as f64;
    let mark = if share > MUCH_SWAPPED { Mark::Note } else { Mark::Fine };
    let value = format!("{} in use", memory(used));
    let why = "a request that touches a swapped page waits for a disk, 0.1 to 10 ms";
    let finding = Finding::new("swap", "Swap", mark, value, why);
    Some(finding.hint("sudo swapoff -a && sudo swapon -a"))
}

/// Check whether the kernel may turn any memory into huge pages.
pub(super) fn transparent_hugepages(evidence: &Evidence) -> Option<Finding> {
    let setting = evidence.facts.transparent_hugepages.as_deref()?;
    let (mark, why) = if setting == "always" {
        let why = "a page fault may clear or compact 2 MiB at once, and khugepaged moves pages while the \
                   server runs: faster on average, but with rare pauses of 0.1 ms or more";
        (Mark::Note, why)
    } else {
        (Mark::Fine, "only programs that request huge pages have the pauses of creating them")
    };
    let finding = Finding::new("transparent_hugepages", "Transparent huge pages", mark, setting, why);
    Some(finding.hint("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"))
}

/// Check whether the kernel moves pages between NUMA nodes; irrelevant with one node.
pub(super) fn numa_balancing(evidence: &Evidence) -> Option<Finding> {
    let nodes = evidence.facts.numa_nodes;
    if nodes < 2 {
        return None;
    }
    let (mark, value, why) = if evidence.facts.numa_balancing? {
        let why = "the kernel unmaps pages to find their users and moves them to another node: requests \
                   cause extra page faults, and runs differ in the placement of pages";
        (Mark::Note, format!("on, {nodes} nodes"), why)
    } else {
        (Mark::Fine, format!("off, {nodes} nodes"), "pages stay where they were first used")
    };
    let finding = Finding::new("numa_balancing", "NUMA balancing", mark, value, why);
    Some(finding.hint("sudo sysctl -w kernel.numa_balancing=0"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::HostFacts;

    #[test]
    fn little_memory_and_much_swap_are_warnings() {
        let with = |left: u64, swapped: u64| HostFacts {
            memory_bytes: Some(8 << 30),
            memory_available_bytes: Some(left),
            swap_used_bytes: Some(swapped),
            ..HostFacts::default()
        };
        check_facts(available, with(4 << 30, 0), Mark::Fine, "4.0 GiB of 8.0 GiB (50 %)");
        check_facts(available, with(512 << 20, 0), Mark::Note, "512 MiB of 8.0 GiB (6.2 %)");
        check_facts(swap, with(0, 0), Mark::Fine, "0 MiB in use");
        check_facts(swap, with(0, 1 << 30), Mark::Note, "1.0 GiB in use");
        assert_eq!(available(&Evidence::default()), None);
        assert_eq!(swap(&Evidence::default()), None);
    }

    #[test]
    fn huge_pages_for_all_programs_are_a_warning() {
        for (setting, mark) in [("always", Mark::Note), ("madvise", Mark::Fine), ("never", Mark::Fine)] {
            let facts = HostFacts { transparent_hugepages: Some(setting.to_owned()), ..HostFacts::default() };
            check_facts(transparent_hugepages, facts, mark, setting);
        }
    }

    #[test]
    fn numa_balancing_matters_from_two_nodes_on() {
        let with =
            |numa_nodes, on| HostFacts { numa_nodes, numa_balancing: Some(on), ..HostFacts::default() };
        check_facts(numa_balancing, with(2, true), Mark::Note, "on, 2 nodes");
        check_facts(numa_balancing, with(2, false), Mark::Fine, "off, 2 nodes");
        assert_eq!(numa_balancing(&Evidence { facts: with(1, true), noise: None }), None);
    }
}
