//! UDP as a stream of datagrams, each preceded by its length in two bytes, most significant first, as in DNS
//! over TCP (RFC 1035, 4.2.2). The lengths give codecs message boundaries, a read may return many datagrams,
//! and a batch is one write.
//!
//! ```text
//! codec   [0 29 . . . . . .][0 31 . . . . . . .]   one write or read
//! wire       └── datagram ─┘    └── datagram ──┘
//! ```
//!
//! A connection is a connected socket with its own port, so the kernel delivers only the server's datagrams
//! and reports ICMP errors.
#![allow(unsafe_code)]

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

use hindmost_clock::Nanos;

use super::poller::Poller;
use super::{Peer, Ready, StampedTransport, Transport};

/// Size of the length before each datagram, in bytes.
pub const LENGTH: usize = 2;
/// Most datagrams per system call.
const BATCH: usize = 16;
/// The longest accepted datagram, so that as many fit into one read of the engine. DNS uses at most 4096
/// bytes if configured well (RFC 6891, 6.2.5), memcached 1400.
pub const LONGEST: usize = 16 * 1024 - LENGTH;
/// Receive buffer for datagrams that arrive while replies are processed, as far as the host allows
/// (`net.core.rmem_max`). The kernel drops datagrams without space, and UDP does not retransmit.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;

/// One worker's UDP sockets, connected to one address.
pub struct Udp {
    address: SocketAddr,
    /// Source addresses, used round-robin by sockets. If empty, the kernel chooses.
    sources: Vec<IpAddr>,
    poller: Poller,
    sockets: Vec<Option<UdpSocket>>,
    /// The buffer that the kernel fills, before datagrams are joined.
    room: Vec<u8>,
    /// Number of datagrams longer than [`LONGEST`], which the kernel truncated.
    oversized: u64,
}

impl Udp {
    /// Create `slots` closed sockets towards `peer`, from `sources`.
    ///
    /// # Errors
    /// The peer has no IP address, a source has another address family, or no epoll instance can be created.
    pub fn new(peer: &Peer, sources: Vec<IpAddr>, slots: u32) -> io::Result<Self> {
        let wrong = |what: String| io::Error::new(ErrorKind::InvalidInput, what);
        let address = peer.address().ok_or_else(|| wrong(format!("{peer} cannot be reached over UDP")))?;
        if let Some(from) = sources.iter().find(|from| from.is_ipv4() != address.is_ipv4()) {
            return Err(wrong(format!(
                "{address} cannot be reached from {from}: one is IPv4, the other IPv6"
            )));
        }
        Ok(Self {
            address,
            sources,
            poller: Poller::new()?,
            sockets: (0..slots).map(|_| None).collect(),
            room: vec![0; BATCH * LONGEST],
            oversized: 0,
        })
    }

    fn fd(&self, slot: u32) -> io::Result<RawFd> {
        let socket = self.sockets[slot as usize].as_ref();
        socket.map(AsRawFd::as_raw_fd).ok_or_else(|| ErrorKind::NotConnected.into())
    }
}

/// Split off the complete datagrams at the start of `bytes`, at most [`BATCH`]. Return their number and
/// total length.
fn split_datagrams(bytes: &[u8], into: &mut [libc::iovec; BATCH]) -> (usize, usize) {
    let (mut count, mut at) = (0, 0);
    while let (true, Some(length)) = (count < BATCH, bytes.get(at..at + LENGTH)) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let Some(datagram) = bytes.get(at + LENGTH..at + LENGTH + length) else { break };
        // The kernel only reads through this pointer, although `iovec` is not const.
        into[count] = libc::iovec { iov_base: datagram.as_ptr().cast_mut().cast(), iov_len: length };
        at += LENGTH + length;
        count += 1;
    }
    (count, at)
}

const NO_BYTES: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// Build messages of one part each, without address and control data.
fn messages(parts: &mut [libc::iovec; BATCH]) -> [libc::mmsghdr; BATCH] {
    // SAFETY: an all-zero mmsghdr is a valid empty one.
    let mut all: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    for (message, part) in all.iter_mut().zip(parts) {
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }
    all
}

