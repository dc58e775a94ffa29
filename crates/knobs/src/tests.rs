use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::changes::Restorer;
use hindmost_host::FakeTree;

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
fn settings_are_listed_with_value_or_reason() {
    let all = Host::new().knobs().list().unwrap();
    let value = |name: &str| all.iter().find(|knob| knob.name == name).expect(name).value.clone();
    assert_eq!(value("thp").as_deref(), Some("madvise"));
    assert_eq!(value("turbo").as_deref(), Some("on"));
    assert_eq!(value("governor").as_deref(), Some("powersave"));
    assert_eq!(value("rps@eth0").as_deref(), Some("0"));
    assert_eq!(value("rps@lo").as_deref(), Some("0"));
    let boost = all.iter().find(|knob| knob.name == "boost").unwrap();
    assert!(boost.value.is_none() && boost.missing.is_some());
    let thp = all.iter().find(|knob| knob.name == "thp").unwrap();
    assert_eq!(thp.choices, ["always", "madvise", "never"]);
}

#[test]
fn a_setting_of_many_files_is_changed_and_restored_in_all() {
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
    // Another instance restores it: the journal is its only source.
    let done = host.knobs().restore().unwrap();
    assert_eq!(done.len(), 5);
    assert!(done.iter().all(|one| one.failure.is_none()), "{done:?}");
    assert_eq!(host.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "powersave");
    assert_eq!(host.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "0");
    assert_eq!(host.read("sys/class/net/eth0/queues/rx-1/rps_cpus"), "0");
    assert!(host.knobs().restore().unwrap().is_empty());
}

#[test]
fn the_first_original_value_is_restored() {
    let host = Host::new();
    for value in ["10", "90", "10"] {
        host.knobs().set("swappiness", value, None).unwrap();
    }
    assert_eq!(host.knobs().get("swappiness").unwrap().found.as_deref(), Some("60"));
    host.knobs().restore().unwrap();
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
}

#[test]
fn invalid_changes_are_refused_and_not_journalled() {
    let host = Host::new();
    let refused = |name: &str, value: &str| {
        let refused = host.knobs().set(name, value, None).unwrap_err();
        assert!(host.knobs().journal.entries().unwrap().is_empty());
        refused
    };
    assert!(matches!(refused("swapiness", "10"), KnobError::Unknown { name, .. } if name == "swapiness"));
    assert!(matches!(refused("boost", "on"), KnobError::Missing { name, .. } if name == "boost"));
    for (name, value, known) in [
        ("governor", "turbo", &["performance", "powersave"][..]),
        ("thp", "sometimes", &["always", "madvise", "never"]),
    ] {
        assert!(matches!(refused(name, value), KnobError::Value { choices, .. } if choices == known));
    }
}

#[test]
fn a_value_that_reads_back_differently_is_restored() {
    let host = Host::new();
    // The file accepts everything and is empty when it is read.
    let file = host.fake.path().join("sys/class/net/eth0/queues/rx-1/rps_cpus");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    let failure = host.knobs().set("rps@eth0", "3", None).unwrap_err();
    assert!(matches!(failure, KnobError::Differs { .. }), "{failure}");
    assert_eq!(host.read("sys/class/net/eth0/queues/rx-0/rps_cpus"), "0");
}

