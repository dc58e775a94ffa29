//! What the standard library does not do with sockets.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    bind, connect, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};

/// A connect(2) that does not wait for the peer; from the host's address `source`, where one is given.
///
/// # Errors
/// What socket(2), bind(2) or connect(2) says at once.
pub fn start_connecting(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream_socket(family)?;
    if let Some(source) = source {
        choose_port_late(&socket);
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// The same to a Unix socket. Its type is that of TCP because the calls to read, write and close are.
///
/// # Errors
/// What socket(2) or connect(2) says at once; `WouldBlock` where the server's queue of new connections is full.
pub fn start_connecting_unix(path: &Path) -> io::Result<TcpStream> {
    let socket = stream_socket(AddressFamily::UNIX)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(TcpStream::from(socket))
}

fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?)
}

/// Leaves the choice of a port to connect(2), which knows the peer: bind(2) would take each port once for all peers
/// (ip(7), `IP_BIND_ADDRESS_NO_PORT`). A kernel without it has fewer ports, which is told when they run out.
fn choose_port_late(socket: &OwnedFd) {
    let (on, length) = (1_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes of `on`, which lives through the call.
    unsafe {
        let value = (&raw const on).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, length);
    }
}

/// Gives a listener a queue of new connections as long as the host allows (`net.core.somaxconn`). The standard
/// library's of 128 drops connections that come in hundreds, and each tries again after a second.
///
/// # Errors
/// What listen(2) says; a second listen(2) changes the queue's length only.
pub fn lengthen_backlog(listener: &impl AsFd) -> io::Result<()> {
    Ok(listen(listener, i32::MAX)?)
}

/// Reads `struct tcp_info` of a socket (tcp(7)) and tells how many bytes of it this kernel knows; `None` where it is
/// no TCP socket.
pub fn tcp_info(fd: RawFd, into: &mut [u8]) -> Option<usize> {
    option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, into)
}

/// Reads the memory counters of a socket (`SO_MEMINFO`, since Linux 4.12) and tells how many bytes there are.
pub fn memory_info(fd: RawFd, into: &mut [u8]) -> Option<usize> {
    option(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, into)
}

/// A socket while which is open the kernel stamps every packet that arrives at this host (`SO_TIMESTAMPNS`, socket(7)),
/// for other sockets too: a clock reading a packet.
///
/// # Errors
/// What socket(2) or setsockopt(2) says.
pub fn stamp_arrivals() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let on: libc::c_int = 1;
    // SAFETY: reads one integer, which lives until it returns.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(socket)
    } else {
        Err(io::Error::last_os_error())
    }
}

fn option(fd: RawFd, level: i32, name: i32, into: &mut [u8]) -> Option<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the room that `into` has.
    let result = unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) };
    (result == 0).then_some((length as usize).min(into.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_connection_that_was_only_begun_becomes_one() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A host without IPv6 has nothing to show here.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            lengthen_backlog(&listener).unwrap();
            let mut ours = start_connecting(listener.local_addr().unwrap(), None).unwrap();
            let error = ours.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            let (mut theirs, _) = listener.accept().unwrap();
            theirs.write_all(b"hello").unwrap();
            ours.set_nonblocking(false).unwrap();
            let mut said = [0; 5];
            ours.read_exact(&mut said).unwrap();
            assert_eq!(&said, b"hello");
        }
    }

    #[test]
    fn connections_from_one_port_range_share_ports_where_their_peers_differ() {
        let listeners = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        for listener in &listeners {
            let source = "127.0.0.7".parse().unwrap();
            let ours = start_connecting(listener.local_addr().unwrap(), Some(source)).unwrap();
            let (_, theirs) = listener.accept().unwrap();
            assert_eq!(theirs.ip(), source);
            assert_eq!(ours.local_addr().unwrap().ip(), source);
        }
    }
}
