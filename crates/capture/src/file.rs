//! Reads pcap files (draft-ietf-opsawg-pcap; the files that `tcpdump -w` writes).

use std::io::{self, Read};

use crate::CaptureError;

/// libpcap's `MAXIMUM_SNAPLEN` in bytes: the longest record.
const LONGEST: u32 = 262_144;

const HEADER: usize = 24;
const RECORD: usize = 16;

/// One packet as captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'b> {
    /// Time stamp in nanoseconds since the epoch.
    pub at_ns: u64,
    /// Length on the wire in bytes.
    pub original: u32,
    /// The captured part of the packet.
    pub bytes: &'b [u8],
}

/// Reads packets one after another.
pub struct Reader<R> {
    input: R,
    big_endian: bool,
    /// Nanoseconds per unit of a stamp's fraction.
    unit: u64,
    link: u32,
    at: u64,
    buffer: Vec<u8>,
    cut: bool,
}

impl<R: Read> Reader<R> {
    /// Read the header of the file.
    ///
    /// # Errors
    /// [`CaptureError`] if it is not a pcap file.
    pub fn new(mut input: R) -> Result<Self, CaptureError> {
        let mut header = [0; HEADER];
        let got = fill(&mut input, &mut header)?;
        if got < HEADER {
            return Err(CaptureError::TooShort(got as u64));
        }
        let magic = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
        let (big_endian, unit) = match magic {
            0xa1b2_c3d4 => (true, 1000),
            0xd4c3_b2a1 => (false, 1000),
            0xa1b2_3c4d => (true, 1),
            0x4d3c_b2a1 => (false, 1),
            _ => return Err(CaptureError::NotPcap(magic)),
        };
        let at = HEADER as u64;
        let mut reader = Self { input, big_endian, unit, link: 0, at, buffer: Vec::new(), cut: false };
        // The upper bits describe the frame check sequence.
        reader.link = reader.read_u32(&header, 20) & 0x03ff_ffff;
        Ok(reader)
    }

    /// Return the link type (`LINKTYPE_*`).
    pub fn link(&self) -> u32 {
        self.link
    }

    /// Whether the file ended within a packet, as it does if its writer was killed.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Return the next packet; `None` at the end.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] if a record is longer than the format allows.
    pub fn packet(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let mut head = [0; RECORD];
        let got = fill(&mut self.input, &mut head)?;
        if got < RECORD {
            self.cut |= got > 0;
            return Ok(None);
        }
        let length = self.read_u32(&head, 8);
        if length > LONGEST {
            return Err(CaptureError::Damaged { at: self.at, length, limit: LONGEST });
        }
        self.buffer.resize(length as usize, 0);
        if fill(&mut self.input, &mut self.buffer)? < length as usize {
            self.cut = true;
            return Ok(None);
        }
        self.at += RECORD as u64 + u64::from(length);
        let at_ns = u64::from(self.read_u32(&head, 0)) * 1_000_000_000
            + u64::from(self.read_u32(&head, 4)) * self.unit;
        Ok(Some(Record { at_ns, original: self.read_u32(&head, 12), bytes: &self.buffer }))
    }

    fn read_u32(&self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }
    }
}

/// Read until `into` is full or the input ends; return the number of bytes.
fn fill(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match input.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a file with packets of three and two bytes, in the given byte order.
    fn file_bytes(big_endian: bool, magic: u32) -> Vec<u8> {
        let word = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = Vec::new();
        for n in [magic, 0x0002_0004, 0, 0, 65_535, 1] {
            file.extend(word(n));
        }
        for (sec, fraction, bytes) in [(1, 5, &b"abc"[..]), (2, 999_999, b"de")] {
            for n in [sec, fraction, bytes.len() as u32, 60] {
                file.extend(word(n));
            }
            file.extend(bytes);
        }
        file
    }

    #[test]
    fn both_byte_orders_and_both_units_are_read() {
        for (big_endian, magic, unit) in [
            (true, 0xa1b2_c3d4, 1000),
            (false, 0xa1b2_c3d4, 1000),
            (true, 0xa1b2_3c4d, 1),
            (false, 0xa1b2_3c4d, 1),
        ] {
            let file = file_bytes(big_endian, magic);
            let mut reader = Reader::new(&file[..]).unwrap();
            assert_eq!(reader.link(), 1);
            let first = reader.packet().unwrap().unwrap();
            assert_eq!(
                (first.at_ns, first.original, first.bytes),
                (1_000_000_000 + 5 * unit, 60, &b"abc"[..])
            );
            let second = reader.packet().unwrap().unwrap();
            assert_eq!((second.at_ns, second.bytes), (2_000_000_000 + 999_999 * unit, &b"de"[..]));
            assert!(reader.packet().unwrap().is_none() && !reader.is_cut());
        }
    }

    #[test]
    fn a_file_cut_off_anywhere_gives_the_packets_before_the_cut() {
        let file = file_bytes(false, 0xa1b2_3c4d);
        for length in HEADER..file.len() {
            let mut reader = Reader::new(&file[..length]).unwrap();
            let mut packets = 0;
            while reader.packet().unwrap().is_some() {
                packets += 1;
            }
            let whole = usize::from(length >= HEADER + RECORD + 3);
            assert_eq!(packets, whole, "{length}");
            assert_eq!(reader.is_cut(), length != HEADER && length != HEADER + RECORD + 3, "{length}");
        }
    }

    #[test]
    fn files_that_are_not_captures_are_refused() {
        assert!(matches!(Reader::new(&b"short"[..]), Err(CaptureError::TooShort(5))));
        let pcapng = [&[0x0a, 0x0d, 0x0d, 0x0a][..], &[0; 40]].concat();
        assert!(matches!(Reader::new(&pcapng[..]), Err(CaptureError::NotPcap(0x0a0d_0d0a))));
        let mut huge = file_bytes(false, 0xa1b2_3c4d);
        huge[HEADER + 8..HEADER + 12].copy_from_slice(&u32::MAX.to_le_bytes());
        let mut reader = Reader::new(&huge[..]).unwrap();
        assert!(matches!(reader.packet(), Err(CaptureError::Damaged { at: 24, length: u32::MAX, .. })));
    }
}
