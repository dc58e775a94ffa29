//! System calls and control messages for time stamps.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;

use super::{Segment, Source, Stamp, TransmitStamp};

/// Space for the control messages of one read: `scm_timestamping` (48 bytes), `sock_extended_err` with an
/// address (32), their headers (16 each), and a reserve.
pub const CONTROL: usize = 256;

/// Socket options (`linux/net_tstamp.h`): receive stamps on every read, keys for transmit stamps, and no copy
/// of the packet with them. Hardware stamps are requested together with software stamps.
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

/// Return the flags that request a transmit stamp for a write.
const fn transmit_flags(source: Source) -> u32 {
    match source {
        Source::Software => libc::SOF_TIMESTAMPING_TX_SOFTWARE,
        Source::Hardware => libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_TX_HARDWARE,
    }
}

#[repr(C, align(8))]
struct Control([u8; CONTROL]);

impl Control {
    /// Return the part that a call filled, according to `message`.
    fn contents(&self, message: &libc::msghdr) -> &[u8] {
        &self.0[..message.msg_controllen.min(CONTROL)]
    }
}

/// Enable stamps on a connected socket.
pub fn enable(fd: RawFd, source: Source) -> io::Result<()> {
    let flags = flags(source);
    // SAFETY: the value is a u32 that lives through the call.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, (&raw const flags).cast(), 4)
    };
    check(result as isize).map(drop)
}

/// Call recv(2). Also return the stamp of the last segment that contributed bytes.
pub fn read(fd: RawFd, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
    receive(fd, into.as_mut_ptr(), into.len(), 0)
}

/// The same as [`read`], but leave the bytes in the socket for [`take`].
pub fn peek(fd: RawFd, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
    receive(fd, into.as_mut_ptr(), into.len(), libc::MSG_PEEK)
}

/// Consume `bytes` peeked bytes. `more`: whether more bytes were peeked after them.
pub fn take(fd: RawFd, bytes: usize, more: bool) -> Segment {
    // With MSG_TRUNC, TCP discards the bytes without copying (tcp(7)).
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
    // SAFETY: the header points to live buffers of the stated lengths, or the flags tell the kernel to write
    // no bytes.
    let got = check(unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_DONTWAIT | flags) })?;
    Ok((got as usize, receive_stamp(control.contents(&message))))
}

/// Return the receive stamp in the control messages of a read.
pub fn receive_stamp(control: &[u8]) -> Stamp {
    let mut stamp = Stamp::default();
    for (level, kind, data) in messages(control) {
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPING {
            stamp = stamp_of(data);
        }
    }
    stamp
}

/// Call send(2) without a stamp.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer is valid for `bytes.len()` bytes.
    check(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) }).map(|n| n as usize)
}

/// Call send(2) and request a transmit stamp.
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
        libc::CMSG_DATA(first).cast::<u32>().write_unaligned(transmit_flags(source));
        libc::sendmsg(fd, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
    };
    check(sent).map(|n| n as usize)
}

/// Return one transmit stamp from the error queue, or `None` if it is empty or holds something else.
pub fn next_transmit_stamp(fd: RawFd) -> Option<TransmitStamp> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut message = header(&mut part, &mut control);
    // SAFETY: as in `receive`; only control messages are read, no bytes.
    check(unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) }).ok()?;
    parse_transmit_stamp(control.contents(&message))
}

/// Return the transmit stamp in the control messages of an error.
fn parse_transmit_stamp(control: &[u8]) -> Option<TransmitStamp> {
    let (mut stamp, mut key) = (Stamp::default(), None);
    for (level, kind, data) in messages(control) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = stamp_of(data),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => key = key_of(data),
            _ => {}
        }
    }
    (stamp != Stamp::default()).then_some(TransmitStamp { key: key?, stamp })
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

/// Size of a control message's header: length (including the header), level and kind (`struct cmsghdr`).
/// Messages are aligned.
const HEADER: usize = size_of::<libc::cmsghdr>();
const ALIGNMENT: usize = size_of::<usize>();

/// Iterate over level, kind and data of each complete control message. Lengths are checked against the bytes
/// that are there.
fn messages(mut control: &[u8]) -> impl Iterator<Item = (i32, i32, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(control.get(..ALIGNMENT)?.try_into().ok()?);
        let word = |at: usize| Some(i32::from_ne_bytes(control.get(at..at + 4)?.try_into().ok()?));
        let (level, kind) = (word(ALIGNMENT)?, word(ALIGNMENT + 4)?);
        let data = control.get(HEADER..length)?;
        control = control.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some((level, kind, data))
    })
}

/// Parse `scm_timestamping`: three timespecs, of which the first is the software stamp and the last the
/// hardware stamp. A missing stamp is zero.
fn stamp_of(data: &[u8]) -> Stamp {
    let word = |i: usize| Some(u64::from_ne_bytes(data.get(8 * i..8 * i + 8)?.try_into().ok()?));
    let time = |i: usize| Some(word(2 * i)?.wrapping_mul(1_000_000_000).wrapping_add(word(2 * i + 1)?));
    Stamp { software_ns: time(0).unwrap_or(0), hardware_ns: time(2).unwrap_or(0) }
}