impl Transport for Udp {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        let from = match (slot as usize).checked_rem(self.sources.len()) {
            Some(turn) => self.sources[turn],
            None if self.address.is_ipv4() => Ipv4Addr::UNSPECIFIED.into(),
            None => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect(self.address)?;
        socket.set_nonblocking(true)?;
        let room = RECEIVE_BUFFER;
        // SAFETY: the option is a C int that lives through the call. A host with a lower limit applies its
        // limit.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw const room).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
        self.poller.add(socket.as_raw_fd(), slot, true)?;
        self.sockets[slot as usize] = Some(socket);
        Ok(())
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        self.poller.change(self.fd(slot)?, slot, false)
    }

    fn local_port(&self, slot: u32) -> u16 {
        let socket = self.sockets[slot as usize].as_ref();
        socket.and_then(|socket| socket.local_addr().ok()).map_or(0, |address| address.port())
    }

    #[inline]
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd(slot)?;
        let mut parts = [NO_BYTES; BATCH];
        let mut done = 0;
        while done < bytes.len() {
            let (count, length) = split_datagrams(&bytes[done..], &mut parts);
            let sent = match count {
                0 => return Err(ErrorKind::InvalidData.into()),
                // SAFETY: the part lies in `bytes`, which lives through the call.
                1 => {
                    unsafe { libc::send(fd, parts[0].iov_base, parts[0].iov_len, libc::MSG_NOSIGNAL) }.min(1)
                }
                _ => {
                    let mut all = messages(&mut parts);
                    // SAFETY: `count` messages exist, each with one part in `bytes`, which lives through the
                    // call.
                    unsafe { libc::sendmmsg(fd, all.as_mut_ptr(), count as u32, libc::MSG_NOSIGNAL) as isize }
                }
            };
            if sent < 0 {
                let error = io::Error::last_os_error();
                return if done > 0 { Ok(done) } else { Err(error) };
            }
            // Sending an empty datagram returns 0.
            let sent = if count == 1 { 1 } else { sent as usize };
            if sent == count {
                done += length;
            } else {
                done += parts[..sent].iter().map(|part| LENGTH + part.iov_len).sum::<usize>();
                return Ok(done);
            }
        }
        Ok(done)
    }

    #[inline]
    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        let fd = self.fd(slot)?;
        // This many datagrams fit whatever their lengths.
        let most = (into.len() / (LENGTH + LONGEST)).min(BATCH);
        let mut parts = [NO_BYTES; BATCH];
        for (part, room) in parts.iter_mut().zip(self.room.chunks_mut(LONGEST)) {
            *part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: LONGEST };
        }
        let mut all = messages(&mut parts);
        // SAFETY: each message has its own part of `room`, which is not used otherwise during the call.
        let got = unsafe {
            libc::recvmmsg(fd, all.as_mut_ptr(), most as u32, libc::MSG_DONTWAIT, std::ptr::null_mut())
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut at = 0;
        for (message, room) in all[..got as usize].iter().zip(self.room.chunks(LONGEST)) {
            // A truncated datagram is dropped; the others are kept.
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                self.oversized += 1;
                continue;
            }
            let length = message.msg_len as usize;
            into[at..at + LENGTH].copy_from_slice(&(length as u16).to_be_bytes());
            into[at + LENGTH..at + LENGTH + length].copy_from_slice(&room[..length]);
            at += LENGTH + length;
        }
        if at == 0 {
            // All were too long. Returning 0 bytes would mean the end of the stream.
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(at)
    }

    fn oversized_datagrams(&self) -> u64 {
        self.oversized
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.poller.change(self.fd(slot)?, slot, on)
    }

    fn descriptor(&self, slot: u32) -> Option<RawFd> {
        self.fd(slot).ok()
    }

    fn close(&mut self, slot: u32) {
        if let Some(socket) = self.sockets[slot as usize].take() {
            self.poller.remove(socket.as_raw_fd());
        }
    }

    #[inline]
    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.poller.wait(timeout, expected, ready)
    }
}

