//! The ring file: a header with names, then blocks that are overwritten in turn. The file never grows.
//!
//! Version 1 (`hindmost.ring/1`). Early rings have samples of kind 1 with differences of single values; they are still
//! read.
//!
//! ```text
//!  header (16 KiB): JSON, padded with spaces     block 0 | block 1 | block 2 | ...      16 KiB each
//!  block:  "HMRING1\n"  lap (u64)   record, record, ...
//!  record: length (u16)  kind (u8)  payload  checksum (u32)
//! ```
//!
//! The first sample of a block is complete. A later one has one bit per value for a wrong prediction, and the error as
//! a varint; levels are predicted to stay, totals to grow as before. Each block can be read without the others. The
//! checksum is seeded with the block's lap: a reader stops where the writer was interrupted, and does not take an
//! earlier lap for a new one. Each record is one write.

mod prediction;
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
/// Length, kind and checksum.
pub(crate) const RECORD_EXTRA: usize = 7;

pub(crate) const SAMPLE: u8 = 1;
pub(crate) const EVENT: u8 = 2;
pub(crate) const HISTOGRAM: u8 = 3;
pub(crate) const PREDICTED: u8 = 4;

/// Checksum: FNV-1a, seeded.
pub(crate) fn checksum(lap: u64, bytes: &[u8]) -> u32 {
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

    /// A temporary ring file of eight blocks.
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
            values.set(Id::LatencyP99, mix(number));
            ring.sample(number * 1_000_000_000, 5_000_000 + number * 1_000_000_000, &values).unwrap();
        }
    }

    fn mix(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    /// Check that the samples are those of `fill`, in order and without gaps. Return the first and last second.
    fn seconds(frames: &Frames) -> (i64, i64) {
        for (at, row) in frames.at_us.iter().zip(frames.values.chunks(frames.names.len())) {
            let number = at / 1_000_000;
            assert_eq!(row[Id::AppRun as usize], number * 1_000);
            assert_eq!(row[Id::LatencyP99 as usize], mix(number as u64) as i64);
        }
        assert!(frames.at_us.windows(2).all(|two| two[1] - two[0] == 1_000_000));
        (frames.at_us[0] / 1_000_000, frames.at_us.last().unwrap() / 1_000_000)
    }

    #[test]
    fn samples_events_and_histograms_are_read_back() {
        let fixture = Fixture::new("whole");
        let mut ring = fixture.open();
        ring.event(7_000, &json!({"gap": "x"})).unwrap();
        ring.histogram(8_000, &[(3, 1), (500, 7)]).unwrap();
        fill(&mut ring, 0..100);
        let frames = read(&fixture.0).unwrap();
        assert_eq!(seconds(&frames), (0, 99));
        assert_eq!(frames.events, [(7, r#"{"gap":"x"}"#.to_owned())]);
        assert_eq!(frames.histograms, [(8, vec![(3, 1), (500, 7)])]);
        assert!(frames.offset_us.iter().all(|offset| *offset == 5_000) && !frames.cut);
        // A correctly predicted value costs one bit.
        assert!(ring.bytes_written < 100 * 35, "{}", ring.bytes_written);
    }

    #[test]
    fn the_file_never_grows_and_the_newest_samples_stay() {
        let fixture = Fixture::new("laps");
        let mut ring = fixture.open();
        let before = std::fs::metadata(&fixture.0).unwrap().len();
        fill(&mut ring, 0..20_000);
        assert_eq!(std::fs::metadata(&fixture.0).unwrap().len(), before);
        let (first, last) = seconds(&read(&fixture.0).unwrap());
        assert_eq!(last, 19_999);
        assert!(first > 10_000 && last - first > 1_000, "{first}");
    }

    #[test]
    fn a_new_writer_continues_a_ring_and_a_second_is_refused() {
        let fixture = Fixture::new("again");
        let mut ring = fixture.open();
        fill(&mut ring, 0..500);
        assert!(matches!(Ring::open(&fixture.0, BYTES, &json!({})), Err(NerveError::Held(_))));
        drop(ring);
        fill(&mut fixture.open(), 500..900);
        assert_eq!(seconds(&read(&fixture.0).unwrap()), (0, 899));
    }

    #[test]
    fn a_truncated_ring_is_read_up_to_its_end() {
        let fixture = Fixture::new("cut");
        fill(&mut fixture.open(), 0..600);
        let whole = std::fs::metadata(&fixture.0).unwrap().len();
        for back in 1..=50 {
            let length = whole - back * (whole - HEADER as u64) / 50;
            OpenOptions::new().write(true).open(&fixture.0).unwrap().set_len(length).unwrap();
            let frames = read(&fixture.0).unwrap();
            assert!(frames.cut);
            if !frames.at_us.is_empty() {
                seconds(&frames);
            }
        }
        OpenOptions::new().write(true).open(&fixture.0).unwrap().set_len(100).unwrap();
        assert!(matches!(read(&fixture.0), Err(NerveError::NoRing { .. })));
    }

    #[test]
    fn a_corrupt_byte_loses_only_the_rest_of_its_block() {
        let fixture = Fixture::new("broken");
        fill(&mut fixture.open(), 0..3_000);
        let mut bytes = std::fs::read(&fixture.0).unwrap();
        bytes[HEADER + BLOCK + 5_000] ^= 0x55;
        std::fs::write(&fixture.0, bytes).unwrap();
        let frames = read(&fixture.0).unwrap();
        assert!(frames.at_us.len() > 1_500 && frames.at_us.len() < 3_000, "{}", frames.at_us.len());
        for (at, row) in frames.at_us.iter().zip(frames.values.chunks(frames.names.len())) {
            assert_eq!(row[Id::AppRun as usize], at / 1_000);
        }
    }

    #[test]
    fn a_ring_without_disk_space_leaves_no_file() {
        let fixture = Fixture::new("room");
        assert!(matches!(Ring::open(&fixture.0, u64::MAX / 4, &json!({})), Err(NerveError::Ring { .. })));
        assert!(!fixture.0.exists());
    }

    #[test]
    fn a_file_that_is_not_a_ring_is_kept_under_another_name() {
        let fixture = Fixture::new("other");
        std::fs::write(&fixture.0, "notes").unwrap();
        drop(fixture.open());
        assert_eq!(std::fs::read_to_string(fixture.0.with_extension("old")).unwrap(), "notes");
        assert!(reader::read(&fixture.0).is_ok());
    }
}