/// Return the key in the `sock_extended_err` of a stamp: origin `SO_EE_ORIGIN_TIMESTAMPING` (4), key in
/// `ee_data`.
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

    /// Return control messages as a kernel would write them.
    fn control_messages(parts: &[(i32, i32, Vec<u8>)]) -> Vec<u8> {
        let mut control = Vec::new();
        for (level, kind, data) in parts {
            control.extend((HEADER + data.len()).to_ne_bytes());
            control.extend(level.to_ne_bytes());
            control.extend(kind.to_ne_bytes());
            control.extend(data);
            control.resize(control.len().next_multiple_of(ALIGNMENT), 0);
        }
        control
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
    fn a_read_returns_the_stamp_of_each_source() {
        let check = |parts: &[(i32, i32, Vec<u8>)], software_ns, hardware_ns| {
            assert_eq!(receive_stamp(&control_messages(parts)), Stamp { software_ns, hardware_ns });
        };
        check(&[], 0, 0);
        check(&[timespecs([3, 5], [0, 0])], 3_000_000_005, 0);
        check(&[timespecs([0, 0], [7, 1])], 0, 7_000_000_001);
        let other = (libc::SOL_IP, libc::IP_TTL, vec![64, 0, 0, 0]);
        let both = timespecs([1_700_000_000, 1], [7, 999_999_999]);
        check(&[other, both], 1_700_000_000_000_000_001, 7_999_999_999);
        // Truncated, as by a kernel without space.
        let cut = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, 3_u64.to_ne_bytes().to_vec());
        check(&[cut], 0, 0);
    }

    #[test]
    fn an_invalid_length_ends_the_messages() {
        let whole = control_messages(&[timespecs([3, 5], [0, 0])]);
        // No header, less than a header, more than the buffer, more than possible; truncated at any byte.
        for length in [0, HEADER - 1, whole.len() + 1, usize::MAX] {
            let mut control = control_messages(&[timespecs([9, 9], [0, 0]), timespecs([3, 5], [0, 0])]);
            control[whole.len()..whole.len() + ALIGNMENT].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(receive_stamp(&control).software_ns, 9_000_000_009, "{length}");
        }
        for cut in 0..whole.len() {
            assert_eq!(receive_stamp(&whole[..cut]), Stamp::default(), "{cut}");
        }
        let shifted: Vec<u8> = [&[0], &whole[..]].concat();
        assert_eq!(receive_stamp(&shifted[1..]).software_ns, 3_000_000_005, "at any alignment");
    }

    #[test]
    fn messages_are_parsed_as_the_system_writes_them() {
        let mut control = Control([0; CONTROL]);
        let mut part = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut message = header(&mut part, &mut control);
        // SAFETY: CMSG_* only compute within `control`, which has room for two messages of 5 and 4 bytes.
        unsafe {
            let mut at = libc::CMSG_FIRSTHDR(&raw const message);
            for (level, length) in [(7, 5), (8, 4)] {
                (*at).cmsg_level = level;
                (*at).cmsg_type = 1;
                (*at).cmsg_len = libc::CMSG_LEN(length) as _;
                libc::CMSG_DATA(at).write_bytes(level as u8, length as usize);
                at = libc::CMSG_NXTHDR(&raw const message, at);
            }
            message.msg_controllen = (libc::CMSG_SPACE(5) + libc::CMSG_SPACE(4)) as _;
        }
        let read: Vec<_> = messages(control.contents(&message)).collect();
        assert_eq!(read, [(7, 1, &[7; 5][..]), (8, 1, &[8; 4][..])]);
    }

    #[test]
    fn an_error_with_key_and_time_is_a_transmit_stamp() {
        let parse = |parts: &[(i32, i32, Vec<u8>)]| parse_transmit_stamp(&control_messages(parts));
        let origin = libc::SO_EE_ORIGIN_TIMESTAMPING;
        for (level, kind) in [(libc::SOL_IP, libc::IP_RECVERR), (libc::SOL_IPV6, libc::IPV6_RECVERR)] {
            let named = (level, kind, error(origin, 41));
            let software =
                TransmitStamp { key: 41, stamp: Stamp { software_ns: 2_000_000_009, hardware_ns: 0 } };
            assert_eq!(parse(&[timespecs([2, 9], [0, 0]), named.clone()]), Some(software));
            let hardware =
                TransmitStamp { key: 41, stamp: Stamp { software_ns: 0, hardware_ns: 2_000_000_009 } };
            assert_eq!(parse(&[timespecs([0, 0], [2, 9]), named.clone()]), Some(hardware));
            assert_eq!(parse(std::slice::from_ref(&named)), None, "no stamp");
            assert_eq!(parse(&[timespecs([0, 0], [0, 0]), named]), None, "no stamp");
        }
        assert_eq!(parse(&[timespecs([2, 9], [0, 0])]), None, "no key");
        let icmp = (libc::SOL_IP, libc::IP_RECVERR, error(libc::SO_EE_ORIGIN_ICMP, 41));
        assert_eq!(parse(&[timespecs([2, 9], [0, 0]), icmp]), None, "another error");
        let cut = (libc::SOL_IP, libc::IP_RECVERR, error(origin, 41)[..8].to_vec());
        assert_eq!(parse(&[timespecs([2, 9], [0, 0]), cut]), None, "truncated");
    }

    #[test]
    fn hardware_stamps_are_always_requested_together_with_software_stamps() {
        for source in [Source::Software, Source::Hardware] {
            let software = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
            assert_eq!(flags(source) & software, software);
            let hardware = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
            assert_eq!(flags(source) & hardware != 0, source == Source::Hardware);
            assert_eq!(
                transmit_flags(source) & libc::SOF_TIMESTAMPING_TX_HARDWARE != 0,
                source == Source::Hardware
            );
        }
    }
}
