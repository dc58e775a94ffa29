//! The host: CPUs, pressure, network, and expensive files.

use std::path::Path;

use serde_json::Value;

use super::source::Source;
use super::Collector;
use crate::counters::{Id, Values};

/// `/proc/stat`.
pub(crate) struct Load(Option<Source>);

impl Load {
    pub(crate) fn new(root: &Path) -> Self {
        Self(Source::open(root.join("proc/stat")).ok())
    }
}

impl Collector for Load {
    fn name(&self) -> &'static str {
        "processors"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let text = self.0.as_mut()?.read()?;
        // One pass over the text, which is long on hosts with many interrupts.
        let mut cpu = [0u64; 8];
        for line in text.lines() {
            let Some((key, rest)) = line.split_once(' ') else { continue };
            let id = match key {
                "cpu" => {
                    for (into, word) in cpu.iter_mut().zip(rest.split_ascii_whitespace()) {
                        *into = word.parse().unwrap_or(0);
                    }
                    continue;
                }
                "intr" => Id::HostInterrupts,
                "ctxt" => Id::HostSwitches,
                "procs_running" => Id::HostRunning,
                "procs_blocked" => Id::HostBlocked,
                _ => continue,
            };
            let first = rest.split_ascii_whitespace().next();
            values.set(id, first.and_then(|word| word.parse().ok()).unwrap_or(0));
        }
        values.set(Id::HostUser, cpu[0] + cpu[1]);
        for (id, nth) in [
            (Id::HostSystem, 2),
            (Id::HostIdle, 3),
            (Id::HostIowait, 4),
            (Id::HostIrq, 5),
            (Id::HostSoftirq, 6),
            (Id::HostSteal, 7),
        ] {
            values.set(id, cpu[nth]);
        }
        None
    }
}

/// Pressure stall information and softirqs.
pub(crate) struct Pressure {
    stalls: [(Id, Option<Source>); 3],
    softirqs: Option<Source>,
}

impl Pressure {
    pub(crate) fn new(root: &Path) -> Self {
        let open = |name: &str| Source::open(root.join("proc/pressure").join(name)).ok();
        let stalls = [(Id::PsiCpu, open("cpu")), (Id::PsiMemory, open("memory")), (Id::PsiIo, open("io"))];
        Self { stalls, softirqs: Source::open(root.join("proc/softirqs")).ok() }
    }
}

impl Collector for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        for (id, source) in &mut self.stalls {
            let text = source.as_mut().and_then(Source::read).unwrap_or_default();
            let total = text.lines().next().and_then(|line| line.rsplit_once("total="));
            values.set_or_unknown(*id, total.and_then(|(_, total)| total.trim().parse().ok()));
        }
        let text = self.softirqs.as_mut()?.read()?;
        for line in text.lines().skip(1) {
            let Some((name, counts)) = line.split_once(':') else { continue };
            let id = match name.trim() {
                "NET_RX" => Id::SoftNetRx,
                "NET_TX" => Id::SoftNetTx,
                "TIMER" => Id::SoftTimer,
                "SCHED" => Id::SoftSched,
                _ => continue,
            };
            let count = |word: &str| word.parse::<u64>().ok();
            values.set(id, counts.split_ascii_whitespace().filter_map(count).sum());
        }
        None
    }
}

/// `/proc/net/dev`.
pub(crate) struct Network(Option<Source>);

impl Network {
    /// Open the application's view, which may be in its own network namespace.
    pub(crate) fn new(root: &Path, pid: Option<u32>) -> Self {
        Self(Source::open(net(root, pid).join("dev")).ok())
    }
}

fn net(root: &Path, pid: Option<u32>) -> std::path::PathBuf {
    root.join("proc").join(pid.map_or("self".to_owned(), |pid| pid.to_string())).join("net")
}

impl Collector for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let text = self.0.as_mut()?.read()?;
        let (mut rx, mut tx, mut packets, mut drops) = (0u64, 0u64, 0u64, 0u64);
        for (_, line) in text.lines().filter_map(|line| line.split_once(':')) {
            let fields: Vec<u64> = line.split_ascii_whitespace().flat_map(str::parse).collect();
            let at = |nth: usize| fields.get(nth).copied().unwrap_or(0);
            rx += at(0);
            packets += at(1);
            drops += at(3) + at(11);
            tx += at(8);
        }
        values.set(Id::NetRx, rx);
        values.set(Id::NetTx, tx);
        values.set(Id::NetPackets, packets);
        values.set(Id::NetDrops, drops);
        None
    }
}

/// TCP and UDP errors, which take more than 10 µs to read.
pub(crate) struct Protocols(Option<Source>);

impl Protocols {
    /// Open the application's view, which may be in its own network namespace.
    pub(crate) fn new(root: &Path, pid: Option<u32>) -> Self {
        Self(Source::open(net(root, pid).join("snmp")).ok())
    }
}

/// Return a value of `/proc/net/snmp`, which has names in one line and numbers in the next.
fn snmp(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(':').next() == Some(protocol));
    let at = lines.next()?.split_ascii_whitespace().position(|word| word == name)?;
    lines.next()?.split_ascii_whitespace().nth(at)?.parse().ok()
}

impl Collector for Protocols {
    fn name(&self) -> &'static str {
        "protocols"
    }

    fn period(&self) -> u32 {
        10
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let text = self.0.as_mut()?.read()?;
        values.set_or_unknown(Id::TcpRetransmits, snmp(text, "Tcp", "RetransSegs"));
        values.set_or_unknown(Id::UdpErrors, snmp(text, "Udp", "RcvbufErrors"));
        None
    }
}

/// Reclaim of memory, which takes more than 10 µs to read.
pub(crate) struct Reclaim(Option<Source>);

impl Reclaim {
    pub(crate) fn new(root: &Path) -> Self {
        Self(Source::open(root.join("proc/vmstat")).ok())
    }
}

impl Collector for Reclaim {
    fn name(&self) -> &'static str {
        "reclaim"
    }

    fn period(&self) -> u32 {
        10
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let text = self.0.as_mut()?.read()?;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let id = match name {
                "pgmajfault" => Id::VmMajor,
                "pgscan_direct" => Id::VmScanned,
                "workingset_refault_file" => Id::VmRefaults,
                _ => continue,
            };
            values.set(id, value.trim().parse().unwrap_or(0));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::UNKNOWN;

    #[test]
    fn snmp_values_are_found_below_their_names() {
        let text = "Tcp: RtoMin RetransSegs InErrs\nTcp: 200 77 3\nUdp: In RcvbufErrors\nUdp: 5 9\n";
        assert_eq!(snmp(text, "Tcp", "RetransSegs"), Some(77));
        assert_eq!(snmp(text, "Udp", "RcvbufErrors"), Some(9));
        assert_eq!(snmp(text, "Udp", "RetransSegs"), None);
    }

    #[test]
    fn pressure_missing_from_the_kernel_is_unknown_and_not_0() {
        let tree = crate::collect::tree::Tree::new("pressure");
        tree.write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        let mut values = Values::new();
        Pressure::new(tree.root()).read(&mut values);
        assert_eq!([Id::PsiCpu, Id::PsiMemory, Id::PsiIo].map(|id| values.get(id)), [0, UNKNOWN, UNKNOWN]);
    }
}
