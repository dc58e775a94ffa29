//! Prediction of samples, so that only differences are stored: a level is predicted to stay, a total to grow as
//! before.

use super::varint;

/// The last sample, and the last growth of each value.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    at_us: i64,
    step_us: i64,
    offset_us: i64,
    values: Vec<i64>,
    growth: Vec<i64>,
}

/// A sample as stored in the ring.
pub(crate) struct Sample {
    pub(crate) at_us: i64,
    pub(crate) offset_us: i64,
    pub(crate) values: Vec<i64>,
}

impl Predictor {
    /// Start a block without a prediction.
    pub(crate) fn new(names: usize) -> Self {
        Self { at_us: 0, step_us: 0, offset_us: 0, values: vec![0; names], growth: vec![0; names] }
    }

    fn predict(&self, index: usize, totals: &[bool]) -> i64 {
        if totals[index] {
            self.values[index].wrapping_add(self.growth[index])
        } else {
            self.values[index]
        }
    }

    fn advance(&mut self, at_us: i64, offset_us: i64, values: &[i64], first: bool) {
        // The first value of a block is not a growth.
        if !first {
            self.step_us = at_us.wrapping_sub(self.at_us);
            for (growth, (now, before)) in self.growth.iter_mut().zip(values.iter().zip(&self.values)) {
                *growth = now.wrapping_sub(*before);
            }
        }
        (self.at_us, self.offset_us) = (at_us, offset_us);
        self.values.copy_from_slice(values);
    }

    /// Append a sample, and predict the next from it.
    pub(crate) fn encode(&mut self, sample: &Sample, totals: &[bool], first: bool, into: &mut Vec<u8>) {
        into.push(u8::from(first));
        varint::write_signed(into, sample.at_us.wrapping_sub(self.at_us).wrapping_sub(self.step_us));
        varint::write_signed(into, sample.offset_us.wrapping_sub(self.offset_us));
        let bits = into.len();
        into.resize(bits + sample.values.len().div_ceil(8), 0);
        for (index, value) in sample.values.iter().enumerate() {
            let error = value.wrapping_sub(self.predict(index, totals));
            if error != 0 {
                into[bits + index / 8] |= 1 << (index % 8);
                varint::write_signed(into, error);
            }
        }
        self.advance(sample.at_us, sample.offset_us, &sample.values, first);
    }

    /// Decode the next sample of a block; return `None` if the bytes are not a sample.
    pub(crate) fn decode(&mut self, mut payload: &[u8], totals: &[bool]) -> Option<Sample> {
        let (first, rest) = payload.split_first()?;
        payload = rest;
        let step = varint::read_signed(&mut payload)?.wrapping_add(self.step_us);
        let at_us = self.at_us.wrapping_add(step);
        let offset_us = self.offset_us.wrapping_add(varint::read_signed(&mut payload)?);
        let names = self.values.len();
        let (bits, mut rest) = payload.split_at_checked(names.div_ceil(8))?;
        let mut values = Vec::with_capacity(names);
        for index in 0..names {
            let error =
                if bits[index / 8] >> (index % 8) & 1 == 1 { varint::read_signed(&mut rest)? } else { 0 };
            values.push(self.predict(index, totals).wrapping_add(error));
        }
        self.advance(at_us, offset_us, &values, *first == 1);
        Some(Sample { at_us, offset_us, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn encoded_samples_are_decoded_for_any_values(
            samples in proptest::collection::vec((any::<i64>(), any::<i64>(), proptest::collection::vec(any::<i64>(), 9)), 1..12)
        ) {
            let totals = [true, false, true, true, false, false, true, false, true];
            let (mut writer, mut reader) = (Predictor::new(9), Predictor::new(9));
            for (number, (at_us, offset_us, values)) in samples.into_iter().enumerate() {
                let mut bytes = Vec::new();
                let sample = Sample { at_us, offset_us, values };
                writer.encode(&sample, &totals, number == 0, &mut bytes);
                let back = reader.decode(&bytes, &totals).unwrap();
                prop_assert_eq!((back.at_us, back.offset_us, back.values), (at_us, offset_us, sample.values));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Predictor::new(9).decode(&bytes, &[true; 9]);
        }
    }

    #[test]
    fn a_steadily_growing_total_costs_a_bit() {
        let mut predictor = Predictor::new(64);
        let sizes: Vec<usize> = (0..4)
            .map(|second| {
                let mut bytes = Vec::new();
                let values = vec![5_000_000 + second * 1000; 64];
                let sample = Sample { at_us: second * 1_000_000, offset_us: 5, values };
                predictor.encode(&sample, &[true; 64], second == 0, &mut bytes);
                bytes.len()
            })
            .collect();
        // The first value is not a growth, so the second sample differs by its growth, not by its value.
        assert_eq!(sizes[1], 1 + 3 + 1 + 8 + 64 * 2, "{sizes:?}");
        assert_eq!(sizes[3], 1 + 2 + 8, "{sizes:?}");
    }
}
