//! Variable-length integers: seven bits per byte; zig-zag encoding keeps small negative numbers short.

pub(crate) fn write(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

pub(crate) fn write_signed(into: &mut Vec<u8>, value: i64) {
    write(into, ((value << 1) ^ (value >> 63)) as u64);
}

/// Read the next number; return `None` if the bytes end early or it exceeds 64 bits.
pub(crate) fn read(from: &mut &[u8]) -> Option<u64> {
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

pub(crate) fn read_signed(from: &mut &[u8]) -> Option<i64> {
    read(from).map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_numbers_are_read_back(values in proptest::collection::vec(any::<i64>(), 0..20)) {
            let mut bytes = Vec::new();
            for value in &values {
                write_signed(&mut bytes, *value);
            }
            let mut rest = bytes.as_slice();
            let back: Vec<i64> = values.iter().map_while(|_| read_signed(&mut rest)).collect();
            prop_assert_eq!(back, values);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = bytes.as_slice();
            while read(&mut rest).is_some() {}
        }
    }

    #[test]
    fn small_numbers_take_one_byte() {
        let mut bytes = Vec::new();
        write_signed(&mut bytes, 0);
        write_signed(&mut bytes, -64);
        assert_eq!(bytes.len(), 2);
    }
}
