//! The application's own connections, as the kernel's TCP has them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hindmost_sys::diag::{self, Which};
use serde_json::Value;

use super::app::Members;
use super::Collector;
use crate::counters::{Id, Values};

/// Connections of the ports on which the application listens, in the network namespace of the watch.
pub(crate) struct Sockets {
    members: Rc<RefCell<Members>>,
    proc: PathBuf,
    diag: Option<diag::Sockets>,
    ports: Vec<u16>,
    /// Whose files were looked through for the ports.
    owners: Vec<u32>,
    readings: u32,
    resent: HashMap<u64, u32>,
    total: u64,
}

/// Readings from one look for ports to the next, where the processes are the same: it costs a link for each open file.
const LOOK: u32 = 10;
/// Ports that are asked about.
const MOST: usize = 8;

impl Sockets {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        Self {
            members,
            proc: root.join("proc"),
            diag: diag::Sockets::open().ok(),
            ports: Vec::new(),
            owners: Vec::new(),
            readings: 0,
            resent: HashMap::new(),
            total: 0,
        }
    }

    fn look_for_ports(&mut self, pids: Vec<u32>) {
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
            let _ = diag.each(Which::Listening, |one| {
                if inodes.contains(&one.inode) && !ports.contains(&one.local_port) {
                    ports.push(one.local_port);
                }
            });
        }
        ports.truncate(MOST);
        (self.ports, self.owners) = (ports, pids);
    }
}

impl Collector for Sockets {
    fn name(&self) -> &'static str {
        "connections"
    }

    /// The kernel looks through its whole table of connections for those of a port: some 0.3 ms.
    fn period(&self) -> u32 {
        30
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let mut pids = self.members.borrow().pids();
        pids.sort_unstable();
        if self.readings % LOOK == 0 || pids != self.owners {
            self.look_for_ports(pids);
        }
        self.readings = self.readings.wrapping_add(1);
        let diag = self.diag.as_mut()?;
        let (mut count, mut sum, mut longest, mut unread, mut unsent) = (0u64, 0u64, 0u32, 0u64, 0u64);
        let mut resent = HashMap::new();
        let mut more = 0u64;
        for port in &self.ports {
            let before = &self.resent;
            let told = diag.each(Which::Established(*port), |one| {
                count += 1;
                sum += u64::from(one.rtt_us);
                longest = longest.max(one.rtt_us);
                unread += u64::from(one.unread);
                unsent += u64::from(one.unsent);
                // What a connection had sent again before it was first seen is not of this watch.
                let known = before.get(&one.cookie).copied().unwrap_or(one.resent);
                more += u64::from(one.resent.saturating_sub(known));
                resent.insert(one.cookie, one.resent);
            });
            if told.is_err() {
                return None;
            }
        }
        let mut waiting = 0;
        if !self.ports.is_empty() {
            let ports = &self.ports;
            let _ = diag.each(Which::Listening, |one| {
                if ports.contains(&one.local_port) {
                    waiting += u64::from(one.unread);
                }
            });
        }
        self.resent = resent;
        self.total += more;
        values.set(Id::TcpConnections, count);
        values.put(Id::TcpRtt, sum.checked_div(count));
        values.put(Id::TcpRttMax, (count > 0).then_some(u64::from(longest)));
        values.set(Id::TcpResent, self.total);
        values.set(Id::TcpUnread, unread);
        values.set(Id::TcpUnsent, unsent);
        values.set(Id::TcpAccept, waiting);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::super::Whose;
    use super::*;

    #[test]
    fn connections_to_a_port_of_the_application_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let members = Members::find(Path::new("/"), Whose::Process(std::process::id()));
        let mut sockets = Sockets::new(members, Path::new("/"));
        let mut values = Values::new();
        sockets.read(&mut values);
        let before = values.get(Id::TcpConnections);
        let _clients: Vec<TcpStream> =
            (0..4).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        sockets.read(&mut values);
        // Other tests of this process have connections of their own.
        assert!(values.get(Id::TcpConnections) >= 4, "{before}");
        assert!(values.get(Id::TcpAccept) >= 4);
        assert!(values.get(Id::TcpRttMax) > 0);
    }

    #[test]
    fn ports_are_looked_for_at_once_where_the_processes_changed_and_seldom_where_they_did_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let members = Members::find(Path::new("/"), Whose::Process(std::process::id()));
        let mut sockets = Sockets::new(members, Path::new("/"));
        let mut values = Values::new();
        sockets.read(&mut values);
        assert!(sockets.ports.contains(&port));
        for reading in 1..=LOOK {
            sockets.ports.clear();
            sockets.read(&mut values);
            assert_eq!(sockets.ports.contains(&port), reading == LOOK, "reading {reading}");
        }
        // As if the process that listens had come since the last look.
        let now = std::mem::take(&mut sockets.owners);
        sockets.ports.clear();
        sockets.read(&mut values);
        assert!(sockets.ports.contains(&port));
        assert_eq!(sockets.owners, now);
    }
}