/// UDP has no stamps.
impl StampedTransport for Udp {}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(datagrams: &[&[u8]]) -> Vec<u8> {
        let with_length = |one: &&[u8]| [&(one.len() as u16).to_be_bytes()[..], one].concat();
        datagrams.iter().flat_map(with_length).collect()
    }

    /// Return a server socket, and a transport whose only slot is connected to it.
    fn pair() -> (UdpSocket, Udp) {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = Peer::Tcp(server.local_addr().unwrap());
        let mut udp = Udp::new(&peer, Vec::new(), 1).unwrap();
        udp.connect(0).unwrap();
        let mut ready = Vec::new();
        udp.wait(Nanos::from_millis(1_000), true, &mut ready).unwrap();
        assert!(ready[0].writable, "the socket is writable at once");
        udp.finish_connect(0).unwrap();
        (server, udp)
    }

    fn read(udp: &mut Udp) -> Vec<u8> {
        let mut ready = Vec::new();
        udp.wait(Nanos::from_millis(5_000), true, &mut ready).unwrap();
        let mut into = vec![0; 256 * 1024];
        let n = udp.read(0, &mut into).unwrap();
        into.truncate(n);
        into
    }

    #[test]
    fn datagrams_stay_separate_however_many_share_a_call() {
        let (server, mut udp) = pair();
        let large = vec![7; 5_000];
        for sent in [vec![&b"one"[..]], vec![b"a", b"", &large, b"d"], vec![&b"x"[..]; 40]] {
            let bytes = frame(&sent);
            assert_eq!(udp.write(0, &bytes).unwrap(), bytes.len());
            let mut back = vec![0; 10_000];
            for one in &sent {
                let (n, from) = server.recv_from(&mut back).unwrap();
                assert_eq!((&back[..n], from.port()), (*one, udp.local_port(0)));
                server.send_to(&back[..n], from).unwrap();
            }
            let mut got = Vec::new();
            while got.len() < bytes.len() {
                got.extend(read(&mut udp));
            }
            assert_eq!(got, bytes);
        }
        assert_eq!(udp.read(0, &mut vec![0; 70_000]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_datagram_that_is_too_long_is_dropped_and_counted_and_others_arrive() {
        let (server, mut udp) = pair();
        udp.write(0, &frame(&[b"hello"])).unwrap();
        let (_, client) = server.recv_from(&mut [0; 10]).unwrap();
        let (longest, longer) = (vec![1; LONGEST], vec![2; LONGEST + 1]);
        let sent = [&b"before"[..], &longer, &longest, b"after"];
        for one in sent {
            server.send_to(one, client).unwrap();
        }
        assert_eq!(read(&mut udp), frame(&[b"before", &longest, b"after"]));
        assert_eq!(udp.oversized_datagrams(), 1);
        server.send_to(&longer, client).unwrap();
        let mut ready = Vec::new();
        udp.wait(Nanos::from_millis(5_000), true, &mut ready).unwrap();
        assert_eq!(udp.read(0, &mut vec![0; 70_000]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(udp.oversized_datagrams(), 2);
        server.send_to(b"still there", client).unwrap();
        assert_eq!(read(&mut udp), frame(&[b"still there"]));
    }

    #[test]
    fn a_closed_port_is_an_error_that_leaves_the_socket_usable() {
        let (server, mut udp) = pair();
        let address = server.local_addr().unwrap();
        drop(server);
        udp.write(0, &frame(&[b"lost"])).unwrap();
        let mut ready = Vec::new();
        udp.wait(Nanos::from_millis(5_000), true, &mut ready).unwrap();
        let refused = udp.read(0, &mut vec![0; 70_000]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let server = UdpSocket::bind(address).unwrap();
        udp.write(0, &frame(&[b"again"])).unwrap();
        let mut back = [0; 10];
        assert_eq!(server.recv(&mut back).unwrap(), 5);
    }

    #[test]
    fn half_a_datagram_is_never_sent() {
        let (_server, mut udp) = pair();
        let bytes = frame(&[b"whole", b"cut"]);
        assert_eq!(udp.write(0, &bytes[..4]).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
