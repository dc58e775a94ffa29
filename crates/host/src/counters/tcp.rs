use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::Tree;

/// TCP faults of a network namespace, since it was created or between two readings. Each costs a request 200 ms or
/// more (`TCP_RTO_MIN`; 1 s for a connection attempt, RFC 6298), which no server can compensate; a zero window
/// costs as long as the slow reader takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = make_late_fields_optional)]
pub struct TcpCounters {
    /// Retransmitted segments (`RetransSegs`, RFC 4022), including connection attempts.
    pub retransmits: u64,
    /// Retransmitted connection attempts (`TCPSynRetrans`).
    pub syn_retransmits: u64,
    /// Connections dropped because the server's accept queue was full (`ListenOverflows`).
    pub listen_overflows: u64,
    /// Connections dropped on arrival for any reason, including overflows (`ListenDrops`).
    pub listen_drops: u64,
    /// How often a receive buffer was so full that its owner stopped the sender (`TCPToZeroWindowAdv`).
    pub zero_windows: u64,
}

/// Make fields optional that results of early versions lack.
fn make_late_fields_optional(schema: &mut Schema) {
    if let Some(required) = schema.get_mut("required").and_then(|list| list.as_array_mut()) {
        required.retain(|name| name != "zero_windows");
    }
}

impl TcpCounters {
    /// Read the caller's namespace: `/proc/net/snmp` and `/proc/net/netstat`; `None` if the first cannot be
    /// read.
    pub fn read(tree: &Tree) -> Option<Self> {
        Self::read_at(tree, "proc/net")
    }

    /// Read the namespace of process `pid`.
    pub fn read_of(tree: &Tree, pid: u32) -> Option<Self> {
        Self::read_at(tree, &format!("proc/{pid}/net"))
    }

    fn read_at(tree: &Tree, place: &str) -> Option<Self> {
        let snmp = tree.text(&format!("{place}/snmp"))?;
        let netstat = tree.text(&format!("{place}/netstat")).unwrap_or_default();
        let extra = |name| column(&netstat, "TcpExt:", name).unwrap_or(0);
        Some(Self {
            retransmits: column(&snmp, "Tcp:", "RetransSegs")?,
            syn_retransmits: extra("TCPSynRetrans"),
            listen_overflows: extra("ListenOverflows"),
            listen_drops: extra("ListenDrops"),
            zero_windows: extra("TCPToZeroWindowAdv"),
        })
    }

    /// Return the difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            syn_retransmits: self.syn_retransmits.saturating_sub(earlier.syn_retransmits),
            listen_overflows: self.listen_overflows.saturating_sub(earlier.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
            zero_windows: self.zero_windows.saturating_sub(earlier.zero_windows),
        }
    }
}

/// Return the value under `name`, in a table of a line of names and a line of values with the same `prefix`.
fn column(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let position = rows.next()?.split_ascii_whitespace().position(|word| word == name)?;
    rows.next()?.split_ascii_whitespace().nth(position)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let fake = FakeTree::new(&[
            ("proc/net/snmp", "Ip: Forwarding\nIp: 1\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 12 0\n"),
            (
                "proc/net/netstat",
                "TcpExt: ListenDrops X ListenOverflows TCPSynRetrans\nTcpExt: 5 9 4 3\nIpExt: A\nIpExt: 1\n",
            ),
        ]);
        let counters = TcpCounters::read(&fake.tree()).unwrap();
        let zero = TcpCounters::default();
        let expected =
            TcpCounters { retransmits: 12, listen_overflows: 4, listen_drops: 5, syn_retransmits: 3, ..zero };
        assert_eq!(counters, expected);
        let earlier = TcpCounters { retransmits: 10, listen_overflows: 4, listen_drops: 9, ..zero };
        let span = TcpCounters { retransmits: 2, syn_retransmits: 3, ..zero };
        assert_eq!(counters.since(&earlier), span);
    }

    #[test]
    fn another_process_may_live_in_another_namespace() {
        let fake = FakeTree::new(&[
            ("proc/net/snmp", "Tcp: RetransSegs\nTcp: 1\n"),
            ("proc/7/net/snmp", "Tcp: RetransSegs\nTcp: 2\n"),
            ("proc/7/net/netstat", "TcpExt: TCPToZeroWindowAdv\nTcpExt: 6\n"),
        ]);
        let there = TcpCounters::read_of(&fake.tree(), 7).unwrap();
        assert_eq!((there.retransmits, there.zero_windows), (2, 6));
        assert_eq!(TcpCounters::read_of(&fake.tree(), 8), None);
    }

    #[test]
    fn a_table_without_values_is_none() {
        let check = |snmp: &str| {
            let fake = FakeTree::new(&[("proc/net/snmp", snmp)]);
            assert_eq!(TcpCounters::read(&fake.tree()), None, "{snmp:?}");
        };
        check("Tcp: RetransSegs\n");
        check("Tcp: RetransSegs\nTcp: x\n");
        check("Tcp: Other\nTcp: 1\n");
        check("");
    }
}
