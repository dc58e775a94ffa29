//! The values of a sample, in storage order. Append new ones to their group; the ring contains the names, so readers
//! need no version of this list.

/// How a counter behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A total that only grows: differences of two samples count.
    Total,
    /// A momentary value.
    Level,
}

/// A value of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Group and name, separated by a dot, with the unit at the end.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// Description for people.
    pub about: &'static str,
}

impl Counter {
    /// Whether it describes the host, and so has one value for all applications.
    pub fn is_of_host(&self) -> bool {
        ["host.", "psi.", "irq.", "softirq.", "vm.", "speed."]
            .iter()
            .any(|group| self.name.starts_with(group))
    }
}

macro_rules! counters {
    ($($id:ident $kind:ident $name:literal $about:literal;)*) => {
        /// Position in a sample.
        #[allow(non_camel_case_types, reason = "names of the table")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Id { $($id),* }
        /// All counters.
        pub const COUNTERS: &[Counter] =
            &[$(Counter { name: $name, kind: Kind::$kind, about: $about }),*];
    };
}

counters! {
    OwnCpu Total "own.cpu_us" "CPU time of the watch itself";
    OwnBytes Total "own.ring_bytes" "bytes that the watch wrote to its ring";
    AppUser Total "app.user_ticks" "user time of the application, in ticks of 10 ms";
    AppSystem Total "app.system_ticks" "kernel time of the application, in ticks of 10 ms";
    AppMinor Total "app.minor_faults" "page faults without a disk read";
    AppMajor Total "app.major_faults" "page faults with a disk read";
    AppThreads Level "app.threads" "threads";
    AppRss Level "app.resident_pages" "pages in memory";
    AppRun Total "app.run_us" "time on a CPU, all threads";
    AppDelay Total "app.run_delay_us" "time runnable but waiting for a CPU, all threads";
    AppSwitches Total "app.switches" "times that a thread was put on a CPU";
    AppRead Total "app.read_calls" "read system calls";
    AppWrite Total "app.write_calls" "write system calls";
    AppDiskRead Total "app.disk_read_bytes" "bytes read from disks";
    AppDiskWrite Total "app.disk_write_bytes" "bytes written to disks";
    AppMoves Total "app.thread_moves" "threads that moved to another CPU within ten seconds";
    CgroupCpu Total "cgroup.cpu_us" "CPU time of the application's cgroup";
    CgroupThrottled Total "cgroup.throttled" "periods in which its quota was used up";
    CgroupThrottledTime Total "cgroup.throttled_us" "time in which its quota stopped it";
    CgroupMemory Level "cgroup.memory_bytes" "memory charged to its cgroup";
    HostUser Total "host.user_ticks" "user time, all CPUs";
    HostSystem Total "host.system_ticks" "kernel time, all CPUs";
    HostIdle Total "host.idle_ticks" "idle time, all CPUs";
    HostIowait Total "host.iowait_ticks" "idle time with pending I/O";
    HostIrq Total "host.irq_ticks" "time in interrupts";
    HostSoftirq Total "host.softirq_ticks" "time in softirqs";
    HostSteal Total "host.steal_ticks" "steal time: taken by the hypervisor";
    HostInterrupts Total "host.interrupts" "interrupts";
    HostSwitches Total "host.switches" "context switches";
    HostRunning Level "host.running" "runnable threads";
    HostBlocked Level "host.blocked" "threads waiting for I/O";
    PsiCpu Total "psi.cpu_some_us" "time with a thread waiting for a CPU";
    PsiMemory Total "psi.memory_some_us" "time with a thread waiting for memory";
    PsiIo Total "psi.io_some_us" "time with a thread waiting for I/O";
    IrqDevices Total "irq.devices" "device interrupts";
    IrqReschedule Total "irq.reschedule" "interrupts by which a CPU wakes a thread on another";
    IrqCalls Total "irq.calls" "interrupts by which a CPU makes another run a function";
    IrqOnOne Level "irq.on_one_percent" "share of device interrupts on the busiest CPU in the last ten seconds";
    SoftNetRx Total "softirq.net_rx" "softirqs of received packets";
    SoftNetTx Total "softirq.net_tx" "softirqs of sent packets";
    SoftTimer Total "softirq.timer" "softirqs of timers";
    SoftSched Total "softirq.sched" "softirqs of the scheduler's balancing";
    NetRx Total "net.rx_bytes" "bytes received, all interfaces";
    NetTx Total "net.tx_bytes" "bytes sent, all interfaces";
    NetPackets Total "net.rx_packets" "packets received, all interfaces";
    NetDrops Total "net.drops" "packets dropped, all interfaces";
    TcpRetransmits Total "tcp.retransmits" "TCP segments retransmitted";
    UdpErrors Total "udp.buffer_errors" "datagrams lost to full buffers";
    VmMajor Total "vm.major_faults" "page faults of the host with a disk read";
    VmScanned Total "vm.scanned" "pages scanned for reclaim";
    VmRefaults Total "vm.refaults" "pages read again soon after they were reclaimed";
    NeighboursCpu Total "neighbours.cpu_ticks" "CPU time of all other processes, in ticks of 10 ms";
    SpeedLoop Level "speed.loop_ns" "duration of a fixed loop of about 4 µs, the fastest of three";
    LatencyCount Total "latency.requests" "replies whose latency was measured";
    LatencyErrors Total "latency.errors" "requests without a valid reply";
    LatencyWaiting Level "latency.waiting_us" "time since the oldest unanswered request was scheduled";
    LatencyP50 Level "latency.p50_us" "median latency of the last second, from the scheduled time";
    LatencyP95 Level "latency.p95_us" "95th percentile of the last second";
    LatencyP99 Level "latency.p99_us" "99th percentile of the last second";
    LatencyMax Level "latency.max_us" "maximum of the last second";
    TcpConnections Level "tcp.connections" "connections to the application's ports";
    TcpRtt Level "tcp.rtt_us" "their mean round-trip time, smoothed by the kernel";
    TcpRttMax Level "tcp.rtt_max_us" "their longest round-trip time";
    TcpResent Total "tcp.app_retransmits" "segments retransmitted on the application's connections";
    TcpUnread Level "tcp.unread_bytes" "bytes received but not read by the application";
    TcpUnsent Level "tcp.unsent_bytes" "bytes written by the application but not acknowledged";
    TcpAccept Level "tcp.not_accepted" "connections that wait for the application to accept them";
    ProbeSendDelay Total "probe.send_delay_us" "sum of the probe's send delays: the part of the latency caused by the probe";
}

