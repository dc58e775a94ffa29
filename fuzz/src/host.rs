//! The readers of `/proc` and `/sys`, below a folder of files with any content.
//!
//! An input is text: a line `== PATH` starts a file. Only paths that are read are made.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use hindmost_host::counters::{CpuTimes, ProcessCpu, TcpCounters};
use hindmost_host::{HostFacts, Topology, Tree};

/// What is read of a host, but for names that hold a number other than these.
const PATHS: &[&str] = &[
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/loadavg",
    "proc/meminfo",
    "proc/net/netstat",
    "proc/net/snmp",
    "proc/pressure/cpu",
    "proc/stat",
    "proc/uptime",
    "proc/1/stat",
    "proc/2/stat",
    "proc/self/cgroup",
    "proc/self/limits",
    "proc/self/status",
    "proc/self/timerslack_ns",
    "proc/thread-self/status",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/net/core/somaxconn",
    "proc/sys/net/ipv4/ip_local_port_range",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/devices/system/node/node0/cpulist",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

/// Any files for a host.
pub fn any_host(bytes: &[u8]) {
    let root = root();
    let mut made = Vec::new();
    let mut rest = bytes;
    while let Some(at) = find(rest, b"== ") {
        rest = &rest[at + 3..];
        let line = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (name, after) = rest.split_at(line);
        let content = after.get(1..).unwrap_or_default();
        let content = &content[..find(content, b"== ").unwrap_or(content.len())];
        if let Some(path) = PATHS.iter().find(|path| path.as_bytes() == name.trim_ascii()) {
            fs::write(root.join(path), content).expect("the files of a fake host can be written");
            made.push(path);
        }
        rest = after;
    }
    look(&Tree::new(root));
    for path in made {
        fs::write(root.join(path), "").expect("the files of a fake host can be emptied");
    }
}

fn look(tree: &Tree) {
    let facts = HostFacts::read(tree);
    let text = serde_json::to_string(&facts).expect("facts are JSON");
    assert!(!text.is_empty());
    let topology = Topology::read(tree);
    assert!(topology.cores() <= topology.cpus.len() && topology.nodes() > 0 && topology.sockets() > 0);
    let times = CpuTimes::read(tree);
    for share in times.cpus.iter().flat_map(|cpu| [cpu.busy_share(), cpu.steal_share()]) {
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
    assert!(times.since(&times).steal_share().is_none());
    if let Some(tcp) = TcpCounters::read(tree) {
        assert_eq!(tcp.since(&tcp), TcpCounters::default());
    }
    if let Some(family) = ProcessCpu::read_family(tree, 1) {
        let _ = family.cpu_time();
        let _ = family.share_since(&family);
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The folder of this process, in memory where there is such a place. All its files are there, empty:
/// making them is what costs.
fn root() -> &'static PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let root = place.join(format!("hindmost-fuzz-{}", std::process::id()));
        for path in PATHS {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("every path has a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        root
    })
}
