//! The system calls and control messages of stamps.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

use super::{Segment, Sent, Source, Stamp};

/// Room for the control messages of one read: `scm_timestamping` (48 bytes), `sock_extended_err` with
/// an address (32), their headers (16 each), and some to spare.
pub const CONTROL: usize = 256;

/// What is asked of a socket (`linux/net_tstamp.h`): receive stamps on every read, names for transmit
/// stamps, and no copy of the packet with them. Beside a hardware stamp the software stamp is wanted, too.
const fn flags(source: Source) -> u32 {
    let software = libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    match source {
        Source::Software => software,
        Source::Hardware => {
            software
                | libc::SOF_TIMESTAMPING_RX_HARDWARE
                | libc::SOF_TIMESTAMPING_RAW_HARDWARE
                | libc::SOF_TIMESTAMPING_OPT_TX_SWHW
        }
    }
}

/// What is asked of a write.
const fn question(source: Source) -> u32 {
    match source {
        Source::Software => libc::SOF_TIMESTAMPING_TX_SOFTWARE,
        Source::Hardware => libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_TX_HARDWARE,
    }
}

#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Switches stamps on for a connected socket.
pub fn enable(fd: RawFd, source: Source) -> io::Result<()> {
    let flags = flags(source);
    // SAFETY: the value is a u32 that lives through the call.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, (&raw const flags).cast(), 4)
    };
    check(result as isize).map(drop)
}

/// recv(2) with the stamp of the last segment that gave bytes.
pub fn read(fd: RawFd, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
    receive(fd, into.as_mut_ptr(), into.len(), 0)
}

/// As [`read`], but the bytes stay there: [`take`] them.
pub fn peek(fd: RawFd, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
    receive(fd, into.as_mut_ptr(), into.len(), libc::MSG_PEEK)
}

/// Takes `bytes` that were peeked off the stream; `more` says whether others were peeked behind them.
pub fn take(fd: RawFd, bytes: usize, more: bool) -> Segment {
    // TCP copies nothing where MSG_TRUNC is given (tcp(7)).
    let Ok((_, stamp)) = receive(fd, std::ptr::null_mut(), bytes, libc::MSG_TRUNC) else {
        return Segment::default();
    };
    let mut next = [0];
    let behind = if more { peek(fd, &mut next).ok() } else { None };
    let same = behind.is_some_and(|(_, other)| other == stamp);
    Segment { stamp, shared: same && stamp != Stamp::default() }
}

fn receive(fd: RawFd, into: *mut u8, length: usize, flags: i32) -> io::Result<(usize, Stamp)> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: into.cast(), iov_len: length };
    let mut message = header(&mut part, &mut control);
    // SAFETY: the header's pointers are to live buffers of the lengths that it names, or the flags tell the
    // kernel to write no bytes.
    let got = check(unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_DONTWAIT | flags) })?;
    Ok((got as usize, stamp_among(&message)))
}

/// The receive stamp in the control messages that a read left.
pub fn received(control: &[u8]) -> Stamp {
    // SAFETY: an all-zero msghdr is a valid empty one; what it points to is only read.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_ptr().cast_mut().cast();
    message.msg_controllen = control.len() as _;
    stamp_among(&message)
}

fn stamp_among(message: &libc::msghdr) -> Stamp {
    let mut stamp = Stamp::default();
    each_control(message, |level, kind, data| {
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPING {
            stamp = stamp_of(data);
        }
    });
    stamp
}

/// send(2) without any stamp.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer is to as many bytes as said.
    check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) }).map(|n| n as usize)
}

/// send(2) that asks for a transmit stamp.
pub fn write_stamped(fd: RawFd, bytes: &[u8], source: Source) -> io::Result<usize> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut message = header(&mut part, &mut control);
    // SAFETY: CMSG_* only compute within `control`, which has room for one u32; sendmsg only reads.
    let sent = unsafe {
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SO_TIMESTAMPING;
        (*first).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(first).cast::<u32>().write_unaligned(question(source));
        libc::sendmsg(fd, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
    };
    check(sent).map(|n| n as usize)
}

/// One transmit stamp from the error queue; `None` when it is empty or holds something else.
pub fn next_sent(fd: RawFd) -> Option<Sent> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut message = header(&mut part, &mut control);
    // SAFETY: as in `receive`; no bytes are wanted, only control messages.
    check(unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) }).ok()?;
    sent(&message)
}

/// The transmit stamp among the control messages of an error.
fn sent(message: &libc::msghdr) -> Option<Sent> {
    let (mut stamp, mut key) = (Stamp::default(), None);
    each_control(message, |level, kind, data| match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = stamp_of(data),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => key = key_of(data),
        _ => {}
    });
    (stamp != Stamp::default()).then_some(Sent { key: key?, stamp })
}

fn header(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: an all-zero msghdr is a valid empty one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    message
}

fn each_control(message: &libc::msghdr, mut see: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: the kernel filled in `msg_controllen` bytes of well-formed control messages; CMSG_*
    // stay within them, and each message's data lies behind its header, `cmsg_len` in all.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while !at.is_null() {
            let data = libc::CMSG_DATA(at);
            let length = (*at).cmsg_len as usize - (data as usize - at as usize);
            see((*at).cmsg_level, (*at).cmsg_type, std::slice::from_raw_parts(data, length));
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
}

