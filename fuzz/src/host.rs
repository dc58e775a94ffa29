//! The readers of `/proc` and `/sys`, below a folder of files with arbitrary content.
//!
//! An input is text. A line `== PATH` starts a file, and `== later` a second reading of the same host, for which
//! files that are named again have changed. Only paths that are read are created.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use hindmost_host::counters::{
    peak_memory, CpuTimes, Interrupts, Neighbours, ProcessCpu, RunQueues, ServerQueues, TcpCounters,
    Throttling,
};
use hindmost_host::doctor::examine;
use hindmost_host::{Topology, Tree};

/// The paths that are read, except names that contain other numbers than these.
const PATHS: &[&str] = &[
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/interrupts",
    "proc/loadavg",
    "proc/meminfo",
    "proc/net/netstat",
    "proc/net/snmp",
    "proc/pressure/cpu",
    "proc/schedstat",
    "proc/softirqs",
    "proc/stat",
    "proc/uptime",
    "proc/1/stat",
    "proc/1/net/snmp",
    "proc/1/net/tcp",
    "proc/1/net/tcp6",
    "proc/1/task/1/schedstat",
    "proc/1/task/1/stat",
    "proc/1/task/1/status",
    "proc/1/task/3/stat",
    "proc/1/task/3/status",
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

/// Check any files of a host, and their later content.
pub fn any_host(bytes: &[u8]) {
    let tree = Tree::new(root());
    let middle = find(bytes, LATER).unwrap_or(bytes.len());
    let mut made = lay_out(&bytes[..middle]);
    let before = Reading::read(&tree);
    made.extend(lay_out(&bytes[middle..]));
    let after = Reading::read(&tree);
    before.check();
    after.check();
    after.check_since(&before, &tree);
    for path in made {
        fs::write(root().join(path), "").expect("the files of a fake host can be emptied");
    }
}

const LATER: &[u8] = b"== later\n";

/// Write the files in `text` and return their paths.
fn lay_out(text: &[u8]) -> Vec<&'static str> {
    let mut made = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, b"== ") {
        rest = &rest[at + 3..];
        let line = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        let (name, after) = rest.split_at(line);
        let content = after.get(1..).unwrap_or_default();
        let content = &content[..find(content, b"== ").unwrap_or(content.len())];
        if let Some(path) = PATHS.iter().find(|path| path.as_bytes() == name.trim_ascii()) {
            fs::write(root().join(path), content).expect("the files of a fake host can be written");
            made.push(*path);
        }
        rest = after;
    }
    made
}

/// All counters at one moment.
struct Reading {
    times: CpuTimes,
    interrupts: Interrupts,
    neighbours: Neighbours,
    family: Option<ProcessCpu>,
    queues: RunQueues,
    tcp: [Option<TcpCounters>; 2],
    throttling: Option<Throttling>,
}

impl Reading {
    fn read(tree: &Tree) -> Self {
        // Everything that is read once, and its checks.
        let diagnosis = examine(tree, Duration::ZERO, None);
        let text = serde_json::to_string(&diagnosis).expect("a diagnosis is JSON");
        assert!(!text.is_empty());
        let topology = Topology::read(tree);
        assert!(topology.cores() <= topology.cpus.len() && topology.nodes() > 0 && topology.sockets() > 0);
        let _ = peak_memory(tree);
        let server = ServerQueues::read(tree, 11211, Some(1)).expect("the tables are there, if empty");
        assert!(server.receive_most_bytes <= server.receive_bytes);
        Self {
            times: CpuTimes::read(tree),
            interrupts: Interrupts::read(tree),
            neighbours: Neighbours::read(tree, 4),
            family: ProcessCpu::read_family(tree, 1),
            queues: RunQueues::read(tree),
            tcp: [TcpCounters::read(tree), TcpCounters::read_of(tree, 1)],
            throttling: Throttling::read(tree),
        }
    }

    fn check(&self) {
        let shares = self.times.cpus.iter().flat_map(|cpu| [cpu.busy_share(), cpu.steal_share()]);
        for share in shares.chain(self.times.steal_share()) {
            assert!((0.0..=1.0).contains(&share), "{share}");
        }
        assert!(self.times.since(&self.times).steal_share().is_none());
        for tcp in self.tcp.iter().flatten() {
            assert_eq!(tcp.since(tcp), TcpCounters::default());
        }
    }

    fn check_since(&self, before: &Self, tree: &Tree) {
        let span = self.times.since(&before.times);
        assert!(span.cpus.iter().all(|cpu| (0.0..=1.0).contains(&cpu.busy_share())));
        let hits = self.interrupts.since(&before.interrupts, CPUS);
        assert!(hits.hard.iter().all(|one| one.count <= hits.hard_total));
        let beside = self.neighbours.since(tree, &before.neighbours, CPUS);
        assert!(beside.named.len() <= 12 && beside.named.iter().all(|one| one.turns > 0));
        assert!(self.queues.since(&before.queues, CPUS).iter().all(|queue| CPUS.contains(&queue.cpu)));
        if let (Some(now), Some(then)) = (&self.family, &before.family) {
            let _ = now.cpu_time();
            assert!(now.share_since(then).is_none_or(|share| share >= 0.0));
        }
        if let (Some(now), Some(then)) = (self.throttling, before.throttling) {
            let _ = now.since(&then);
        }
    }
}

const CPUS: &[u32] = &[0, 1];

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Return the folder of this process, in memory if possible. All its files exist from the start, empty: creating
/// them is what costs time.
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

/// Remove that folder.
pub fn tidy() {
    fs::remove_dir_all(root()).expect("what was made here can be removed");
}
