//! A histogram as bytes: a few kilobytes instead of up to 440 KiB.

use crate::Histogram;

impl Histogram {
    /// Serialise the histogram. Numbers are written with seven bits per byte, lowest first. For each non-empty
    /// bin: the number of empty bins before it, then its count.
    pub fn pack(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = [self.censored, self.min, self.max, self.sum as u64, (self.sum >> 64) as u64];
        for number in head {
            write(&mut bytes, number);
        }
        let used = self.used();
        let mut next = used.start;
        write(&mut bytes, next as u64);
        for index in used {
            if self.bins[index] > 0 {
                write(&mut bytes, (index - next) as u64);
                write(&mut bytes, self.bins[index]);
                next = index + 1;
            }
        }
        bytes
    }

    /// Read the output of [`Histogram::pack`]; `None` if the bytes are invalid.
    pub fn unpack(mut bytes: &[u8]) -> Option<Self> {
        let mut found = Self::new();
        found.censored = read(&mut bytes)?;
        (found.min, found.max) = (read(&mut bytes)?, read(&mut bytes)?);
        let (low, high) = (read(&mut bytes)?, read(&mut bytes)?);
        found.sum = u128::from(low) | u128::from(high) << 64;
        let first = usize::try_from(read(&mut bytes)?).ok()?;
        let mut next = first;
        while !bytes.is_empty() {
            let index = next.checked_add(usize::try_from(read(&mut bytes)?).ok()?)?;
            let count = read(&mut bytes)?;
            *found.bins.get_mut(index)? = count;
            found.finite = found.finite.saturating_add(count);
            next = index + 1;
        }
        let whole = match found.finite {
            0 => found.min == u64::MAX && found.max == 0,
            _ => found.min <= found.max && found.used() == (first..next),
        };
        whole.then_some(found)
    }
}

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpack_restores_a_packed_histogram() {
        for values in [&[][..], &[0], &[7, 7, 1_000_000, u64::MAX], &[2047, 2048, 2049]] {
            let mut histogram: Histogram = values.iter().copied().collect();
            for censored in [0, 3] {
                histogram.add_censored(censored);
                assert_eq!(Histogram::unpack(&histogram.pack()), Some(histogram.clone()), "{values:?}");
            }
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let packed = [5_u64, 9_000].into_iter().collect::<Histogram>().pack();
        assert!((0..packed.len()).all(|end| Histogram::unpack(&packed[..end]).is_none()));
        let mut longer = packed.clone();
        longer.extend([0, 1]);
        assert_eq!(Histogram::unpack(&longer), None);
        assert_eq!(Histogram::unpack(&[255; 40]), None);
        let far = [packed, vec![255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1]].concat();
        assert_eq!(Histogram::unpack(&far), None);
    }
}
