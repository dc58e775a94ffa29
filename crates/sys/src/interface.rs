//! Properties of network interfaces from the kernel's tables and ioctl(2).
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

/// Time stamping abilities of an interface's driver.
#[derive(Clone, Copy, Debug)]
pub struct Stamping {
    flags: u32,
    transmit: u32,
    receive: u32,
}

impl Stamping {
    /// Query the driver of `name` (ethtool(8), `-T`).
    pub fn read(name: &str) -> Option<Self> {
        let mut info = [0_u32; TS_INFO_FIELDS];
        info[0] = ETHTOOL_GET_TS_INFO;
        request(name, SIOCETHTOOL, &mut info).ok()?;
        Some(Self { flags: info[1], transmit: info[3], receive: info[7] })
    }

    /// Whether the driver lets the kernel stamp outgoing packets.
    pub fn software(self) -> bool {
        self.has(libc::SOF_TIMESTAMPING_TX_SOFTWARE)
    }

    /// Whether the card can stamp every packet, in both directions.
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

/// Whether the card of `name` is set to stamp every packet, in both directions; `None` if its driver does not say.
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

/// Make one ioctl about an interface; `question` reads and fills its structure as the numbers `data`.
///
/// Private to this crate, because `data` must be as large as the structure of the question.
pub(crate) fn request<const N: usize>(
    name: &str,
    question: libc::c_ulong,
    data: &mut [u32; N],
) -> io::Result<()> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: data.as_mut_ptr().cast(), rest: [0; 16] };
    let room = request.name.get_mut(..name.len()).filter(|room| room.len() < libc::IFNAMSIZ);
    room.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(name.as_bytes());
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the request is a whole ifreq that we own during the call; its pointer is to `data`, which the
    // callers, all in this crate, make as large as the structure of the question.
    match unsafe { libc::ioctl(socket.as_raw_fd(), question as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Return the interface that has `address` (getifaddrs(3)).
pub fn name_of(address: IpAddr) -> Option<String> {
    let mut first = ptr::null_mut();
    // SAFETY: the list belongs to the C library until it is freed, and all its entries are complete; an address
    // is read according to its family.
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
/// `address` is null or points to a socket address of the size of its family.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: guaranteed by the caller; the reads need no alignment.
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
