use std::collections::BTreeSet;

use serde::Serialize;

use crate::{cpulist, Tree};

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// One logical CPU and its position. In a virtual machine this is what the hypervisor claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Number of the CPU, as used for pinning.
    pub id: u32,
    /// Number of its core, unique within a socket.
    pub core: Option<u32>,
    /// Number of its socket (physical package).
    pub socket: Option<u32>,
    /// Number of its NUMA node.
    pub node: Option<u32>,
    /// All logical CPUs of the same core, including itself.
    pub siblings: Vec<u32>,
}

/// The online logical CPUs, by ascending number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// One entry per online CPU.
    pub cpus: Vec<Cpu>,
}

impl Topology {
    /// Read `/sys/devices/system/cpu`; if it is missing, `/proc/stat` still lists the CPUs.
    pub fn read(tree: &Tree) -> Self {
        let nodes: Vec<(u32, Vec<u32>)> = tree
            .numbers(NODES, "node")
            .into_iter()
            .filter_map(|node| {
                let text = tree.text(&format!("{NODES}/node{node}/cpulist"))?;
                Some((node, cpulist::parse(&text)?))
            })
            .collect();
        let cpus = online(tree)
            .into_iter()
            .map(|id| Cpu {
                id,
                core: tree.value(&format!("{CPUS}/cpu{id}/topology/core_id")),
                socket: tree.value(&format!("{CPUS}/cpu{id}/topology/physical_package_id")),
                node: nodes.iter().find_map(|(node, cpus)| cpus.contains(&id).then_some(*node)),
                siblings: siblings(tree, id),
            })
            .collect();
        Self { cpus }
    }

    /// Return the number of sockets with an online CPU; 1 if unknown.
    pub fn sockets(&self) -> usize {
        let sockets: BTreeSet<_> = self.cpus.iter().filter_map(|cpu| cpu.socket).collect();
        sockets.len().max(1)
    }

    /// Return the number of physical cores with an online CPU.
    pub fn cores(&self) -> usize {
        let cores: BTreeSet<_> = self.cpus.iter().map(|cpu| &cpu.siblings).collect();
        cores.len()
    }

    /// Return the most online CPUs of one core; 1 if unknown.
    pub fn threads_per_core(&self) -> usize {
        let threads = self.cpus.iter().map(|cpu| cpu.siblings.len());
        threads.max().unwrap_or(1)
    }

    /// Return the number of NUMA nodes with an online CPU; 1 if unknown.
    pub fn nodes(&self) -> usize {
        let nodes: BTreeSet<_> = self.cpus.iter().filter_map(|cpu| cpu.node).collect();
        nodes.len().max(1)
    }
}

fn online(tree: &Tree) -> Vec<u32> {
    let listed =
        tree.text(&format!("{CPUS}/online")).and_then(|text| cpulist::parse(&text)).unwrap_or_default();
    if !listed.is_empty() {
        return listed;
    }
    let stat = tree.text("proc/stat").unwrap_or_default();
    stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok()).collect()
}

/// Return the siblings of a CPU: `core_cpus_list` (Linux 5.3 or newer), else `thread_siblings_list`, else the CPU
/// alone.
fn siblings(tree: &Tree, id: u32) -> Vec<u32> {
    ["core_cpus_list", "thread_siblings_list"]
        .iter()
        .filter_map(|name| tree.text(&format!("{CPUS}/cpu{id}/topology/{name}")))
        .filter_map(|text| cpulist::parse(&text))
        .find(|cpus| cpus.contains(&id))
        .unwrap_or_else(|| vec![id])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    /// Create two sockets with two cores of two threads, numbered as in Linux: 0-3 first threads, 4-7 second.
    fn two_sockets() -> FakeTree {
        let fake = FakeTree::new(&[
            ("sys/devices/system/cpu/online", "0-7\n"),
            ("sys/devices/system/node/node0/cpulist", "0-1,4-5\n"),
            ("sys/devices/system/node/node1/cpulist", "2-3,6-7\n"),
            ("sys/devices/system/node/online", "0-1\n"),
        ]);
        for id in 0..8 {
            let first = id % 4;
            let folder = format!("sys/devices/system/cpu/cpu{id}/topology");
            for (name, content) in [
                ("core_id", format!("{}\n", first % 2)),
                ("physical_package_id", format!("{}\n", first / 2)),
                ("thread_siblings_list", format!("{first},{}\n", first + 4)),
            ] {
                fake.write(&format!("{folder}/{name}"), content.as_bytes());
            }
        }
        fake
    }

    #[test]
    fn equal_core_numbers_on_two_sockets_are_two_cores() {
        let fake = two_sockets();
        let topology = Topology::read(&fake.tree());
        assert_eq!(topology.cpus.len(), 8);
        assert_eq!(topology.sockets(), 2);
        assert_eq!(topology.cores(), 4);
        assert_eq!(topology.threads_per_core(), 2);
        assert_eq!(topology.nodes(), 2);
        let cpu6 = Cpu { id: 6, core: Some(0), socket: Some(1), node: Some(1), siblings: vec![2, 6] };
        assert_eq!(topology.cpus[6], cpu6);
    }

    #[test]
    fn without_sysfs_every_cpu_is_a_separate_core() {
        let fake = FakeTree::new(&[("proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2\nintr 5\n")]);
        let topology = Topology::read(&fake.tree());
        assert_eq!(topology.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>(), [0, 1]);
        assert_eq!((topology.cores(), topology.sockets()), (2, 1));
        assert_eq!(topology.cpus[0].socket, None);
    }

    #[test]
    fn garbage_is_read_as_absent() {
        let fake = two_sockets();
        fake.write("sys/devices/system/cpu/cpu1/topology/core_id", b"\xff\xfe");
        fake.write("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", b"7-1");
        fake.write("sys/devices/system/node/node1/cpulist", b"many");
        let topology = Topology::read(&fake.tree());
        assert_eq!(topology.cpus[1].core, None);
        assert_eq!(topology.cpus[1].siblings, [1]);
        assert_eq!(topology.cpus[2].node, None);
        assert_eq!(Topology::read(&Tree::new("/nowhere/at/all")), Topology::default());
    }
}
