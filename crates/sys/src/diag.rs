//! TCP sockets of this network namespace from the kernel (`sock_diag(7)`): one message per selected socket, instead
//! of a line of text for each.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// A netlink connection for queries.
#[derive(Debug)]
pub struct Sockets {
    socket: OwnedFd,
    room: Vec<u8>,
}

/// Which sockets to query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketFilter {
    /// Listening sockets.
    Listening,
    /// Established sockets of a local port.
    Established(u16),
}

/// The kernel's information about one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSocket {
    /// The local port.
    pub local_port: u16,
    /// Inode number, as in `/proc/PID/fd`.
    pub inode: u32,
    /// The kernel's identifier of the socket.
    pub cookie: u64,
    /// Unread bytes; for a listening socket, connections not yet accepted.
    pub unread: u32,
    /// Unacknowledged bytes.
    pub unsent: u32,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Retransmitted segments over the life of the socket.
    pub resent: u32,
}

const HEADER: usize = 16;
/// `struct inet_diag_msg`.
const MESSAGE: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const INFO: u16 = 2;
/// `struct tcp_info`: `tcpi_rtt` and `tcpi_total_retrans`.
const RTT: usize = 68;
const RESENT: usize = 100;

impl Sockets {
    /// Open it; no privilege is needed.
    ///
    /// # Errors
    /// The error of socket(2).
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        Ok(Self { socket, room: vec![0; 32 * 1024] })
    }

    /// Pass each socket, IPv4 and IPv6, to the callback.
    ///
    /// # Errors
    /// The error of send(2), recv(2) or the kernel's answer.
    pub fn each(&mut self, filter: SocketFilter, mut visit: impl FnMut(TcpSocket)) -> io::Result<()> {
        for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
            send(&self.socket, &request(family, filter), SendFlags::empty())?;
            while self.part(&mut visit)? {}
        }
        Ok(())
    }

    /// Read one part of the answer; return false after the last.
    fn part(&mut self, visit: &mut impl FnMut(TcpSocket)) -> io::Result<bool> {
        let (length, _) = recv(&self.socket, &mut self.room, RecvFlags::empty())?;
        let mut rest = &self.room[..length];
        while rest.len() >= HEADER {
            let size = number(rest, 0) as usize;
            let kind = short(rest, 4);
            let Some(message) = rest.get(HEADER..size) else { break };
            match kind {
                DONE => return Ok(false),
                ERROR => return Err(io::Error::from_raw_os_error(-(number(message, 0) as i32))),
                _ => visit(socket(message)),
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(true)
    }
}

fn request(family: u8, filter: SocketFilter) -> Vec<u8> {
    let (states, info) = match filter {
        SocketFilter::Listening => (1u32 << 10, 0),
        SocketFilter::Established(_) => (1 << 1, 1 << (INFO - 1)),
    };
    let mut text = vec![0; HEADER];
    text.extend_from_slice(&[family, libc::IPPROTO_TCP as u8, info, 0]);
    text.extend_from_slice(&states.to_ne_bytes());
    text.extend_from_slice(&[0; 48]);
    if let SocketFilter::Established(port) = filter {
        // A range from the port to itself; a jump of four beyond the end rejects.
        let low = port.to_ne_bytes();
        text.extend_from_slice(&20u16.to_ne_bytes());
        text.extend_from_slice(&1u16.to_ne_bytes());
        for (code, no) in [(2u8, 20u16), (3, 12)] {
            text.extend_from_slice(&[code, 8]);
            text.extend_from_slice(&no.to_ne_bytes());
            text.extend_from_slice(&[0, 0, low[0], low[1]]);
        }
    }
    let length = text.len() as u32;
    text[..4].copy_from_slice(&length.to_ne_bytes());
    text[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    // The flags request all sockets.
    text[6..8].copy_from_slice(&0x301u16.to_ne_bytes());
    text
}

fn socket(message: &[u8]) -> TcpSocket {
    let mut found = TcpSocket {
        local_port: short(message, 4).to_be(),
        cookie: u64::from(number(message, 44)) | u64::from(number(message, 48)) << 32,
        unread: number(message, 56),
        unsent: number(message, 60),
        inode: number(message, 68),
        ..TcpSocket::default()
    };
    let mut rest = message.get(MESSAGE..).unwrap_or_default();
    while rest.len() >= 4 {
        let size = usize::from(short(rest, 0)).max(4);
        if short(rest, 2) == INFO {
            let info = rest.get(4..size).unwrap_or_default();
            (found.rtt_us, found.resent) = (number(info, RTT), number(info, RESENT));
        }
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Return a number at an offset; 0 if the message of an older kernel is shorter.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().unwrap_or_default()))
}

fn short(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |two| u16::from_ne_bytes(two.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_sockets_of_the_port_are_reported_with_their_unread_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut clients: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        let mut sockets = Sockets::open().unwrap();
        let mut waiting = 0;
        sockets
            .each(SocketFilter::Listening, |one| {
                if one.local_port == port {
                    waiting += one.unread;
                }
            })
            .unwrap();
        assert_eq!(waiting, 3);
        let _accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
        clients[0].write_all(b"seven b").unwrap();
        let mut seen = Vec::new();
        sockets.each(SocketFilter::Established(port), |one| seen.push(one)).unwrap();
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen.iter().all(|one| one.local_port == port && one.rtt_us > 0 && one.cookie > 0));
        assert_eq!(seen.iter().map(|one| one.unread).sum::<u32>(), 7);
    }
}
