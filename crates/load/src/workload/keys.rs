use std::sync::Arc;

use hindmost_plan::{KeyNames, KeyValue};

use super::SizeLaw;
use crate::random::{mix, unit};

/// The byte that fills keys after their number, up to their length.
const FILL: u8 = b'k';

/// Keys by number: a prefix and the number in decimal, padded to a length that is constant for each key, or
/// names given by the plan.
#[derive(Clone, Debug)]
pub struct KeySpace {
    prefix: Vec<u8>,
    lengths: SizeLaw,
    digits: usize,
    names: Option<Arc<Vec<String>>>,
    /// Number of keys.
    pub keys: u32,
}

impl KeySpace {
    /// Create the keys of `mix`, whose files are loaded ([`hindmost_plan::Workload::opened`]).
    pub fn new(mix: &KeyValue) -> Self {
        let names = match &mix.key_names {
            Some(KeyNames::List(names)) => Some(names.clone()),
            _ => None,
        };
        let keys = names.as_ref().map_or(mix.keys, |names| names.len() as u32);
        let digits = (keys.max(2) - 1).ilog10() as usize + 1;
        let prefix = mix.key_prefix.clone().into_bytes();
        Self { prefix, lengths: SizeLaw::new(&mix.key_bytes), digits, names, keys }
    }

    /// Return the length of key `item` in bytes.
    #[inline]
    pub fn length(&self, item: u32) -> usize {
        match &self.names {
            Some(names) => self.prefix.len() + names[item as usize].len(),
            None => self.lengths.quantile(unit(mix(u64::from(item)))) as usize,
        }
    }

    /// Append key `item` to `out`.
    #[inline]
    pub fn write(&self, item: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        if let Some(names) = &self.names {
            out.extend_from_slice(names[item as usize].as_bytes());
            return;
        }
        let number = out.len();
        out.resize(start + self.length(item), FILL);
        let mut rest = item;
        for place in out[number..number + self.digits].iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hindmost_plan::{Extreme, Size};

    use super::*;

    fn key(space: &KeySpace, item: u32) -> Vec<u8> {
        let mut out = b"get ".to_vec();
        space.write(item, &mut out);
        let key = out.split_off(4);
        assert_eq!((out.as_slice(), key.len()), (&b"get "[..], space.length(item)));
        key
    }

    #[test]
    fn keys_are_unique_and_of_constant_length() {
        let long = Extreme { location: 30.0, scale: 8.0, shape: 0.1, least: 6, most: 250 };
        for key_bytes in [Size::Uniform(6, 40), Size::GeneralisedExtremeValue(long)] {
            let mix = KeyValue { keys: 2000, key_bytes, key_prefix: "t:".into(), ..KeyValue::default() };
            let space = KeySpace::new(&mix);
            let all: HashSet<Vec<u8>> = (0..2000).map(|item| key(&space, item)).collect();
            assert_eq!(all.len(), 2000);
            assert_eq!(key(&space, 17), key(&space, 17));
            assert!(key(&space, 17).starts_with(b"t:0017"));
        }
    }

    #[test]
    fn named_keys_have_their_prefix() {
        let names = KeyNames::List(vec!["alpha".to_owned(), "b".to_owned()].into());
        let mix = KeyValue { key_names: Some(names), key_prefix: "u/".into(), ..KeyValue::default() };
        let space = KeySpace::new(&mix);
        assert_eq!((space.keys, key(&space, 0), key(&space, 1)), (2, b"u/alpha".to_vec(), b"u/b".to_vec()));
    }
}
