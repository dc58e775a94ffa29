//! Finds the files of a setting on this host.

use hindmost_host::Tree;

/// Files, each with the device that it belongs to.
pub(crate) type Files = Vec<(Option<String>, String)>;

/// Return the existing files of a pattern: the device that `@` stands for, and the path.
pub(crate) fn files(tree: &Tree, pattern: &str) -> Files {
    let mut found = vec![(None, String::new())];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for (device, folder) in found {
            let path =
                |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match part.split_once(['*', '@']) {
                None => next.push((device.clone(), path(part))),
                Some((before, after)) => {
                    let fits = |name: &&String| name.starts_with(before) && name.ends_with(after);
                    // `cpu*` matches CPUs only, not cpufreq and cpuidle.
                    let number = |name: &&String| {
                        !part.contains('*') || name[before.len()..].bytes().all(|b| b.is_ascii_digit())
                    };
                    for name in tree.names(&folder).iter().filter(fits).filter(number) {
                        let device = if part.contains('@') { Some(name.clone()) } else { device.clone() };
                        next.push((device, path(name)));
                    }
                }
            }
        }
        found = next;
    }
    found.retain(|(_, file)| tree.text(file).is_some());
    found
}

/// Return the interrupts of each network interface: of its device, or of the bus device behind a virtio device.
pub(crate) fn interrupts(tree: &Tree, _: &str) -> Files {
    let mut found = Vec::new();
    for interface in tree.names("sys/class/net") {
        let device = format!("sys/class/net/{interface}/device");
        let behind = tree
            .non_empty_text(&format!("{device}/modalias"))
            .is_some_and(|text| text.starts_with("virtio:"));
        let folder = if behind { format!("{device}/../msi_irqs") } else { format!("{device}/msi_irqs") };
        for number in tree.numbers(&folder, "") {
            let file = format!("proc/irq/{number}/smp_affinity_list");
            if tree.text(&file).is_some() {
                found.push((Some(interface.clone()), file));
            }
        }
    }
    found
}

/// Return the CPUs that a word stands for. `all`: the online CPUs, taking one from each node in turn; `node`: the
/// CPUs of the device's node; `one`: the first of those. `None` for other words.
pub(crate) fn processors(tree: &Tree, file: &str, device: Option<&str>, word: &str) -> Option<Vec<u32>> {
    let list = |path: &str| hindmost_host::cpulist::parse(&tree.non_empty_text(path)?);
    let all = || {
        let nodes = tree.numbers("sys/devices/system/node", "node");
        let of = |node| list(&format!("sys/devices/system/node/node{node}/cpulist")).unwrap_or_default();
        let nodes: Vec<Vec<u32>> = nodes.into_iter().map(of).collect();
        let online = list("sys/devices/system/cpu/online")?;
        let deepest = nodes.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..deepest).flat_map(|at| nodes.iter().filter_map(move |cpus| cpus.get(at).copied()));
        let in_turn: Vec<u32> = in_turn.filter(|cpu| online.contains(cpu)).collect();
        Some(if in_turn.len() == online.len() { in_turn } else { online })
    };
    let node = || {
        // An interrupt knows its node, and so does an interface's device or its parent.
        let sibling = file.rsplit_once('/').map(|(folder, _)| format!("{folder}/node"));
        let device = device.map(|name| format!("sys/class/net/{name}/device"));
        let above = device.as_ref().map(|path| format!("{path}/../numa_node"));
        let places = [sibling, device.map(|path| format!("{path}/numa_node")), above];
        let number = places.into_iter().flatten().find_map(|path| tree.value::<u32>(&path));
        number.and_then(|number| list(&format!("sys/devices/system/node/node{number}/cpulist"))).or_else(all)
    };
    match word {
        "all" => all(),
        "node" => node(),
        "one" => node().map(|cpus| cpus.into_iter().take(1).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_host::FakeTree;

    #[test]
    fn interrupts_of_an_interface_belong_to_its_device() {
        let fake = FakeTree::new(&[
            ("sys/class/net/eth0/device/msi_irqs/40", "msix"),
            ("sys/class/net/eth0/device/msi_irqs/41", "msix"),
            ("sys/class/net/eth1/device/modalias", "virtio:d00000001v00001AF4"),
            ("sys/class/net/eth1/msi_irqs/50", "msix"),
            ("sys/class/net/lo/mtu", "65536"),
            ("proc/irq/40/smp_affinity_list", "0"),
            ("proc/irq/50/smp_affinity_list", "0"),
        ]);
        let of =
            |name: &str, number: u32| (Some(name.to_owned()), format!("proc/irq/{number}/smp_affinity_list"));
        assert_eq!(interrupts(&fake.tree(), ""), [of("eth0", 40), of("eth1", 50)]);
    }

    #[test]
    fn words_stand_for_cpus_of_the_devices_node() {
        let fake = FakeTree::new(&[
            ("sys/devices/system/cpu/online", "0-7"),
            ("sys/devices/system/node/node0/cpulist", "0-3"),
            ("sys/devices/system/node/node1/cpulist", "4-7"),
            ("sys/class/net/eth0/device/numa_node", "1"),
            ("sys/class/net/eth1/device/numa_node", "-1"),
            ("proc/irq/40/node", "1"),
        ]);
        let check = |file: &str, device: Option<&str>, word: &str, expected: Option<&[u32]>| {
            assert_eq!(
                processors(&fake.tree(), file, device, word).as_deref(),
                expected,
                "{device:?} {word}"
            );
        };
        check("x/y", Some("eth0"), "all", Some(&[0, 4, 1, 5, 2, 6, 3, 7]));
        check("x/y", Some("eth0"), "node", Some(&[4, 5, 6, 7]));
        check("x/y", Some("eth0"), "one", Some(&[4]));
        check("x/y", Some("eth1"), "one", Some(&[0]));
        check("proc/irq/40/smp_affinity_list", None, "node", Some(&[4, 5, 6, 7]));
        check("x/y", None, "0-3", None);
    }
}
