//! Periodic, constant or unpredictable: what the spectrum of a trace says.

use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::spectrum::mean;

/// How a tenant's utilisation goes on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// It repeats itself, after whatever time.
    Periodic,
    /// It hardly moves.
    Constant,
    /// Neither.
    Unpredictable,
}

/// What a trace shows.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Its pattern.
    pub pattern: Pattern,
    /// Mean utilisation.
    pub mean: f64,
    /// Highest utilisation.
    pub peak: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Cycles of the strongest period in the window; 0 where there is none.
    pub cycles: usize,
    /// Share of the variance at that period and its harmonics.
    pub share: f64,
    /// Amplitude by octave of frequency, from one cycle a window: what clustering compares.
    #[serde(skip)]
    pub bands: Vec<f64>,
}

/// Harmonics of a period that count for it: a daily load is no sine.
const HARMONICS: usize = 6;
/// Lines tried as a period's fundamental, and as its harmonics.
const CANDIDATES: usize = 12;

/// The profile of a whole trace with its spectrum.
pub fn profile(values: &[f64], spectrum: &[f64], settings: &Settings) -> Profile {
    let variance: f64 = spectrum.iter().sum();
    let deviation = variance.max(0.0).sqrt();
    let (cycles, share) = strongest_period(spectrum, variance, settings);
    let pattern = if deviation < settings.constant_below {
        Pattern::Constant
    } else if share >= settings.periodic_share {
        Pattern::Periodic
    } else {
        Pattern::Unpredictable
    };
    let mut bands = Vec::new();
    let mut low = 1;
    while low < spectrum.len() {
        let high = (2 * low).min(spectrum.len());
        bands.push(spectrum[low..high].iter().sum::<f64>().sqrt());
        low = high;
    }
    Profile {
        pattern,
        mean: mean(values),
        peak: values.iter().copied().fold(0.0, f64::max),
        deviation,
        cycles,
        share,
        bands,
    }
}

/// Cycles of the period that explains most, and the share of variance that it explains.
///
/// A line counts only if it stands out from its surroundings: drifts and level shifts have their power at low
/// frequencies, too, but spread over them.
fn strongest_period(spectrum: &[f64], variance: f64, settings: &Settings) -> (usize, f64) {
    let least = settings.least_cycles;
    if variance <= 0.0 || spectrum.len() <= 2 * least {
        return (0, 0.0);
    }
    let mut lines: Vec<usize> = (least..spectrum.len()).collect();
    let strongest = CANDIDATES.min(lines.len());
    lines.select_nth_unstable_by(strongest - 1, |&a, &b| spectrum[b].total_cmp(&spectrum[a]));
    let mut best = (0, 0.0);
    // The strongest first, so that a line's neighbour, which holds it, too, is not taken for it.
    lines[..strongest].sort_unstable_by(|&a, &b| spectrum[b].total_cmp(&spectrum[a]));
    for &line in &lines[..strongest] {
        for part in 1..=3 {
            let fundamental = line / part;
            if fundamental < least || line % part != 0 {
                continue;
            }
            let share = explained(spectrum, fundamental) / variance;
            // Half a frequency has the same lines among its harmonics: it must explain clearly more. A line's
            // surroundings, thousands of others at high frequencies, are looked at only where that holds.
            if share > best.1 * 1.05 && stands_out(spectrum, line, settings.prominence) {
                best = (fundamental, share);
            }
        }
    }
    best
}

/// Variance at a frequency and its harmonics, a line's neighbours with it.
fn explained(spectrum: &[f64], fundamental: usize) -> f64 {
    (1..=HARMONICS)
        .map(|h| h * fundamental)
        .take_while(|&at| at + 1 < spectrum.len())
        .map(|at| spectrum[at - 1..=at + 1].iter().sum::<f64>())
        .sum()
}

/// Whether a line has `prominence` times the power of those around it.
fn stands_out(spectrum: &[f64], line: usize, prominence: f64) -> bool {
    let low = (line / 2).max(1);
    let high = (line + line / 2 + 1).min(spectrum.len() - 1);
    let (before, after) = (&spectrum[low..(line - 1).max(low)], &spectrum[(line + 2).min(high + 1)..=high]);
    let around = before.len() + after.len();
    let power: f64 = before.iter().chain(after).sum();
    spectrum[line] > prominence * power / around.max(1) as f64
}
