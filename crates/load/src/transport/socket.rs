//! Sockets as both transports open them.
#![allow(unsafe_code)]

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};

/// A non-blocking connect(2), which the standard library does not offer.
pub fn start_connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just created and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let result = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: `raw` is a whole sockaddr_in and lives through the call.
            unsafe { libc::connect(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in>() as u32) }
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: `raw` is a whole sockaddr_in6 and lives through the call.
            unsafe { libc::connect(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in6>() as u32) }
        }
    };
    let error = io::Error::last_os_error();
    if result < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        return Err(error);
    }
    Ok(TcpStream::from(socket))
}