/// Placeholder for a value that the host does not provide.
pub const UNKNOWN: i64 = -1;

/// A sample: one value per entry of [`COUNTERS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Values(pub(crate) Vec<i64>);

impl Values {
    pub(crate) fn new() -> Self {
        Self(vec![UNKNOWN; COUNTERS.len()])
    }

    pub(crate) fn set(&mut self, id: Id, value: u64) {
        self.0[id as usize] = i64::try_from(value).unwrap_or(i64::MAX);
    }

    /// Set the value, or mark it as unknown.
    pub(crate) fn set_or_unknown(&mut self, id: Id, value: Option<u64>) {
        match value {
            Some(value) => self.set(id, value),
            None => self.0[id as usize] = UNKNOWN,
        }
    }

    pub(crate) fn get(&self, id: Id) -> i64 {
        self.0[id as usize]
    }

    /// Take over the values that describe the host.
    pub(crate) fn copy_host(&mut self, host: &Self) {
        for (at, _) in COUNTERS.iter().enumerate().filter(|(_, counter)| counter.is_of_host()) {
            self.0[at] = host.0[at];
        }
    }

    pub(crate) fn add(&mut self, id: Id, value: u64) {
        self.set(id, (self.get(id).max(0) as u64).saturating_add(value));
    }
}
