//! Socket functions that the standard library lacks.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{
    bind, connect, listen, recv, socket_with, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags,
    SocketType,
};

/// Start a connect(2) without waiting for the peer, from the local address `source` if given.
///
/// # Errors
/// The immediate error of socket(2), bind(2) or connect(2).
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

/// Start a connection to a Unix socket. The type is `TcpStream` because read, write and close are the same calls.
///
/// # Errors
/// The immediate error of socket(2) or connect(2); `WouldBlock` if the server's accept queue is full.
pub fn start_connecting_unix(path: &Path) -> io::Result<TcpStream> {
    let socket = stream_socket(AddressFamily::UNIX)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(TcpStream::from(socket))
}

fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?)
}

/// Let connect(2), which knows the peer, choose the port: bind(2) would use each port once for all peers (ip(7),
/// `IP_BIND_ADDRESS_NO_PORT`). Kernels without it have fewer ports, which is reported when they run out.
fn choose_port_late(socket: &OwnedFd) {
    let (on, length) = (1_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes of `on`, which lives through the call.
    unsafe {
        let value = (&raw const on).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, length);
    }
}

/// Whether a connection has received nothing that is unread, not even its end.
pub fn is_silent(socket: &impl AsFd) -> bool {
    recv(socket, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_err_and(|error| error == Errno::AGAIN)
}

/// Make a listener's accept queue as long as the host allows (`net.core.somaxconn`). The standard library's 128
/// drops connections that arrive in hundreds, and each is retried after a second.
///
/// # Errors
/// The error of listen(2); a second listen(2) only changes the queue's length.
pub fn lengthen_backlog(listener: &impl AsFd) -> io::Result<()> {
    Ok(listen(listener, i32::MAX)?)
}

/// Read `struct tcp_info` of a socket (tcp(7)) and return how many bytes this kernel fills; `None` if it is not a
/// TCP socket.
pub fn tcp_info(fd: RawFd, into: &mut [u8]) -> Option<usize> {
    option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, into)
}

/// Read the memory counters of a socket (`SO_MEMINFO`, Linux 4.12 or newer) and return the number of bytes.
pub fn memory_info(fd: RawFd, into: &mut [u8]) -> Option<usize> {
    option(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, into)
}

/// Open a socket that makes the kernel stamp every packet that arrives at this host while it is open
/// (`SO_TIMESTAMPNS`, socket(7)), for other sockets, too. It costs a clock reading per packet.
///
/// # Errors
/// The error of socket(2) or setsockopt(2).
pub fn stamp_arrivals() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let on: libc::c_int = 1;
    // SAFETY: the call reads one integer, which lives until it returns.
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
    // SAFETY: the kernel writes at most `length` bytes, the size of `into`.
    let result = unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) };
    (result == 0).then_some((length as usize).min(into.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn a_started_connection_is_completed() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A host without IPv6 is skipped.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            lengthen_backlog(&listener).unwrap();
            let mut ours = start_connecting(listener.local_addr().unwrap(), None).unwrap();
            let error = ours.read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            let (mut theirs, _) = listener.accept().unwrap();
            theirs.write_all(b"hello").unwrap();
            ours.set_nonblocking(false).unwrap();
            let mut received = [0; 5];
            ours.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"hello");
        }
    }

    #[test]
    fn connections_to_different_peers_share_ports() {
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
