use hindmost_plan::KeyValue;

use super::SizeLaw;
use crate::random::{mix, unit};

/// What fills keys after their number, up to their length.
const FILL: u8 = b'k';

/// Keys by number: the number in decimal, padded to a length that always is the same for that key.
#[derive(Clone, Debug)]
pub struct KeySpace {
    lengths: SizeLaw,
    digits: usize,
    /// How many keys there are.
    pub keys: u32,
}

impl KeySpace {
    /// The keys of `mix`.
    pub fn new(mix: &KeyValue) -> Self {
        let digits = (mix.keys.max(2) - 1).ilog10() as usize + 1;
        Self { lengths: SizeLaw::new(&mix.key_bytes), digits, keys: mix.keys }
    }

    /// The length of key `item` in bytes.
    #[inline]
    pub fn length(&self, item: u32) -> usize {
        self.lengths.at(unit(mix(u64::from(item)))) as usize
    }

    /// Appends key `item` to `out`.
    #[inline]
    pub fn write(&self, item: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.length(item), FILL);
        let mut rest = item;
        for place in out[start..start + self.digits].iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hindmost_plan::Size;

    use super::*;

    #[test]
    fn every_key_is_its_own_and_keeps_its_length() {
        let space =
            KeySpace::new(&KeyValue { keys: 2000, key_bytes: Size::Uniform(4, 40), ..KeyValue::default() });
        let key = |item| {
            let mut out = Vec::new();
            space.write(item, &mut out);
            assert_eq!(out.len(), space.length(item));
            out
        };
        let all: HashSet<Vec<u8>> = (0..2000).map(key).collect();
        assert_eq!(all.len(), 2000);
        assert_eq!(key(17), key(17));
        assert!(key(17).starts_with(b"0017"));
    }
}
