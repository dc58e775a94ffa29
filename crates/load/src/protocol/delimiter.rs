//! A scanner for bytes up to a delimiter.

use super::framing::Extent;

/// Scans up to and including a delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntilDelimiter {
    delimiter: &'static [u8],
    /// Length of the delimiter's prefix that the last bytes matched.
    matched: u8,
}

impl UntilDelimiter {
    /// Create a scanner for `delimiter`, which has 1 to 255 bytes.
    pub const fn new(delimiter: &'static [u8]) -> Self {
        Self { delimiter, matched: 0 }
    }

    /// Scan `piece` up to the end of the delimiter.
    pub fn consume(&mut self, piece: &[u8]) -> Extent {
        for (at, &byte) in piece.iter().enumerate() {
            let mut matched = usize::from(self.matched);
            // Find the longest prefix of the delimiter that these bytes end with (Knuth, Morris and Pratt
            // 1977). Delimiters are short, so no table is needed.
            while matched > 0 && self.delimiter[matched] != byte {
                let seen = &self.delimiter[..matched];
                matched = (0..matched).rev().find(|&shorter| seen.ends_with(&seen[..shorter])).unwrap_or(0);
            }
            matched += usize::from(self.delimiter[matched] == byte);
            self.matched = matched as u8;
            if matched == self.delimiter.len() {
                return Extent { bytes: at + 1, whole: true };
            }
        }
        Extent { bytes: piece.len(), whole: false }
    }
}
