//! Bytes up to a delimiter, as they pass by.

use super::passing::Passed;

/// Bytes still to come, up to and with a delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimited {
    delimiter: &'static [u8],
    /// How much of its start the last bytes were.
    matched: u8,
}

impl Delimited {
    /// `delimiter` has 1 to 255 bytes.
    pub const fn new(delimiter: &'static [u8]) -> Self {
        Self { delimiter, matched: 0 }
    }

    /// Passes over what belongs to them at the start of `piece`.
    pub fn pass(&mut self, piece: &[u8]) -> Passed {
        for (at, &byte) in piece.iter().enumerate() {
            let mut matched = usize::from(self.matched);
            // The longest start of the delimiter that these bytes end with (Knuth, Morris and Pratt 1977, without a table:
            // delimiters are short).
            while matched > 0 && self.delimiter[matched] != byte {
                let seen = &self.delimiter[..matched];
                matched = (0..matched).rev().find(|&shorter| seen.ends_with(&seen[..shorter])).unwrap_or(0);
            }
            matched += usize::from(self.delimiter[matched] == byte);
            self.matched = matched as u8;
            if matched == self.delimiter.len() {
                return Passed { bytes: at + 1, whole: true };
            }
        }
        Passed { bytes: piece.len(), whole: false }
    }
}