/// `scm_timestamping`: three timespecs, the software stamp first, the hardware stamp last; zero where
/// there is none.
fn stamp_of(data: &[u8]) -> Stamp {
    let word = |i: usize| Some(u64::from_ne_bytes(data.get(8 * i..8 * i + 8)?.try_into().ok()?));
    let time = |i: usize| Some(word(2 * i)?.wrapping_mul(1_000_000_000).wrapping_add(word(2 * i + 1)?));
    Stamp { software_ns: time(0).unwrap_or(0), hardware_ns: time(2).unwrap_or(0) }
}

/// `sock_extended_err` of a stamp: origin `SO_EE_ORIGIN_TIMESTAMPING` (4), the name in `ee_data`.
fn key_of(data: &[u8]) -> Option<u32> {
    (*data.get(4)? == libc::SO_EE_ORIGIN_TIMESTAMPING).then_some(())?;
    Some(u32::from_ne_bytes(data.get(12..16)?.try_into().ok()?))
}

fn check(result: isize) -> io::Result<isize> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control messages that a kernel would leave.
    fn message(control: &mut Control, parts: &[(i32, i32, Vec<u8>)]) -> libc::msghdr {
        let mut at = 0;
        for (level, kind, data) in parts {
            // SAFETY: these only compute.
            let (whole, length) = unsafe {
                (libc::CMSG_SPACE(data.len() as u32) as usize, libc::CMSG_LEN(data.len() as u32) as usize)
            };
            control.0[at..at + 8].copy_from_slice(&length.to_ne_bytes());
            control.0[at + 8..at + 12].copy_from_slice(&level.to_ne_bytes());
            control.0[at + 12..at + 16].copy_from_slice(&kind.to_ne_bytes());
            control.0[at + 16..at + 16 + data.len()].copy_from_slice(data);
            at += whole;
        }
        // SAFETY: an all-zero msghdr is a valid empty one.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = at as _;
        message
    }

    fn timespecs(software: [u64; 2], hardware: [u64; 2]) -> (i32, i32, Vec<u8>) {
        let words = [software[0], software[1], 0, 0, hardware[0], hardware[1]];
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, words.iter().flat_map(|w| w.to_ne_bytes()).collect())
    }

    /// `ee_errno`, `ee_origin`, type, code, padding, `ee_info`, `ee_data`, and the offender's address.
    fn error(origin: u8, key: u32) -> Vec<u8> {
        let mut data = vec![0; 32];
        data[..4].copy_from_slice(&libc::ENOMSG.to_ne_bytes());
        data[4] = origin;
        data[12..16].copy_from_slice(&key.to_ne_bytes());
        data
    }

    #[test]
    fn a_read_tells_each_sources_stamp() {
        let mut control = Control([0; CONTROL]);
        let check = |parts: &[(i32, i32, Vec<u8>)], software_ns, hardware_ns, control: &mut Control| {
            assert_eq!(stamp_among(&message(control, parts)), Stamp { software_ns, hardware_ns });
        };
        check(&[], 0, 0, &mut control);
        check(&[timespecs([3, 5], [0, 0])], 3_000_000_005, 0, &mut control);
        check(&[timespecs([0, 0], [7, 1])], 0, 7_000_000_001, &mut control);
        let other = (libc::SOL_IP, libc::IP_TTL, vec![64, 0, 0, 0]);
        let both = timespecs([1_700_000_000, 1], [7, 999_999_999]);
        check(&[other, both], 1_700_000_000_000_000_001, 7_999_999_999, &mut control);
        // Cut short, as by a kernel that had no room.
        let cut = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, 3_u64.to_ne_bytes().to_vec());
        check(&[cut], 0, 0, &mut control);
    }

    #[test]
    fn an_error_is_a_transmit_stamp_where_it_has_name_and_time() {
        let mut control = Control([0; CONTROL]);
        let mut of = |parts: &[(i32, i32, Vec<u8>)]| sent(&message(&mut control, parts));
        let origin = libc::SO_EE_ORIGIN_TIMESTAMPING;
        for (level, kind) in [(libc::SOL_IP, libc::IP_RECVERR), (libc::SOL_IPV6, libc::IPV6_RECVERR)] {
            let named = (level, kind, error(origin, 41));
            let software = Sent { key: 41, stamp: Stamp { software_ns: 2_000_000_009, hardware_ns: 0 } };
            assert_eq!(of(&[timespecs([2, 9], [0, 0]), named.clone()]), Some(software));
            let hardware = Sent { key: 41, stamp: Stamp { software_ns: 0, hardware_ns: 2_000_000_009 } };
            assert_eq!(of(&[timespecs([0, 0], [2, 9]), named.clone()]), Some(hardware));
            assert_eq!(of(std::slice::from_ref(&named)), None, "no time");
            assert_eq!(of(&[timespecs([0, 0], [0, 0]), named]), None, "no time");
        }
        assert_eq!(of(&[timespecs([2, 9], [0, 0])]), None, "no name");
        let icmp = (libc::SOL_IP, libc::IP_RECVERR, error(libc::SO_EE_ORIGIN_ICMP, 41));
        assert_eq!(of(&[timespecs([2, 9], [0, 0]), icmp]), None, "another error");
        let cut = (libc::SOL_IP, libc::IP_RECVERR, error(origin, 41)[..8].to_vec());
        assert_eq!(of(&[timespecs([2, 9], [0, 0]), cut]), None, "cut short");
    }

    #[test]
    fn hardware_is_asked_for_beside_software_and_never_without() {
        for source in [Source::Software, Source::Hardware] {
            let software = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
            assert_eq!(flags(source) & software, software);
            let hardware = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
            assert_eq!(flags(source) & hardware != 0, source == Source::Hardware);
            assert_eq!(
                question(source) & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0,
                source == Source::Hardware
            );
        }
    }
}
