//! Network interfaces: what only the kernel's tables and ioctl(2) tell.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

/// `SIOCETHTOOL` (`linux/sockios.h`), `ETHTOOL_GET_TS_INFO` (`linux/ethtool.h`).
pub(crate) const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// `struct ethtool_ts_info` as numbers: command, `so_timestamping`, `phc_index`, `tx_types`, three reserved,
/// `rx_filters`, three reserved.
const TS_INFO_FIELDS: usize = 11;

/// What an interface's driver can stamp.
#[derive(Clone, Copy, Debug)]
pub struct Stamping {
    flags: u32,
    transmit: u32,
    receive: u32,
}

impl Stamping {
    /// What the driver of `name` says (ethtool(8), `-T`).
    pub fn read(name: &str) -> Option<Self> {
        let mut info = [0_u32; TS_INFO_FIELDS];
        info[0] = ETHTOOL_GET_TS_INFO;
        request(name, SIOCETHTOOL, &mut info).ok()?;
        Some(Self { flags: info[1], transmit: info[3], receive: info[7] })
    }

    /// It lets the kernel stamp what leaves.
    pub fn software(self) -> bool {
        self.has(libc::SOF_TIMESTAMPING_TX_SOFTWARE)
    }

    /// The card itself can stamp every packet, both ways.
    pub fn hardware(self) -> bool {
        self.has(
            libc::SOF_TIMESTAMPING_TX_HARDWARE
                | libc::SOF_TIMESTAMPING_RX_HARDWARE
                | libc::SOF_TIMESTAMPING_RAW_HARDWARE,
        ) && self.transmit & 1 << libc::HWTSTAMP_TX_ON != 0
            && self.receive & 1 << libc::HWTSTAMP_FILTER_ALL != 0
    }

    fn has(self, bits: u32) -> bool {
        self.flags & bits == bits
    }
}

/// Whether the card of `name` is set to stamp every packet, both ways; `None` where its driver does not tell.
pub fn stamps_all_packets(name: &str) -> Option<bool> {
    // `struct hwtstamp_config`: flags, tx_type, rx_filter.
    let mut setting = [0_u32; 3];
    request(name, libc::SIOCGHWTSTAMP, &mut setting).ok()?;
    Some(setting[1] == libc::HWTSTAMP_TX_ON && setting[2] == libc::HWTSTAMP_FILTER_ALL)
}

/// `struct ifreq` with a pointer in its union.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut libc::c_void,
    rest: [u8; 16],
}

/// One ioctl about an interface, with the structure that `question` takes as its numbers.
///
/// Private to this crate, because `data` has to be as large as the question's structure.
pub(crate) fn request<const N: usize>(
    name: &str,
    question: libc::c_ulong,
    data: &mut [u32; N],
) -> io::Result<()> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: data.as_mut_ptr().cast(), rest: [0; 16] };
    let room = request.name.get_mut(..name.len()).filter(|room| room.len() < libc::IFNAMSIZ);
    room.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(name.as_bytes());
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the request is a whole ifreq, ours to write through the call; its pointer is to `data`, which the
    // callers, all of this crate, make as large as the structure that the question reads and fills in.
    match unsafe { libc::ioctl(socket.as_raw_fd(), question as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The interface that bears `address` (getifaddrs(3)).
pub fn bearer(address: IpAddr) -> Option<String> {
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
    // SAFETY: as the caller promises; the reads need no alignment.
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