#[test]
fn cpus_can_be_named_by_words() {
    let host = Host::new();
    for (path, text) in [
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/node/node0/cpulist", "0-1"),
        ("sys/devices/system/node/node1/cpulist", "2-3"),
        ("sys/class/net/eth0/device/numa_node", "1"),
        ("sys/class/net/eth0/device/msi_irqs/40", "msix"),
        ("sys/class/net/eth0/device/msi_irqs/41", "msix"),
        ("proc/irq/40/smp_affinity_list", "0-3"),
        ("proc/irq/41/smp_affinity_list", "1"),
    ] {
        host.fake.write(path, text.as_bytes());
    }
    let check = |name: &str, value: &str, file: &str, written: &str| {
        host.knobs().set(name, value, None).unwrap();
        assert_eq!(host.read(file), written, "{name} {value}");
    };
    check("irqs@eth0", "node", "proc/irq/40/smp_affinity_list", "2");
    check("irqs@eth0", "node", "proc/irq/41/smp_affinity_list", "3");
    check("irqs@eth0", "all", "proc/irq/40/smp_affinity_list", "0");
    check("irqs@eth0", "all", "proc/irq/41/smp_affinity_list", "2");
    check("irq@41", "node", "proc/irq/41/smp_affinity_list", "0,2,1,3");
    check("irqs@eth0", "one", "proc/irq/40/smp_affinity_list", "2");
    check("irqs@eth0", "0-1", "proc/irq/40/smp_affinity_list", "0-1");
    check("rps@eth0", "all", "sys/class/net/eth0/queues/rx-1/rps_cpus", "0000000f");
    check("rps@eth0", "node", "sys/class/net/eth0/queues/rx-1/rps_cpus", "0000000c");
    host.knobs().restore().unwrap();
    assert_eq!(host.read("proc/irq/40/smp_affinity_list"), "0-3");
    assert_eq!(host.read("proc/irq/41/smp_affinity_list"), "1");
    assert_eq!(host.knobs().get("irqs@eth0").unwrap().value.as_deref(), Some("0-3, 1"));
}

#[test]
fn coalescing_and_offloads_have_ethtool_paths() {
    let host = Host::new();
    host.fake.write("ethtool/eth0/rx-usecs", b"8");
    host.fake.write("ethtool/eth0/gro", b"1");
    host.knobs().set("rx_usecs@eth0", "0", None).unwrap();
    host.knobs().set("gro@eth0", "off", None).unwrap();
    assert_eq!((host.read("ethtool/eth0/rx-usecs"), host.read("ethtool/eth0/gro")), ("0".into(), "0".into()));
    host.knobs().restore().unwrap();
    assert_eq!((host.read("ethtool/eth0/rx-usecs"), host.read("ethtool/eth0/gro")), ("8".into(), "1".into()));
    let lro = host.knobs().list().unwrap().into_iter().find(|knob| knob.name == "lro").unwrap();
    assert!(lro.missing.is_some());
}

#[test]
fn an_owner_restores_its_changes_and_others_see_them() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let gone = Owner { started: own.started + 1, ..own };
    host.knobs().set("swappiness", "10", None).unwrap();
    host.knobs().set("swappiness", "20", Some(own)).unwrap();
    let refused = host.knobs().set("swappiness", "30", Some(gone)).unwrap_err();
    assert!(matches!(refused, KnobError::Held { alive: true, .. }), "{refused}");
    assert!(host.knobs().recover().unwrap().is_empty());
    let restored = host.knobs().restore().unwrap();
    assert!(restored.iter().any(|one| one.failure.is_some()));
    host.knobs().undo("swappiness", own).unwrap();
    host.knobs().restore().unwrap();
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
    // The next process undoes changes of a dead owner before it reads values.
    host.knobs().set("swappiness", "40", Some(gone)).unwrap();
    host.knobs().set("swappiness", "50", Some(own)).unwrap();
    host.knobs().undo("swappiness", own).unwrap();
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
    host.knobs().set("turbo", "off", Some(gone)).unwrap();
    assert_eq!(host.knobs().recover().unwrap().len(), 1);
    assert_eq!(host.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "0");
}

#[test]
fn settings_of_a_removed_interface_need_no_restore() {
    let host = Host::new();
    host.knobs().set("rps@eth0", "3", None).unwrap();
    std::fs::remove_dir_all(host.fake.path().join("sys/class/net/eth0")).unwrap();
    assert!(host.knobs().restore().unwrap().iter().all(|one| one.failure.is_none()));
    assert!(host.knobs().journal.entries().unwrap().is_empty());
}

fn run(words: &[&str]) -> Vec<Step> {
    vec![Step::Run { command: words.iter().map(|word| (*word).to_owned()).collect() }]
}

fn write(path: &str, value: &str) -> Vec<Step> {
    vec![Step::Write { path: path.to_owned(), value: value.to_owned() }]
}

