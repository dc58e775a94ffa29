//! The ring file: a header of names, then blocks that are written in turn. The file never grows.
//!
//! `hindmost.ring/1` (0.1.0) first version; samples were of kind 1, differences one by one, which is still read.
//!
//! ```text
//!  header (16 KiB): JSON, padded with spaces     block 0 | block 1 | block 2 | ...      16 KiB each
//!  block:  "HMRING1\n"  lap (u64)   record, record, ...
//!  record: length (u16)  kind (u8)  payload  check (u32)
//! ```
//!
//! The first sample of a block is whole, later ones say which values are not as foretold (a bit each), and by how much
//! (varints): a level stays as it is, a total grows as it did. A block can be read without the others, and what goes on
//! as before costs a bit. The check is seeded with the block's lap, so that a reader stops where
//! the writer was cut off, and takes nothing from an earlier lap for new. A record is one write.

mod foretold;
mod reader;
mod varint;
mod writer;

pub use reader::{read, Frames};
pub(crate) use writer::Ring;

pub(crate) const HEADER: usize = 16 * 1024;
pub(crate) const BLOCK: usize = 16 * 1024;
pub(crate) const MAGIC: &[u8; 8] = b"HMRING1\n";
pub(crate) const SCHEMA: &str = "hindmost.ring/1";
/// Magic and lap.
pub(crate) const BLOCK_HEAD: usize = 16;
/// Length, kind, check.
pub(crate) const RECORD_EXTRA: usize = 7;

pub(crate) const SAMPLE: u8 = 1;
pub(crate) const EVENT: u8 = 2;
pub(crate) const HISTOGRAM: u8 = 3;
pub(crate) const FORETOLD: u8 = 4;

/// FNV-1a, seeded.
pub(crate) fn check(lap: u64, bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(lap.to_le_bytes().iter().fold(0x811c_9dc5, step), step)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::counters::{Id, Values};
    use crate::NerveError;

    /// A ring of eight blocks in a file of its own.
    struct Fixture(PathBuf);

    const BYTES: u64 = (HEADER + 8 * BLOCK) as u64;

    impl Fixture {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("hindmost-{name}-{}.ring", std::process::id())))
        }

        fn open(&self) -> Ring {
            Ring::open(&self.0, BYTES, &json!({"application": "x"})).unwrap()
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
            let _ = std::fs::remove_file(self.0.with_extension("old"));
        }
    }

    fn fill(ring: &mut Ring, numbers: std::ops::Range<u64>) {
        let mut values = Values::new();
        for number in numbers {
            values.set(Id::AppRun, number * 1_000);
            values.set(Id::LatencyP99, mixed(number));
            ring.sample(number * 1_000_000_000, 5_000_000 + number * 1_000_000_000, &values).unwrap();
        }
    }

    fn mixed(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    /// Whether the samples are those of `fill`, in order and without a gap; the first and last second.
    fn seconds(frames: &Frames) -> (i64, i64) {
        for (at, row) in frames.at_us.iter().zip(frames.values.chunks(frames.names.len())) {
            let number = at / 1_000_000;
            assert_eq!(row[Id::AppRun as usize], number * 1_000);
            assert_eq!(row[Id::LatencyP99 as usize], mixed(number as u64) as i64);
        }
        assert!(frames.at_us.windows(2).all(|two| two[1] - two[0] == 1_000_000));
        (frames.at_us[0] / 1_000_000, frames.at_us.last().unwrap() / 1_000_000)
    }

    #[test]
    fn what_was_written_is_read_with_its_events_and_histograms() {
        let place = Fixture::new("whole");
        let mut ring = place.open();
        ring.event(7_000, &json!({"gap": "x"})).unwrap();
        ring.histogram(8_000, &[(3, 1), (500, 7)]).unwrap();
        fill(&mut ring, 0..100);
        let frames = read(&place.0).unwrap();
        assert_eq!(seconds(&frames), (0, 99));
        assert_eq!(frames.events, [(7, r#"{"gap":"x"}"#.to_owned())]);
        assert_eq!(frames.histograms, [(8, vec![(3, 1), (500, 7)])]);
        assert!(frames.offset_us.iter().all(|offset| *offset == 5_000) && !frames.cut);
        // What goes on as before costs a bit.
        assert!(ring.written < 100 * 35, "{}", ring.written);
    }

    #[test]
    fn the_file_never_grows_and_the_newest_samples_stay() {
        let place = Fixture::new("laps");
        let mut ring = place.open();
        let before = std::fs::metadata(&place.0).unwrap().len();
        fill(&mut ring, 0..20_000);
        assert_eq!(std::fs::metadata(&place.0).unwrap().len(), before);
        let (first, last) = seconds(&read(&place.0).unwrap());
        assert_eq!(last, 19_999);
        assert!(first > 10_000 && last - first > 1_000, "{first}");
    }

    #[test]
    fn a_ring_goes_on_after_its_writer_and_two_cannot_write_it() {
        let place = Fixture::new("again");
        let mut ring = place.open();
        fill(&mut ring, 0..500);
        assert!(matches!(Ring::open(&place.0, BYTES, &json!({})), Err(NerveError::Held(_))));
        drop(ring);
        fill(&mut place.open(), 500..900);
        assert_eq!(seconds(&read(&place.0).unwrap()), (0, 899));
    }

    #[test]
    fn a_ring_that_was_cut_off_anywhere_is_read_as_far_as_it_goes() {
        let place = Fixture::new("cut");
        fill(&mut place.open(), 0..600);
        let whole = std::fs::metadata(&place.0).unwrap().len();
        for back in 1..=50 {
            let length = whole - back * (whole - HEADER as u64) / 50;
            OpenOptions::new().write(true).open(&place.0).unwrap().set_len(length).unwrap();
            let frames = read(&place.0).unwrap();
            assert!(frames.cut);
            if !frames.at_us.is_empty() {
                seconds(&frames);
            }
        }
        OpenOptions::new().write(true).open(&place.0).unwrap().set_len(100).unwrap();
        assert!(matches!(read(&place.0), Err(NerveError::NoRing { .. })));
    }

    #[test]
    fn a_broken_byte_costs_the_rest_of_its_block_only() {
        let place = Fixture::new("broken");
        fill(&mut place.open(), 0..3_000);
        let mut bytes = std::fs::read(&place.0).unwrap();
        bytes[HEADER + BLOCK + 5_000] ^= 0x55;
        std::fs::write(&place.0, bytes).unwrap();
        let frames = read(&place.0).unwrap();
        assert!(frames.at_us.len() > 1_500 && frames.at_us.len() < 3_000, "{}", frames.at_us.len());
        for (at, row) in frames.at_us.iter().zip(frames.values.chunks(frames.names.len())) {
            assert_eq!(row[Id::AppRun as usize], at / 1_000);
        }
    }

    #[test]
    fn a_ring_that_finds_no_room_leaves_no_file() {
        let place = Fixture::new("room");
        assert!(matches!(Ring::open(&place.0, u64::MAX / 4, &json!({})), Err(NerveError::Ring { .. })));
        assert!(!place.0.exists());
    }

    #[test]
    fn what_was_no_ring_is_kept_beside_the_new_one() {
        let fixture = Fixture::new("other");
        std::fs::write(&fixture.0, "notes").unwrap();
        drop(fixture.open());
        assert_eq!(std::fs::read_to_string(fixture.0.with_extension("old")).unwrap(), "notes");
        assert!(reader::read(&fixture.0).is_ok());
    }
}
