//! What the standard library does not do with sockets.
#![allow(unsafe_code)]

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, RawFd};

use rustix::io::Errno;
use rustix::net::{connect, listen, socket_with, AddressFamily, SocketFlags, SocketType};

/// A connect(2) that does not wait for the peer.
///
/// # Errors
/// What socket(2) or connect(2) says at once.
pub fn start_connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
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
            let mut ours = start_connecting(listener.local_addr().unwrap()).unwrap();
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
}