#[test]
fn steps_and_folders_are_undone_from_the_journal() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let gone = Owner { started: own.started + 1, ..own };
    let (mark, folder) = (host.fake.path().join("mark"), host.fake.path().join("hindmost-group"));
    host.knobs().promise_steps("command x", run(&["touch", mark.to_str().unwrap()]), "", "1", gone).unwrap();
    host.knobs().promise_folder("cgroup x", "hindmost-group", "1", own).unwrap();
    assert!(mark.exists(), "the next promise undoes changes of a dead owner");
    std::fs::create_dir(&folder).unwrap();
    host.knobs().undo("cgroup x", own).unwrap();
    assert!(!folder.exists());
    let fails = [run(&["ls", "/no/such/file"]), write("/proc/sys/vm/swappiness", "1")].concat();
    host.knobs().promise_steps("command y", fails, "", "1", own).unwrap();
    let failed = host.knobs().undo("command y", own).unwrap();
    let said = failed[0].failure.clone().unwrap();
    assert!(said.contains('2') && said.contains("/no/such/file"), "{said}");
    assert_eq!(host.read("proc/sys/vm/swappiness"), "1", "a failing step does not stop the others");
    assert_eq!(host.knobs().journal.entries().unwrap().len(), 1, "a failed undo stays in the journal");
}

#[test]
fn no_name_or_value_is_run() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let name = "a;touch mark;\n$(touch mark)\t`touch mark` ' \"";
    let path = format!("sys/fs/cgroup/{name}/cpu.max");
    host.fake.write(&path, b"100 1000");
    host.knobs().promise_steps(name, write(&format!("/{path}"), name), "", "1", own).unwrap();
    assert_eq!(host.knobs().undo(name, own).unwrap()[0].failure, None);
    assert_eq!(host.read(&path), name.trim());
    assert!(!host.fake.path().join("mark").exists() && !Path::new("/mark").exists());
}

#[test]
fn a_step_follows_no_link_and_writes_only_private_files() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    host.fake.write("etc/shadow", b"root");
    host.fake.write("group/cpu.max", b"1");
    let link = |name: &str, to: &str| {
        std::os::unix::fs::symlink(host.fake.path().join(to), host.fake.path().join(name)).unwrap();
    };
    link("group/cpu.weight", "etc/shadow");
    link("linked", "etc");
    let undo = |path: &str| {
        host.knobs().promise_steps("x", write(path, "new"), "", "1", own).unwrap();
        let failure = host.knobs().undo("x", own).unwrap()[0].failure.clone();
        std::fs::remove_file(host.journal.join("knobs.jsonl")).unwrap();
        failure
    };
    for path in ["/group/cpu.weight", "/linked/shadow", "/group/../etc/shadow", "/etc"] {
        assert!(undo(path).is_some(), "{path}");
    }
    allow(&host.fake.path().join("group"), 0o777);
    assert!(undo("/group/cpu.max").is_some(), "other users could replace the file");
    allow(&host.fake.path().join("group"), 0o755);
    assert_eq!(undo("/group/no.such.file"), None, "a missing file needs no undo");
    assert_eq!(undo("/group/cpu.max"), None);
    assert_eq!((host.read("group/cpu.max"), host.read("etc/shadow")), ("new".into(), "root".into()));
}

#[test]
fn a_later_process_with_the_same_pid_is_not_touched() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = child.id();
    let other = Owner { started: 1, ..Owner::find(pid).unwrap() };
    let steps = vec![
        Step::Schedule { thread: other, policy: 5 },
        Step::Place { thread: other, cpus: vec![100_000] },
        Step::Continue { processes: vec![other] },
    ];
    host.knobs().promise_steps("x", steps, "", "1", own).unwrap();
    assert_eq!(host.knobs().undo("x", own).unwrap()[0].failure, None);
    let same = Owner::find(pid).unwrap();
    host.knobs().promise_steps("x", vec![Step::Schedule { thread: same, policy: 5 }], "", "1", own).unwrap();
    assert_eq!(host.knobs().undo("x", own).unwrap()[0].failure, None);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let policy = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(38).unwrap();
    assert_eq!(policy, "5");
}

