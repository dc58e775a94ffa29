//! Facts about the host that a reader of a study needs to interpret its results.

mod machine;
mod memory;
mod power;
mod process;
mod quota;

use hindmost_sys::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counters::CpuTimes;
use crate::{cpulist, Nic, Topology, Tree};

pub use power::IdleState;
pub use process::PortRange;
pub use quota::CpuQuota;

/// Properties and settings of a host. Fields whose file is absent are `None`; no value is guessed.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct HostFacts {
    /// Host name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor model as reported by the processor.
    pub cpu_model: Option<String>,
    /// Number of online logical CPUs.
    pub cpus_online: usize,
    /// CPUs that the calling thread may use (its affinity); the online ones if that is unknown.
    pub cpus_allowed: Vec<u32>,
    /// Number of sockets with an online CPU.
    pub sockets: usize,
    /// Number of physical cores with an online CPU.
    pub cores: usize,
    /// Most online CPUs of one core.
    pub threads_per_core: usize,
    /// Number of NUMA nodes with an online CPU.
    pub numa_nodes: usize,
    /// CPUs isolated from the scheduler (`isolcpus=` on the kernel's command line).
    pub isolcpus: Option<String>,
    /// CPUs without a tick while one thread runs (`nohz_full=` on the kernel's command line).
    pub nohz_full: Option<String>,

    /// Whether this is a virtual machine.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Name of the hypervisor; `unknown` if it hides it, `none` on bare metal.
    pub hypervisor: String,

    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// Other available clock sources.
    pub clocksources_available: Vec<String>,
    /// Resolution of timers: 1 ns, or a tick where high-resolution timers are missing.
    pub clock_resolution_ns: u64,
    /// How late the kernel may fire this process's timers to save wake-ups.
    pub timer_slack_ns: Option<u64>,

    /// Frequency governor; if CPUs differ, each with its count: `performance (2), powersave (6)`.
    pub governor: Option<String>,
    /// Whether cores may run above their base frequency.
    pub turbo: Option<bool>,
    /// Whether cores run two or more threads.
    pub smt: Option<bool>,
    /// Deepest idle state of a CPU.
    pub deepest_idle: Option<IdleState>,

    /// Total memory.
    pub memory_bytes: Option<u64>,
    /// Memory available without swapping.
    pub memory_available_bytes: Option<u64>,
    /// Swap in use.
    pub swap_used_bytes: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_hugepages: Option<String>,
    /// Whether the kernel moves pages between NUMA nodes by itself.
    pub numa_balancing: Option<bool>,

    /// Runnable or blocked threads over the last 1, 5 and 15 minutes.
    pub load_average: Option<LoadAverage>,
    /// Share of the last 10 s in which a thread waited for a CPU, in percent (PSI).
    pub cpu_pressure_avg10: Option<f64>,
    /// Fraction of time that the hypervisor took since boot, 0 to 1.
    pub steal_share: Option<f64>,
    /// Seconds since boot.
    pub uptime_s: Option<f64>,

    /// Whether this process runs as root.
    pub is_root: bool,
    /// Effective capabilities that Hindmost can use.
    pub capabilities: Vec<String>,
    /// Who may use performance events: -1 anyone ... 2 own user code only, 3 and more no one.
    pub perf_event_paranoid: Option<i32>,
    /// Whether the CPU's hardware counters (cycles, cache misses) are visible.
    pub hardware_counters: bool,

    /// CPU time that this process's cgroup may use.
    pub cpu_quota: Option<CpuQuota>,
    /// Limit of open files per process; `None` also if unlimited.
    pub open_files_limit: Option<u64>,
    /// Highest limit of open files that the process may set; `None` also if unlimited.
    pub open_files_hard_limit: Option<u64>,
    /// Local ports for outgoing connections.
    pub local_ports: Option<PortRange>,
    /// Longest accept queue that a server may request.
    pub somaxconn: Option<u64>,
    /// Network interfaces that are up, except loopback, and who can stamp their packets.
    pub nics: Vec<Nic>,
}

/// Load averages of the whole host.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LoadAverage {
    /// Over one minute.
    pub one: f64,
    /// Over five minutes.
    pub five: f64,
    /// Over fifteen minutes.
    pub fifteen: f64,
}

