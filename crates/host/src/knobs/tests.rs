use std::path::PathBuf;

use super::*;
use crate::fake_tree::FakeTree;

struct Host {
    fake: FakeTree,
    journal: PathBuf,
}

impl Host {
    fn new() -> Self {
        let fake = FakeTree::new(&[
            ("proc/sys/kernel/random/boot_id", "6f2f\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/net/ipv4/tcp_autocorking", "1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors", "performance powersave\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "not a processor's\n"),
            ("sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000,00000000\n"),
            ("sys/class/net/eth0/queues/rx-1/rps_cpus", "00000000,00000000\n"),
            ("sys/class/net/lo/queues/rx-0/rps_cpus", "0\n"),
        ]);
        let journal = fake.path().join("journal");
        Self { fake, journal }
    }

    fn knobs(&self) -> Knobs {
        Knobs::new(self.fake.tree(), &self.journal)
    }

    fn read(&self, path: &str) -> String {
        self.fake.tree().text(path).unwrap()
    }
}

#[test]
fn knobs_are_listed_with_what_they_are_and_why_they_are_not() {
    let all = Host::new().knobs().list().unwrap();
    let value = |name: &str| all.iter().find(|knob| knob.name == name).expect(name).value.clone();
    assert_eq!(value("thp").as_deref(), Some("madvise"));
    assert_eq!(value("turbo").as_deref(), Some("on"));
    assert_eq!(value("governor").as_deref(), Some("powersave"));
    assert_eq!(value("rps@eth0").as_deref(), Some("0"));
    assert_eq!(value("rps@lo").as_deref(), Some("0"));
    let boost = all.iter().find(|knob| knob.name == "boost").unwrap();
    assert!(boost.value.is_none() && boost.missing.as_deref().unwrap().contains("virtual machines"));
    let thp = all.iter().find(|knob| knob.name == "thp").unwrap();
    assert_eq!(thp.choices, ["always", "madvise", "never"]);
}

#[test]
fn a_knob_of_many_files_is_set_in_all_and_put_back_in_all() {
    let host = Host::new();
    let knobs = host.knobs();
    let set = knobs.set("governor", "performance", None).unwrap();
    assert_eq!((set.value.as_deref(), set.found.as_deref()), (Some("performance"), Some("powersave")));
    knobs.set("turbo", "off", None).unwrap();
    knobs.set("rps@eth0", "3", None).unwrap();
    assert_eq!(host.read("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"), "performance");
    assert_eq!(host.read("sys/devices/system/cpu/cpufreq/policy0/scaling_governor"), "not a processor's");
    assert_eq!(host.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "1");
    assert_eq!(host.read("sys/class/net/lo/queues/rx-0/rps_cpus"), "0");
    // Somebody else puts it back: the journal is all there is.
    let done = host.knobs().restore().unwrap();
    assert_eq!(done.len(), 5);
    assert!(done.iter().all(|one| one.failure.is_none()), "{done:?}");
    assert_eq!(host.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "powersave");
    assert_eq!(host.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "0");
    assert_eq!(host.read("sys/class/net/eth0/queues/rx-1/rps_cpus"), "0");
    assert!(host.knobs().restore().unwrap().is_empty());
}

#[test]
fn what_was_found_first_is_what_comes_back() {
    let host = Host::new();
    for value in ["10", "90", "10"] {
        host.knobs().set("swappiness", value, None).unwrap();
    }
    assert_eq!(host.knobs().get("swappiness").unwrap().found.as_deref(), Some("60"));
    host.knobs().restore().unwrap();
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_is_journalled() {
    let host = Host::new();
    let check = |name: &str, value: &str, words: &str| {
        let failure = host.knobs().set(name, value, None).unwrap_err().to_string();
        assert!(failure.contains(words), "{failure}");
        assert!(host.knobs().journal.entries().unwrap().is_empty());
    };
    check("swapiness", "10", "there is no knob \"swapiness\"");
    check("boost", "on", "no frequency scaling here");
    check("governor", "turbo", "only performance, powersave");
    check("thp", "sometimes", "only always, madvise, never");
}

#[test]
fn a_value_that_does_not_stay_is_taken_back() {
    let host = Host::new();
    // A mask of digits that are none is written as it is, and never reads as a mask.
    let failure = host.knobs().set("rps@eth0", "both", None).unwrap_err();
    assert!(matches!(failure, KnobError::Differs { .. }), "{failure}");
    assert_eq!(host.read("sys/class/net/eth0/queues/rx-0/rps_cpus"), "0");
    assert!(host.knobs().journal.entries().unwrap().is_empty());
}

#[test]
fn changes_of_an_earlier_boot_are_forgotten() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    host.fake.write("proc/sys/kernel/random/boot_id", b"7a01\n");
    assert!(host.knobs().restore().unwrap().is_empty());
    assert_eq!(host.read("proc/sys/vm/swappiness"), "10");
}

#[test]
fn a_journal_that_a_crash_cut_off_is_read_up_to_there() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    let path = host.journal.join("knobs.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"schema\":\"hindmost.knobs/1\",\"boot\":\"6f2f\",\"kno");
    std::fs::write(&path, text).unwrap();
    assert_eq!(host.knobs().restore().unwrap().len(), 1);
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
}
