//! Filling the gaps of traces, and the variance of a trace by frequency.

use crate::fft::{smooth, Complex, Fft};

/// A trace without gaps, and what was filled in.
#[derive(Clone, Debug)]
pub struct FilledTrace {
    /// Utilisation in [0, 1], by slot.
    pub values: Vec<f64>,
    /// The same with NaN for missing slots.
    pub known: Vec<f64>,
    /// Share of missing slots (NaN, infinite or negative).
    pub missing: f64,
    /// Share of slots above 1, which are clipped to 1.
    pub clipped: f64,
}

/// Fill gaps by linear interpolation. Return None if every slot is missing.
pub fn fill_gaps(raw: &[f64]) -> Option<FilledTrace> {
    let known = |value: f64| value.is_finite() && value >= 0.0;
    let first = raw.iter().position(|&value| known(value))?;
    let n = raw.len() as f64;
    let missing = raw.iter().filter(|&&value| !known(value)).count() as f64 / n;
    let clipped = raw.iter().filter(|&&value| value.is_finite() && value > 1.0).count() as f64 / n;
    let mut values: Vec<f64> = raw.iter().map(|&value| value.min(1.0)).collect();
    let known_values =
        raw.iter().map(|&value| if known(value) { value.min(1.0) } else { f64::NAN }).collect();
    values[..first].fill(raw[first].min(1.0));
    let mut last = first;
    for at in first + 1..values.len() {
        if known(raw[at]) {
            let (from, to, gap) = (values[last], values[at], (at - last) as f64);
            for (step, value) in values[last + 1..at].iter_mut().enumerate() {
                *value = from + (to - from) * (step + 1) as f64 / gap;
            }
            last = at;
        }
    }
    let end = values[last];
    values[last + 1..].fill(end);
    Some(FilledTrace { values, known: known_values, missing, clipped })
}

/// Spectra of traces of one length.
pub struct Spectra {
    fft: Fft,
    slots: usize,
}

impl Spectra {
    /// Prepare spectra of traces of `slots` slots; the last few slots may be left out.
    pub fn new(slots: usize) -> Self {
        let slots = smooth(slots);
        Self { fft: Fft::new(slots), slots }
    }

    /// Return the number of slots that the spectra use.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Return the variance of two traces by frequency. Index k counts cycles in the window; entry 0 is 0. The entries
    /// of a trace add up to its variance. One transform serves both: one trace is its real part, the other its
    /// imaginary part.
    pub fn pair(&self, one: &[f64], other: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.slots;
        let (mean_one, mean_other) = (mean(&one[..n]), mean(&other[..n]));
        let packed: Vec<Complex> =
            one[..n].iter().zip(&other[..n]).map(|(a, b)| (a - mean_one, b - mean_other)).collect();
        let mut lines = vec![(0.0, 0.0); n];
        self.fft.run(&packed, &mut lines);
        let half = n / 2;
        let (mut first, mut second) = (vec![0.0; half + 1], vec![0.0; half + 1]);
        for k in 1..=half {
            let (z, w) = (lines[k], lines[n - k]);
            // The Nyquist frequency of an even length has no mirror image.
            let scale = if 2 * k == n { 1.0 } else { 2.0 } / (4.0 * (n * n) as f64);
            first[k] = ((z.0 + w.0).powi(2) + (z.1 - w.1).powi(2)) * scale;
            second[k] = ((z.1 + w.1).powi(2) + (w.0 - z.0).powi(2)) * scale;
        }
        (first, second)
    }
}

/// Return the mean; 0 for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_sum_to_the_variance_and_a_sine_has_one_line() {
        let slots = 720;
        let wave: Vec<f64> = (0..slots)
            .map(|i| 0.4 + 0.2 * (f64::from(i) * 31.0 * std::f64::consts::TAU / 720.0).sin())
            .collect();
        let sawtooth: Vec<f64> = (0..slots).map(|i| f64::from(i % 7) / 7.0).collect();
        let spectra = Spectra::new(slots as usize);
        let (first, second) = spectra.pair(&wave, &sawtooth);
        let variance = |x: &[f64]| mean(&x.iter().map(|v| (v - mean(x)).powi(2)).collect::<Vec<_>>());
        assert!((first.iter().sum::<f64>() - variance(&wave)).abs() < 1e-12);
        assert!((second.iter().sum::<f64>() - variance(&sawtooth)).abs() < 1e-12);
        assert!((first[31] - 0.02).abs() < 1e-12, "{}", first[31]);
    }

    #[test]
    fn gaps_are_interpolated_and_counted() {
        let check = |raw: &[f64], values: &[f64], missing: f64| {
            let filled = fill_gaps(raw).unwrap();
            assert_eq!(filled.values, values);
            assert!((filled.missing - missing).abs() < 1e-12);
        };
        check(&[f64::NAN, 0.2, f64::NAN, f64::NAN, 0.5, -1.0], &[0.2, 0.2, 0.3, 0.4, 0.5, 0.5], 4.0 / 6.0);
        check(&[0.5, f64::INFINITY, 1.0, 7.0], &[0.5, 0.75, 1.0, 1.0], 0.25);
        assert!(fill_gaps(&[f64::NAN, -0.1]).is_none());
        assert!(fill_gaps(&[]).is_none());
    }
}
