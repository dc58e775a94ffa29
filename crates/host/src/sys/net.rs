//! Interfaces: questions that only sockets answer.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

/// `linux/sockios.h`, `linux/ethtool.h`.
pub(super) const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// `struct ethtool_ts_info`.
#[repr(C)]
struct TsInfo {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct hwtstamp_config`.
#[repr(C)]
struct Setting {
    flags: i32,
    tx_type: u32,
    rx_filter: u32,
}

/// What an interface can stamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Able {
    /// `SOF_TIMESTAMPING_*`.
    pub flags: u32,
    /// One bit for each `HWTSTAMP_TX_*`.
    pub transmit: u32,
    /// One bit for each `HWTSTAMP_FILTER_*`.
    pub receive: u32,
}

/// `struct ifreq` with a pointer in its union.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut libc::c_void,
    rest: [u8; 16],
}

/// What the driver of `name` can stamp (ethtool(8), `-T`).
pub(crate) fn stamping(name: &str) -> Option<Able> {
    let mut info = TsInfo {
        command: ETHTOOL_GET_TS_INFO,
        so_timestamping: 0,
        phc_index: -1,
        tx_types: 0,
        tx_reserved: [0; 3],
        rx_filters: 0,
        rx_reserved: [0; 3],
    };
    ask(name, SIOCETHTOOL, (&raw mut info).cast())?;
    Some(Able { flags: info.so_timestamping, transmit: info.tx_types, receive: info.rx_filters })
}

/// What the card of `name` is set to stamp: `HWTSTAMP_TX_*` and `HWTSTAMP_FILTER_*`.
pub(crate) fn hardware_stamping(name: &str) -> Option<(u32, u32)> {
    let mut setting = Setting { flags: 0, tx_type: 0, rx_filter: 0 };
    ask(name, libc::SIOCGHWTSTAMP, (&raw mut setting).cast())?;
    Some((setting.tx_type, setting.rx_filter))
}

/// [`tell`], where only success matters.
fn ask(name: &str, question: libc::c_ulong, data: *mut libc::c_void) -> Option<()> {
    tell(name, question, data).ok()
}

/// One ioctl about an interface; `data` is what the question asks for, and as large.
pub(super) fn tell(name: &str, question: libc::c_ulong, data: *mut libc::c_void) -> io::Result<()> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data, rest: [0; 16] };
    let room = request.name.get_mut(..name.len()).filter(|room| room.len() < libc::IFNAMSIZ);
    room.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(name.as_bytes());
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the request is a whole ifreq whose pointer is to the structure that the question fills in.
    match unsafe { libc::ioctl(socket.as_raw_fd(), question as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The address that a packet to `address` would come from: connecting a datagram socket looks up the
/// route and sends nothing.
pub(crate) fn source_towards(address: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr =
        if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let connected = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind(any)?;
        socket.connect((address.ip(), address.port().max(1)))?;
        Ok(socket.local_addr()?.ip())
    };
    connected().ok()
}

/// The interface that bears `address` (getifaddrs(3)).
pub(crate) fn bearer(address: IpAddr) -> Option<String> {
    let mut first = ptr::null_mut();
    // SAFETY: the list is the C library's until it is freed, and each of its entries is whole; an address is
    // read as what its family says it is.
    unsafe {
        if libc::getifaddrs(&raw mut first) != 0 {
            return None;
        }
        let (mut at, mut found) = (first, None);
        while !at.is_null() && found.is_none() {
            let entry = &*at;
            if ip_of(entry.ifa_addr) == Some(address) {
                found = Some(CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned());
            }
            at = entry.ifa_next;
        }
        libc::freeifaddrs(first);
        found
    }
}

/// # Safety
/// `address` is null or points to a socket address as large as its family says.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: as the caller promises; the C library aligns its entries.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let raw = ptr::read_unaligned(address.cast::<libc::sockaddr_in>());
                Some(Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let raw = ptr::read_unaligned(address.cast::<libc::sockaddr_in6>());
                Some(Ipv6Addr::from(raw.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}
