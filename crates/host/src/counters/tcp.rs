use serde::Serialize;

use crate::Tree;

/// What went wrong with TCP in this network namespace, since it was made or between two readings.
/// Each of these costs a request 200 ms or more, which no server can make up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpCounters {
    /// Segments sent again (`RetransSegs`, RFC 4022).
    pub retransmits: u64,
    /// Connections dropped because the server's accept queue was full (`ListenOverflows`).
    pub listen_overflows: u64,
    /// Connections dropped on arrival for any reason, overflows among them (`ListenDrops`).
    pub listen_drops: u64,
}

impl TcpCounters {
    /// Reads `/proc/net/snmp` and `/proc/net/netstat`; `None` where the first cannot be read.
    pub fn read(tree: &Tree) -> Option<Self> {
        let snmp = tree.text("proc/net/snmp")?;
        let netstat = tree.text("proc/net/netstat").unwrap_or_default();
        Some(Self {
            retransmits: column(&snmp, "Tcp:", "RetransSegs")?,
            listen_overflows: column(&netstat, "TcpExt:", "ListenOverflows").unwrap_or(0),
            listen_drops: column(&netstat, "TcpExt:", "ListenDrops").unwrap_or(0),
        })
    }

    /// What happened after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            listen_overflows: self.listen_overflows.saturating_sub(earlier.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
        }
    }
}

/// The value under `name`, in a table of a line of names and a line of values with the same `prefix`.
fn column(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let position = rows.next()?.split_ascii_whitespace().position(|word| word == name)?;
    rows.next()?.split_ascii_whitespace().nth(position)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn columns_are_found_by_name_not_by_place() {
        let fake = FakeTree::new(&[
            ("proc/net/snmp", "Ip: Forwarding\nIp: 1\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 12 0\n"),
            (
                "proc/net/netstat",
                "TcpExt: ListenDrops X ListenOverflows\nTcpExt: 5 9 4\nIpExt: A\nIpExt: 1\n",
            ),
        ]);
        let counters = TcpCounters::read(&fake.tree()).unwrap();
        let expected = TcpCounters { retransmits: 12, listen_overflows: 4, listen_drops: 5 };
        assert_eq!(counters, expected);
        let earlier = TcpCounters { retransmits: 10, listen_overflows: 4, listen_drops: 9 };
        let span = TcpCounters { retransmits: 2, listen_overflows: 0, listen_drops: 0 };
        assert_eq!(counters.since(&earlier), span);
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