#[test]
fn a_kept_change_is_undone_by_restore() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    host.knobs().promise_steps("x", write("/proc/sys/vm/swappiness", "7"), "", "1", own).unwrap();
    host.knobs().keep("x", own).unwrap();
    assert!(host.knobs().undo("x", own).unwrap().is_empty());
    assert_eq!(host.knobs().changes().unwrap()[0].by, Restorer::Person);
    host.knobs().restore().unwrap();
    assert_eq!(host.read("proc/sys/vm/swappiness"), "7");
}

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_journal_that_others_can_write_is_not_used() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let gone = Owner { started: own.started + 1, ..own };
    let (mark, folder) = (host.fake.path().join("mark"), host.fake.path().join("hindmost-group"));
    host.knobs().set("swappiness", "10", Some(gone)).unwrap();
    let command = run(&["touch", mark.to_str().unwrap()]);
    let check = |open: &Path, mode: u32, safe: u32| {
        allow(open, mode);
        let text = std::fs::read_to_string(host.journal.join("knobs.jsonl")).unwrap();
        for refused in [
            host.knobs().recover().map(drop),
            host.knobs().restore().map(drop),
            host.knobs().undo("swappiness", gone).map(drop),
            host.knobs().changes().map(drop),
            host.knobs().list().map(drop),
            host.knobs().set("turbo", "off", None).map(drop),
            host.knobs().promise_steps("command x", command.clone(), "", "1", own),
            host.knobs().promise_folder("cgroup x", "hindmost-group", "1", own),
        ] {
            let refused = refused.unwrap_err();
            assert!(
                matches!(&refused, KnobError::Journal { fault: JournalFault::OthersWrite(path), .. } if path == open),
                "{refused}"
            );
        }
        assert_eq!(std::fs::read_to_string(host.journal.join("knobs.jsonl")).unwrap(), text);
        assert_eq!(host.read("proc/sys/vm/swappiness"), "10");
        assert_eq!(host.read("sys/devices/system/cpu/intel_pstate/no_turbo"), "0");
        assert!(!mark.exists() && !folder.exists());
        allow(open, safe);
    };
    check(&host.journal, 0o777, 0o700);
    check(&host.journal, 0o720, 0o700);
    check(&host.journal.join("knobs.jsonl"), 0o602, 0o600);
    assert_eq!(host.knobs().recover().unwrap().len(), 1);
}

#[test]
fn no_journal_is_created_in_a_folder_that_others_can_write() {
    let host = Host::new();
    std::fs::create_dir(&host.journal).unwrap();
    allow(&host.journal, 0o777);
    let refused = host.knobs().set("swappiness", "10", None).unwrap_err();
    assert!(
        matches!(&refused, KnobError::Journal { fault: JournalFault::OthersWrite(path), .. } if *path == host.journal),
        "{refused}"
    );
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
    assert_eq!(std::fs::read_dir(&host.journal).unwrap().count(), 0);
}

#[test]
fn a_link_instead_of_the_journal_is_not_followed() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    let (journal, elsewhere) = (host.journal.join("knobs.jsonl"), host.fake.path().join("elsewhere"));
    std::fs::rename(&journal, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
    assert!(host.knobs().restore().is_err());
    assert_eq!(host.read("proc/sys/vm/swappiness"), "10");
}

#[test]
fn a_file_of_no_setting_is_not_written() {
    let host = Host::new();
    host.fake.write("etc/shadow", b"root");
    host.knobs().set("swappiness", "10", None).unwrap();
    let path = host.journal.join("knobs.jsonl");
    let text = std::fs::read_to_string(&path).unwrap().replace("proc/sys/vm/swappiness", "etc/shadow");
    std::fs::write(&path, text).unwrap();
    let said = host.knobs().restore().unwrap()[0].failure.clone().unwrap();
    assert!(said.contains("etc/shadow") && said.contains("proc/sys/vm/swappiness"), "{said}");
    assert_eq!(host.read("etc/shadow"), "root");
}

#[test]
fn a_folder_without_our_prefix_is_not_removed() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    for name in ["group", "hindmost-x/../group"] {
        std::fs::create_dir_all(host.fake.path().join("group")).unwrap();
        std::fs::create_dir_all(host.fake.path().join("hindmost-x")).unwrap();
        host.knobs().promise_folder("cgroup x", name, "1", own).unwrap();
        let done = host.knobs().undo("cgroup x", own).unwrap();
        assert!(done.iter().all(|one| one.failure.as_deref().unwrap().contains("hindmost-")));
        assert!(host.fake.path().join("group").exists());
    }
}

