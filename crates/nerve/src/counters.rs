//! The dictionary: what a sample holds, in the order in which it is stored. New ones go to the end of their part; the
//! ring carries the names, so that a reader needs no version of this list.

/// How a value goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows: what counts is the difference of two samples.
    Total,
    /// Stands for itself.
    Level,
}

/// One value of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Room, dot, what; the unit last.
    pub name: &'static str,
    /// How it goes on.
    pub kind: Kind,
    /// For people.
    pub about: &'static str,
}

macro_rules! counters {
    ($($id:ident $kind:ident $name:literal $about:literal;)*) => {
        /// Where each stands in a sample.
        #[allow(non_camel_case_types, reason = "names of the table")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Id { $($id),* }
        /// All of them.
        pub const COUNTERS: &[Counter] =
            &[$(Counter { name: $name, kind: Kind::$kind, about: $about }),*];
    };
}

counters! {
    OwnCpu Total "own.cpu_us" "processor time of the watch itself";
    OwnBytes Total "own.ring_bytes" "bytes that the watch wrote";
    AppUser Total "app.user_ticks" "time in the application, 10 ms each";
    AppSystem Total "app.system_ticks" "time in the kernel for the application, 10 ms each";
    AppMinor Total "app.minor_faults" "page faults without a read";
    AppMajor Total "app.major_faults" "page faults that read from a disk";
    AppThreads Level "app.threads" "threads";
    AppRss Level "app.resident_pages" "pages in memory";
    AppRun Total "app.run_us" "time on a processor, all threads";
    AppDelay Total "app.run_delay_us" "time runnable but waiting for a processor, all threads";
    AppSwitches Total "app.switches" "times that a thread came onto a processor";
    AppRead Total "app.read_calls" "read system calls";
    AppWrite Total "app.write_calls" "write system calls";
    AppDiskRead Total "app.disk_read_bytes" "bytes read from disks";
    AppDiskWrite Total "app.disk_write_bytes" "bytes written to disks";
    AppMoves Total "app.thread_moves" "threads seen on another processor than ten seconds before";
    CgroupCpu Total "cgroup.cpu_us" "processor time of the application's cgroup";
    CgroupThrottled Total "cgroup.throttled" "periods in which its quota was used up";
    CgroupThrottledTime Total "cgroup.throttled_us" "time for which its quota held it back";
    CgroupMemory Level "cgroup.memory_bytes" "memory charged to its cgroup";
    HostUser Total "host.user_ticks" "time in programs, all processors";
    HostSystem Total "host.system_ticks" "time in the kernel";
    HostIdle Total "host.idle_ticks" "idle";
    HostIowait Total "host.iowait_ticks" "idle with I/O under way";
    HostIrq Total "host.irq_ticks" "in interrupts";
    HostSoftirq Total "host.softirq_ticks" "in softirqs";
    HostSteal Total "host.steal_ticks" "taken by the hypervisor";
    HostInterrupts Total "host.interrupts" "interrupts";
    HostSwitches Total "host.switches" "context switches";
    HostRunning Level "host.running" "runnable threads";
    HostBlocked Level "host.blocked" "threads waiting for I/O";
    PsiCpu Total "psi.cpu_some_us" "time with a thread waiting for a processor";
    PsiMemory Total "psi.memory_some_us" "time with a thread waiting for memory";
    PsiIo Total "psi.io_some_us" "time with a thread waiting for I/O";
    IrqDevices Total "irq.devices" "interrupts of devices";
    IrqReschedule Total "irq.reschedule" "interrupts by which one processor wakes a thread on another";
    IrqCalls Total "irq.calls" "interrupts by which one processor has another do something";
    IrqOnOne Level "irq.on_one_percent" "of devices' interrupts in the last ten seconds, on the busiest processor";
    SoftNetRx Total "softirq.net_rx" "softirqs of received packets";
    SoftNetTx Total "softirq.net_tx" "softirqs of sent packets";
    SoftTimer Total "softirq.timer" "softirqs of timers";
    SoftSched Total "softirq.sched" "softirqs of the scheduler's balancing";
    NetRx Total "net.rx_bytes" "bytes received, all interfaces";
    NetTx Total "net.tx_bytes" "bytes sent, all interfaces";
    NetPackets Total "net.rx_packets" "packets received, all interfaces";
    NetDrops Total "net.drops" "packets dropped, all interfaces";
    TcpRetransmits Total "tcp.retransmits" "TCP segments sent again";
    UdpErrors Total "udp.buffer_errors" "datagrams lost to full buffers";
    VmMajor Total "vm.major_faults" "page faults of the host that read from a disk";
    VmScanned Total "vm.scanned" "pages scanned for reclaim";
    VmRefaults Total "vm.refaults" "pages read again soon after they were reclaimed";
    NeighboursCpu Total "neighbours.cpu_ticks" "time of all other processes, 10 ms each";
    SpeedLoop Level "speed.loop_ns" "a fixed loop of about 4 us, the fastest of three";
    LatencyCount Total "latency.requests" "answers whose latency was taken";
    LatencyErrors Total "latency.errors" "requests without a good answer";
    LatencyWaiting Level "latency.waiting_us" "since when the oldest request without an answer was due";
    LatencyP50 Level "latency.p50_us" "median latency of the last second, from the due time on";
    LatencyP95 Level "latency.p95_us" "95th percentile of the last second";
    LatencyP99 Level "latency.p99_us" "99th percentile of the last second";
    LatencyMax Level "latency.max_us" "the slowest of the last second";
    TcpConnections Level "tcp.connections" "connections of the application's own ports";
    TcpRtt Level "tcp.rtt_us" "mean round-trip time of them, as the kernel smooths it";
    TcpRttMax Level "tcp.rtt_max_us" "the longest of them";
    TcpResent Total "tcp.app_retransmits" "segments that the application's connections sent again";
    TcpUnread Level "tcp.unread_bytes" "received and not yet read by the application";
    TcpUnsent Level "tcp.unsent_bytes" "written by the application and not yet acknowledged";
    TcpAccept Level "tcp.not_accepted" "connections that wait for the application to accept them";
    ProbeSlip Total "probe.slip_us" "how late the probe itself sent, summed: the share of latency that is the probe's";
}

/// In place of a value that the host does not tell.
pub const UNKNOWN: i64 = -1;

/// A sample: one value for each of [`COUNTERS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Values(pub(crate) Vec<i64>);

impl Values {
    pub(crate) fn new() -> Self {
        Self(vec![UNKNOWN; COUNTERS.len()])
    }

    pub(crate) fn set(&mut self, id: Id, value: u64) {
        self.0[id as usize] = i64::try_from(value).unwrap_or(i64::MAX);
    }

    /// The value, or that it is not known.
    pub(crate) fn put(&mut self, id: Id, value: Option<u64>) {
        match value {
            Some(value) => self.set(id, value),
            None => self.0[id as usize] = UNKNOWN,
        }
    }

    pub(crate) fn get(&self, id: Id) -> i64 {
        self.0[id as usize]
    }

    pub(crate) fn add(&mut self, id: Id, value: u64) {
        self.set(id, (self.get(id).max(0) as u64).saturating_add(value));
    }
}
