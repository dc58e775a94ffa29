//! Addresses of servers, and local source addresses.

use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;

use hindmost_sys::socket::{start_connecting, start_connecting_unix};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Peer {
    /// Resolve a plan's `HOST:PORT` or `unix:/PATH`.
    ///
    /// # Errors
    /// The name has no address.
    pub fn resolve(address: &str) -> io::Result<Self> {
        if let Some(path) = address.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        address.to_socket_addrs()?.next().map(Self::Tcp).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Return the IP address and port, or `None` for a Unix socket.
    pub const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The peers of one worker's connections: slot n leads to server n modulo their number.
#[derive(Clone, Debug)]
pub struct Peers {
    all: Vec<Peer>,
    /// Source addresses, used round-robin by connections. If empty, the kernel chooses.
    sources: Vec<IpAddr>,
    /// Whether Nagle's algorithm delays small segments until earlier ones are acknowledged.
    nagle: bool,
}

impl Peers {
    /// Create the peers `all`, at least one, with the addresses `sources`. Worker `first` starts with a
    /// different source than its neighbours.
    ///
    /// # Errors
    /// A source and a peer have different address families.
    pub fn new(all: Vec<Peer>, mut sources: Vec<IpAddr>, first: usize) -> io::Result<Self> {
        for to in &all {
            if let Some(from) = sources.iter().find(|from| !same_family(to, from)) {
                let what = format!("{to} cannot be reached from {from}: one is IPv4, the other IPv6");
                return Err(io::Error::new(ErrorKind::InvalidInput, what));
            }
        }
        if !sources.is_empty() {
            let turn = first % sources.len();
            sources.rotate_left(turn);
        }
        Ok(Self { all, sources, nagle: false })
    }

    /// Turn Nagle's algorithm on or off. It is off by default.
    #[must_use]
    pub fn with_nagle(mut self, on: bool) -> Self {
        self.nagle = on;
        self
    }

    /// Return the peer of `slot`.
    pub fn peer(&self, slot: u32) -> &Peer {
        &self.all[slot as usize % self.all.len()]
    }

    /// Start a non-blocking connect(2) for `slot`. A Unix socket's descriptor is wrapped like a TCP one:
    /// reading, writing and closing are the same calls.
    pub fn start_connecting(&self, slot: u32) -> io::Result<TcpStream> {
        match self.peer(slot) {
            Peer::Unix(path) => start_connecting_unix(path),
            Peer::Tcp(address) => {
                let turn = (slot as usize / self.all.len()).checked_rem(self.sources.len());
                let stream = start_connecting(*address, turn.map(|at| self.sources[at]))?;
                stream.set_nodelay(!self.nagle)?;
                Ok(stream)
            }
        }
    }
}

impl From<SocketAddr> for Peers {
    fn from(address: SocketAddr) -> Self {
        Self { all: vec![Peer::Tcp(address)], sources: Vec::new(), nagle: false }
    }
}

fn same_family(peer: &Peer, source: &IpAddr) -> bool {
    peer.address().is_none_or(|address| address.is_ipv4() == source.is_ipv4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_the_other_family_is_refused_by_name() {
        let peer = Peer::resolve("127.0.0.1:80").unwrap();
        let error = Peers::new(vec![peer], vec!["::1".parse().unwrap()], 0).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:80") && error.contains("::1"), "{error}");
    }

    #[test]
    fn a_unix_socket_is_shown_by_its_path() {
        let peer = Peer::resolve("unix:/run/a.sock").unwrap();
        assert_eq!((peer.to_string().as_str(), peer.address()), ("unix:/run/a.sock", None));
    }
}
