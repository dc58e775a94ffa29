//! A sample against what the last ones foretell: a level as it was, a total grown by as much as before.

use super::varint;

/// What the last sample was, and what each value then grew by.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    at_us: i64,
    step_us: i64,
    offset_us: i64,
    values: Vec<i64>,
    grown: Vec<i64>,
}

/// A sample as the ring has it.
pub(crate) struct Sampled {
    pub(crate) at_us: i64,
    pub(crate) offset_us: i64,
    pub(crate) values: Vec<i64>,
}

impl Before {
    /// Before the first sample of a block: nothing is known.
    pub(crate) fn nothing(names: usize) -> Self {
        Self { at_us: 0, step_us: 0, offset_us: 0, values: vec![0; names], grown: vec![0; names] }
    }

    fn foretell(&self, which: usize, totals: &[bool]) -> i64 {
        if totals[which] {
            self.values[which].wrapping_add(self.grown[which])
        } else {
            self.values[which]
        }
    }

    fn goes_on(&mut self, at_us: i64, offset_us: i64, values: &[i64], first: bool) {
        // From nothing to the first value is no growth.
        if !first {
            self.step_us = at_us.wrapping_sub(self.at_us);
            for (grown, (now, before)) in self.grown.iter_mut().zip(values.iter().zip(&self.values)) {
                *grown = now.wrapping_sub(*before);
            }
        }
        (self.at_us, self.offset_us) = (at_us, offset_us);
        self.values.copy_from_slice(values);
    }

    /// Appends the sample; afterwards it is the last one.
    pub(crate) fn put(&mut self, sample: &Sampled, totals: &[bool], first: bool, into: &mut Vec<u8>) {
        into.push(u8::from(first));
        varint::put_signed(into, sample.at_us.wrapping_sub(self.at_us).wrapping_sub(self.step_us));
        varint::put_signed(into, sample.offset_us.wrapping_sub(self.offset_us));
        let bits = into.len();
        into.resize(bits + sample.values.len().div_ceil(8), 0);
        for (which, value) in sample.values.iter().enumerate() {
            let off = value.wrapping_sub(self.foretell(which, totals));
            if off != 0 {
                into[bits + which / 8] |= 1 << (which % 8);
                varint::put_signed(into, off);
            }
        }
        self.goes_on(sample.at_us, sample.offset_us, &sample.values, first);
    }

    /// The next sample of a block; `None` where it is none.
    pub(crate) fn take(&mut self, mut payload: &[u8], totals: &[bool]) -> Option<Sampled> {
        let (first, rest) = payload.split_first()?;
        payload = rest;
        let step = varint::take_signed(&mut payload)?.wrapping_add(self.step_us);
        let at_us = self.at_us.wrapping_add(step);
        let offset_us = self.offset_us.wrapping_add(varint::take_signed(&mut payload)?);
        let names = self.values.len();
        let (bits, mut rest) = payload.split_at_checked(names.div_ceil(8))?;
        let mut values = Vec::with_capacity(names);
        for which in 0..names {
            let off =
                if bits[which / 8] >> (which % 8) & 1 == 1 { varint::take_signed(&mut rest)? } else { 0 };
            values.push(self.foretell(which, totals).wrapping_add(off));
        }
        self.goes_on(at_us, offset_us, &values, *first == 1);
        Some(Sampled { at_us, offset_us, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_is_taken_whatever_the_values(
            samples in proptest::collection::vec((any::<i64>(), any::<i64>(), proptest::collection::vec(any::<i64>(), 9)), 1..12)
        ) {
            let totals = [true, false, true, true, false, false, true, false, true];
            let (mut writer, mut reader) = (Before::nothing(9), Before::nothing(9));
            for (number, (at_us, offset_us, values)) in samples.into_iter().enumerate() {
                let mut bytes = Vec::new();
                let sample = Sampled { at_us, offset_us, values };
                writer.put(&sample, &totals, number == 0, &mut bytes);
                let back = reader.take(&bytes, &totals).unwrap();
                prop_assert_eq!((back.at_us, back.offset_us, back.values), (at_us, offset_us, sample.values));
            }
        }

        #[test]
        fn bytes_of_others_are_refused_and_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Before::nothing(9).take(&bytes, &[true; 9]);
        }
    }

    #[test]
    fn a_total_that_grows_evenly_costs_a_bit() {
        let mut before = Before::nothing(64);
        let sizes: Vec<usize> = (0..4)
            .map(|second| {
                let mut bytes = Vec::new();
                let values = vec![5_000_000 + second * 1000; 64];
                let sample = Sampled { at_us: second * 1_000_000, offset_us: 5, values };
                before.put(&sample, &[true; 64], second == 0, &mut bytes);
                bytes.len()
            })
            .collect();
        // From nothing to the first value is no growth: the second is off by what it grew, not by all of it.
        assert_eq!(sizes[1], 1 + 3 + 1 + 8 + 64 * 2, "{sizes:?}");
        assert_eq!(sizes[3], 1 + 2 + 8, "{sizes:?}");
    }
}
