//! Maps values to bins. The layout is `HdrHistogram`'s with unit 1 and 3 significant digits:
//!
//! ```text
//! value     0 .. 2047   2048 .. 4095   4096 .. 8191   ...   2^63 .. 2^64-1
//! width     1           2              4                    2^53
//! bins      2048        1024           1024                 1024
//! index     0 .. 2047   2048 .. 3071   3072 .. 4095         55296 .. 56319
//! ```
//!
//! The index keeps eleven significant bits of a value, so that the width of a bin is at most 1/1024 of its values.

/// Number of bins that cover every `u64`.
pub(crate) const BINS: usize = 56_320;

const SUB_BUCKET_BITS: u32 = 11;
const SUB_BUCKET_MASK: u64 = (1 << SUB_BUCKET_BITS) - 1;
const HALF_BITS: u32 = SUB_BUCKET_BITS - 1;

/// Return the index of the bin that holds `value`, always below [`BINS`].
#[inline]
pub(crate) const fn index_of(value: u64) -> usize {
    let octave = (u64::BITS - SUB_BUCKET_BITS) - (value | SUB_BUCKET_MASK).leading_zeros();
    // The mask changes nothing; it shows the compiler that the index is in bounds.
    let sub_bucket = (value >> octave) & SUB_BUCKET_MASK;
    ((octave as usize) << HALF_BITS) + sub_bucket as usize
}

/// Return the smallest value of bin `index`.
pub(crate) const fn low_of(index: usize) -> u64 {
    let octave = octave_of(index);
    ((index - (octave << HALF_BITS)) as u64) << octave
}

/// Return the largest value of bin `index`.
pub(crate) const fn high_of(index: usize) -> u64 {
    low_of(index) + ((1 << octave_of(index)) - 1)
}

/// Return the middle of bin `index`, rounded down. Its relative distance from any value of the bin is at most
/// 1/2048.
pub(crate) const fn middle_of(index: usize) -> u64 {
    low_of(index) + (high_of(index) - low_of(index)) / 2
}

const fn octave_of(index: usize) -> usize {
    (index >> HALF_BITS).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_tile_every_u64_without_gap_or_overlap() {
        assert_eq!(low_of(0), 0);
        assert_eq!(high_of(BINS - 1), u64::MAX);
        for index in 1..BINS {
            assert_eq!(low_of(index), high_of(index - 1) + 1);
        }
    }

    #[test]
    fn the_edges_and_the_middle_of_a_bin_lie_in_it() {
        for index in 0..BINS {
            for value in [low_of(index), middle_of(index), high_of(index)] {
                assert_eq!(index_of(value), index);
            }
        }
    }

    #[test]
    fn small_integers_have_a_bin_each() {
        for value in 0..2048 {
            assert_eq!((low_of(index_of(value)), high_of(index_of(value))), (value, value));
        }
        assert_eq!(index_of(2048), index_of(2049));
    }
}
