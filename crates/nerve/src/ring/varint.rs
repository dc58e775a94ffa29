//! Numbers in as few bytes as they need: seven bits a byte, small negatives beside small positives.

pub(crate) fn put(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

pub(crate) fn put_signed(into: &mut Vec<u8>, value: i64) {
    put(into, ((value << 1) ^ (value >> 63)) as u64);
}

/// The next number; `None` where the bytes end first, or it has more than 64 bits.
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

pub(crate) fn take_signed(from: &mut &[u8]) -> Option<i64> {
    take(from).map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_is_taken(values in proptest::collection::vec(any::<i64>(), 0..20)) {
            let mut bytes = Vec::new();
            for value in &values {
                put_signed(&mut bytes, *value);
            }
            let mut rest = bytes.as_slice();
            let back: Vec<i64> = values.iter().map_while(|_| take_signed(&mut rest)).collect();
            prop_assert_eq!(back, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn bytes_of_others_are_refused_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = bytes.as_slice();
            while take(&mut rest).is_some() {}
        }
    }

    #[test]
    fn a_value_that_did_not_change_costs_a_byte() {
        let mut bytes = Vec::new();
        put_signed(&mut bytes, 0);
        put_signed(&mut bytes, -64);
        assert_eq!(bytes.len(), 2);
    }
}