#[test]
fn lines_of_another_version_are_kept_and_reported() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    let path = host.journal.join("knobs.jsonl");
    let theirs = "{\"schema\":\"hindmost.journal/3\",\"knob\":{\"name\":\"thp\"}}";
    let text = format!("{theirs}\nnot json at all\n{}", std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, text).unwrap();
    let restored = |done: Vec<RestoredSetting>| {
        let failed: Vec<_> = done.into_iter().filter(|one| one.failure.is_some()).collect();
        assert_eq!(failed[0].name, "line 1 of the journal");
        let said = failed[0].failure.as_deref().unwrap();
        assert!(said.contains("hindmost.journal/3") && said.contains("hindmost.journal/2"), "{said}");
        assert_eq!(failed[1].name, "line 2 of the journal");
    };
    restored(host.knobs().recover().unwrap());
    host.knobs().set("turbo", "off", None).unwrap();
    assert_eq!(host.knobs().changes().unwrap().iter().filter(|one| one.unread.is_some()).count(), 2);
    restored(host.knobs().restore().unwrap());
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{theirs}\nnot json at all\n"));
    restored(host.knobs().restore().unwrap());
}

#[test]
fn a_shell_command_of_version_1_is_reported_and_not_run() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    let mark = host.fake.path().join("mark");
    let before = |undo: &str| {
        let changed = r#""knob":"x","found":"60","set":"1","boot":"6f2f""#;
        format!("{{\"schema\":\"hindmost.journal/1\",{changed},{undo}}}\n")
    };
    let text =
        before(&format!("\"undo\":\"touch {}\"", mark.display())) + &before("\"folder\":\"hindmost-group\"");
    std::fs::create_dir(host.fake.path().join("hindmost-group")).unwrap();
    std::fs::write(host.journal.join("knobs.jsonl"), text).unwrap();
    let done = host.knobs().restore().unwrap();
    assert!(!mark.exists());
    assert!(!host.fake.path().join("hindmost-group").exists());
    assert_eq!(done.iter().filter(|one| one.failure.is_some()).count(), 1);
}

#[test]
fn changes_are_reported_with_their_restorer() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let gone = Owner { started: own.started + 1, ..own };
    assert!(host.knobs().changes().unwrap().is_empty());
    host.knobs().set("swappiness", "10", None).unwrap();
    host.knobs().set("turbo", "off", Some(own)).unwrap();
    host.knobs().set("governor", "performance", Some(gone)).unwrap();
    let changes = host.knobs().changes().unwrap();
    let restored: Vec<_> = changes.iter().map(|one| (one.name.as_str(), one.by)).collect();
    let expected =
        [("swappiness", Restorer::Person), ("turbo", Restorer::Running), ("governor", Restorer::Nobody)];
    assert_eq!(restored, expected);
    assert_eq!((changes[2].found.as_str(), changes[2].set.as_str()), ("powersave", "performance"));
}

#[test]
fn changes_by_commands_survive_a_reboot() {
    let host = Host::new();
    let own = Owner::find(std::process::id()).unwrap();
    let mark = host.fake.path().join("mark");
    host.knobs().promise_steps("command x", run(&["touch", mark.to_str().unwrap()]), "", "1", own).unwrap();
    host.knobs().set("swappiness", "10", Some(own)).unwrap();
    host.fake.write("proc/sys/kernel/random/boot_id", b"7a01\n");
    // The pid and the start time match, but of another boot: the owner does not exist.
    assert_eq!(host.knobs().recover().unwrap().len(), 1);
    assert!(mark.exists());
    assert_eq!(host.read("proc/sys/vm/swappiness"), "10");
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
fn a_truncated_journal_is_read_up_to_the_damage() {
    let host = Host::new();
    host.knobs().set("swappiness", "10", None).unwrap();
    let path = host.journal.join("knobs.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"schema\":\"hindmost.journal/1\",\"boot\":\"6f2f\",\"kno");
    std::fs::write(&path, text).unwrap();
    let done = host.knobs().restore().unwrap();
    assert_eq!((done.len(), done[0].failure.as_deref()), (2, None));
    assert!(done[1].failure.as_deref().unwrap().contains("EOF"), "{done:?}");
    assert_eq!(host.read("proc/sys/vm/swappiness"), "60");
}