impl HostFacts {
    /// Read all facts.
    pub fn read(tree: &Tree) -> Self {
        let mut facts = Self {
            hostname: tree.non_empty_text("proc/sys/kernel/hostname"),
            kernel: tree.non_empty_text("proc/sys/kernel/osrelease"),
            uptime_s: tree.text("proc/uptime").and_then(|text| finite(text.split(' ').next()?)),
            load_average: tree.text("proc/loadavg").and_then(|text| load_average(&text)),
            cpu_pressure_avg10: tree.text("proc/pressure/cpu").and_then(|text| pressure_avg10(&text)),
            clocksource: tree
                .non_empty_text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clocksources_available: tree
                .text("sys/devices/system/clocksource/clocksource0/available_clocksource")
                .map(|text| text.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            steal_share: CpuTimes::read(tree).steal_share(),
            clock_resolution_ns: clock::resolution_ns(),
            ..Self::default()
        };
        facts.add_topology(tree);
        facts.add_machine(tree);
        facts.add_power(tree);
        facts.add_memory(tree);
        facts.add_process(tree);
        facts.cpu_quota = CpuQuota::read(tree);
        facts.nics = Nic::all(tree);
        facts
    }

    fn add_topology(&mut self, tree: &Tree) {
        let topology = Topology::read(tree);
        self.cpus_online = topology.cpus.len();
        self.sockets = topology.sockets();
        self.cores = topology.cores();
        self.threads_per_core = topology.threads_per_core();
        self.numa_nodes = topology.nodes();
        self.cpus_allowed = process::status(tree, "Cpus_allowed_list")
            .and_then(|text| cpulist::parse(&text))
            .filter(|cpus| !cpus.is_empty())
            .unwrap_or_else(|| topology.cpus.iter().map(|cpu| cpu.id).collect());
        let command_line = tree.text("proc/cmdline").unwrap_or_default();
        self.isolcpus = argument(&command_line, "isolcpus");
        self.nohz_full = argument(&command_line, "nohz_full");
    }
}

/// Return the value of `name` on the kernel's command line; the last one counts.
fn argument(command_line: &str, name: &str) -> Option<String> {
    command_line
        .split_whitespace()
        .take_while(|&word| word != "--")
        .filter_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        .last()
        .map(str::to_owned)
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn load_average(text: &str) -> Option<LoadAverage> {
    let mut words = text.split_whitespace().map(finite);
    Some(LoadAverage { one: words.next()??, five: words.next()??, fifteen: words.next()?? })
}

/// Parse `some avg10=0.50 avg60=...` of `/proc/pressure/cpu` (Documentation/accounting/psi.rst of the kernel).
fn pressure_avg10(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    finite(some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn a_host_without_any_file_has_default_facts() {
        let facts = HostFacts::read(&Tree::new("/nowhere/at/all"));
        let expected = HostFacts {
            sockets: 1,
            threads_per_core: 1,
            numa_nodes: 1,
            hypervisor: "none".to_owned(),
            clock_resolution_ns: facts.clock_resolution_ns,
            ..HostFacts::default()
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn garbage_in_every_file_is_read_as_absent() {
        let fake = FakeTree::new(&[]);
        for path in [
            "proc/sys/kernel/hostname",
            "proc/uptime",
            "proc/loadavg",
            "proc/pressure/cpu",
            "proc/cpuinfo",
            "proc/meminfo",
            "proc/stat",
            "proc/cmdline",
            "proc/self/status",
            "proc/thread-self/status",
            "proc/self/limits",
            "proc/self/cgroup",
            "proc/self/timerslack_ns",
            "proc/sys/kernel/perf_event_paranoid",
            "proc/sys/kernel/numa_balancing",
            "proc/sys/net/ipv4/ip_local_port_range",
            "sys/devices/system/cpu/online",
            "sys/devices/system/cpu/smt/active",
            "sys/devices/system/cpu/intel_pstate/no_turbo",
            "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "sys/fs/cgroup/cpu.max",
        ] {
            fake.write(path, b"\xff\0 NaN avg10=inf :::\n0::/\n");
        }
        let facts = HostFacts::read(&fake.tree());
        assert_eq!(facts.load_average, None);
        assert_eq!(facts.cpu_pressure_avg10, None);
        assert_eq!(facts.uptime_s, None);
        assert_eq!((facts.turbo, facts.smt, facts.deepest_idle), (None, None, None));
        assert_eq!(facts.cpu_quota, None);
        assert_eq!(facts.transparent_hugepages, None);
        assert_eq!(facts.cpus_online, 0);
    }

    #[test]
    fn the_kernels_command_line_ends_at_the_double_dash() {
        let line = "quiet isolcpus=1 isolcpus=domain,2-3 nohz_full=2-3 -- isolcpus=9";
        assert_eq!(argument(line, "isolcpus").as_deref(), Some("domain,2-3"));
        assert_eq!(argument(line, "nohz_full").as_deref(), Some("2-3"));
        assert_eq!(argument(line, "quiet"), None);
    }

    #[test]
    fn load_and_pressure_are_the_short_averages() {
        let fake = FakeTree::new(&[
            ("proc/loadavg", "0.91 0.35 0.19 1/91 9220\n"),
            ("proc/uptime", "1234.5 2000.1\n"),
            (
                "proc/pressure/cpu",
                "some avg10=2.91 avg60=1.28 avg300=0.65 total=9\nfull avg10=0.00 avg60=0.00\n",
            ),
        ]);
        let facts = HostFacts::read(&fake.tree());
        let load = LoadAverage { one: 0.91, five: 0.35, fifteen: 0.19 };
        assert_eq!(facts.load_average, Some(load));
        assert_eq!(facts.cpu_pressure_avg10, Some(2.91));
        assert_eq!(facts.uptime_s, Some(1234.5));
    }
}
