//! The application's TCP connections, as the kernel reports them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hindmost_sys::diag::{self, SocketFilter};
use serde_json::Value;

use super::app::Members;
use super::Collector;
use crate::counters::{Id, Values};

/// Connections to the ports on which the application listens, in the daemon's network namespace.
pub(crate) struct Sockets {
    members: Rc<RefCell<Members>>,
    proc: PathBuf,
    diag: Option<diag::Sockets>,
    ports: Vec<u16>,
    /// Processes whose files were searched for the ports.
    owners: Vec<u32>,
    readings: u32,
    retransmits: HashMap<u64, u32>,
    total: u64,
}

/// Readings between two searches for ports if the processes are unchanged: a search reads a link for each open file.
const SCAN_INTERVAL: u32 = 10;
/// Most ports to query.
const MAX_PORTS: usize = 8;

impl Sockets {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        Self {
            members,
            proc: root.join("proc"),
            diag: diag::Sockets::open().ok(),
            ports: Vec::new(),
            owners: Vec::new(),
            readings: 0,
            retransmits: HashMap::new(),
            total: 0,
        }
    }

    fn find_ports(&mut self, pids: Vec<u32>) {
        let mut inodes = HashSet::new();
        for pid in &pids {
            let Ok(files) = fs::read_dir(self.proc.join(format!("{pid}/fd"))) else { continue };
            for file in files.flatten() {
                let Ok(link) = fs::read_link(file.path()) else { continue };
                let inode = link
                    .to_str()
                    .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
                inodes.extend(inode.map(|inode: u32| inode));
            }
        }
        let mut ports = Vec::new();
        if let Some(diag) = &mut self.diag {
            let _ = diag.each(SocketFilter::Listening, |one| {
                if inodes.contains(&one.inode) && !ports.contains(&one.local_port) {
                    ports.push(one.local_port);
                }
            });
        }
        ports.truncate(MAX_PORTS);
        (self.ports, self.owners) = (ports, pids);
    }
}

impl Collector for Sockets {
    fn name(&self) -> &'static str {
        "connections"
    }

    /// The kernel scans its whole table of connections for those of a port, which takes about 0.3 ms.
    fn period(&self) -> u32 {
        30
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let mut pids = self.members.borrow().pids();
        pids.sort_unstable();
        if self.readings % SCAN_INTERVAL == 0 || pids != self.owners {
            self.find_ports(pids);
        }
        self.readings = self.readings.wrapping_add(1);
        let diag = self.diag.as_mut()?;
        let (mut count, mut sum, mut longest, mut unread, mut unsent) = (0u64, 0u64, 0u32, 0u64, 0u64);
        let mut retransmits = HashMap::new();
        let mut more = 0u64;
        for port in &self.ports {
            let before = &self.retransmits;
            let result = diag.each(SocketFilter::Established(*port), |one| {
                count += 1;
                sum += u64::from(one.rtt_us);
                longest = longest.max(one.rtt_us);
                unread += u64::from(one.unread);
                unsent += u64::from(one.unsent);
                // Retransmissions before a connection was first seen do not count.
                let earlier = before.get(&one.cookie).copied().unwrap_or(one.resent);
                more += u64::from(one.resent.saturating_sub(earlier));
                retransmits.insert(one.cookie, one.resent);
            });
            if result.is_err() {
                return None;
            }
        }
        let mut not_accepted = 0;
        if !self.ports.is_empty() {
            let ports = &self.ports;
            let _ = diag.each(SocketFilter::Listening, |one| {
                if ports.contains(&one.local_port) {
                    not_accepted += u64::from(one.unread);
                }
            });
        }
        self.retransmits = retransmits;
        self.total += more;
        values.set(Id::TcpConnections, count);
        values.set_or_unknown(Id::TcpRtt, sum.checked_div(count));
        values.set_or_unknown(Id::TcpRttMax, (count > 0).then_some(u64::from(longest)));
        values.set(Id::TcpResent, self.total);
        values.set(Id::TcpUnread, unread);
        values.set(Id::TcpUnsent, unsent);
        values.set(Id::TcpAccept, not_accepted);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::super::Scope;
    use super::*;

    #[test]
    fn connections_to_a_port_of_the_application_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let members = Members::find(Path::new("/"), Scope::Process(std::process::id()));
        let mut sockets = Sockets::new(members, Path::new("/"));
        let mut values = Values::new();
        sockets.read(&mut values);
        let before = values.get(Id::TcpConnections);
        let _clients: Vec<TcpStream> =
            (0..4).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        sockets.read(&mut values);
        // Other tests of this process have connections, too.
        assert!(values.get(Id::TcpConnections) >= 4, "{before}");
        assert!(values.get(Id::TcpAccept) >= 4);
        assert!(values.get(Id::TcpRttMax) > 0);
    }

    #[test]
    fn ports_are_searched_at_once_after_a_change_of_processes_and_rarely_otherwise() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let members = Members::find(Path::new("/"), Scope::Process(std::process::id()));
        let mut sockets = Sockets::new(members, Path::new("/"));
        let mut values = Values::new();
        sockets.read(&mut values);
        assert!(sockets.ports.contains(&port));
        for reading in 1..=SCAN_INTERVAL {
            sockets.ports.clear();
            sockets.read(&mut values);
            assert_eq!(sockets.ports.contains(&port), reading == SCAN_INTERVAL, "reading {reading}");
        }
        // As if the listening process had appeared after the last search.
        let now = std::mem::take(&mut sockets.owners);
        sockets.ports.clear();
        sockets.read(&mut values);
        assert!(sockets.ports.contains(&port));
        assert_eq!(sockets.owners, now);
    }
}
