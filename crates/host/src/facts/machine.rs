use super::HostFacts;
use crate::tree::field;
use crate::Tree;

const DMI: &str = "sys/class/dmi/id";

/// Words that occur only in the DMI vendor or product name of virtual machines, with the hypervisor's name. Amazon
/// is absent because its bare-metal machines have the same name.
const DMI_NAMES: [(&str, &str); 9] = [
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("OpenStack", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("Virtual Machine", "hyperv"),
];

/// Clock sources that only guests of that hypervisor have.
const CLOCK_NAMES: [(&str, &str); 3] = [("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen")];

impl HostFacts {
    /// Add processor and hypervisor. It does not use `cpuid`, so that a fake tree can describe any machine.
    /// Call it after the clock sources are known.
    pub(super) fn add_machine(&mut self, tree: &Tree) {
        let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
        self.cpu_model = ["model name", "Model", "cpu model", "cpu"]
            .iter()
            .find_map(|key| field(&cpuinfo, key, ':'))
            .filter(|name| !name.is_empty())
            .map(str::to_owned);

        let name = name(tree, &self.clocksources_available);
        // On x86 the `hypervisor` flag decides; on other architectures only a name is available.
        let flags = field(&cpuinfo, "flags", ':');
        self.is_virtual =
            flags.map_or(name.is_some(), |flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
        self.hypervisor = match (self.is_virtual, name) {
            (false, _) => "none".to_owned(),
            (true, None) => "unknown".to_owned(),
            (true, Some(name)) => name,
        };
    }
}

fn name(tree: &Tree, clocks: &[String]) -> Option<String> {
    let by_clock = || {
        let known = |(prefix, _): &&(&str, &str)| clocks.iter().any(|clock| clock.starts_with(prefix));
        CLOCK_NAMES.iter().find(known).map(|(_, name)| (*name).to_owned())
    };
    let by_dmi = || {
        let maker = tree.text(&format!("{DMI}/sys_vendor")).unwrap_or_default();
        let product = tree.text(&format!("{DMI}/product_name")).unwrap_or_default();
        let known = |(word, _): &&(&str, &str)| maker.contains(word) || product.contains(word);
        DMI_NAMES.iter().find(known).map(|(_, name)| (*name).to_owned())
    };
    // Device trees of ARM and POWER guests have the node `hypervisor` (devicetree specification).
    let by_devicetree = || {
        tree.non_empty_text("proc/device-tree/hypervisor/compatible")
            .map(|text| text.trim_end_matches('\0').to_owned())
    };
    tree.non_empty_text("sys/hypervisor/type").or_else(by_clock).or_else(by_dmi).or_else(by_devicetree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn a_hypervisor_is_detected_by_flag_and_named_by_its_devices() {
        let check = |files: &[(&str, &str)], is_virtual: bool, name: &str| {
            let facts = HostFacts::read(&FakeTree::new(files).tree());
            assert_eq!((facts.is_virtual, facts.hypervisor.as_str()), (is_virtual, name), "{files:?}");
        };
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let guest = ("proc/cpuinfo", "flags\t\t: fpu tsc hypervisor lahf_lm\n");
        let metal = ("proc/cpuinfo", "flags\t\t: fpu tsc lahf_lm\n");
        check(&[guest, (clocks, "tsc kvm-clock \n")], true, "kvm");
        check(&[guest, (clocks, "hyperv_clocksource_tsc_page acpi_pm\n")], true, "hyperv");
        check(&[guest, ("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n")], true, "vmware");
        check(&[guest, ("sys/hypervisor/type", "xen\n")], true, "xen");
        check(&[guest], true, "unknown");
        check(&[metal], false, "none");
        check(&[metal, ("sys/class/dmi/id/sys_vendor", "QEMU\n")], false, "none");
        check(&[("sys/class/dmi/id/product_name", "KVM Virtual Machine\n")], true, "kvm");
        check(&[("proc/device-tree/hypervisor/compatible", "linux,kvm\0")], true, "linux,kvm");
        check(&[], false, "none");
    }

    #[test]
    fn the_processor_name_is_read_from_cpuinfo() {
        let check = |cpuinfo: &str, expected: Option<&str>| {
            let facts = HostFacts::read(&FakeTree::new(&[("proc/cpuinfo", cpuinfo)]).tree());
            assert_eq!(facts.cpu_model.as_deref(), expected);
        };
        check("model\t\t: 207\nmodel name\t: Some(R) Processor\n", Some("Some(R) Processor"));
        check("processor : 0\nModel : Board 4\n", Some("Board 4"));
        check("processor : 0\nCPU implementer : 0x41\n", None);
    }
}
