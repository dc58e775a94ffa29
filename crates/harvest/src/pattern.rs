//! The pattern of a trace, by its spectrum: periodic, constant or unpredictable.

use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::spectrum::{mean, FilledTrace, Spectra};

/// Pattern of a tenant's utilisation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// It repeats with some period.
    Periodic,
    /// It hardly changes.
    Constant,
    /// Neither periodic nor constant.
    Unpredictable,
}

/// Features of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// Its pattern.
    pub pattern: Pattern,
    /// Confidence in the pattern, from 0 to 1.
    pub confidence: f64,
    /// Mean utilisation.
    pub mean: f64,
    /// Highest utilisation.
    pub peak: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Slots of the strongest period; 0 without a period.
    pub period: f64,
    /// Share of the variance that repeats with that period.
    pub share: f64,
    /// Whether both halves of the window show the pattern; None if not checked.
    pub stable: Option<bool>,
    /// Amplitude by octave of frequency, from one cycle per window: the input of the clustering.
    #[serde(skip)]
    pub bands: Vec<f64>,
}

/// Number of spectral lines to try as a period; half and a third of the period are tried, too.
const CANDIDATES: usize = 12;
/// A longer period must explain more by this factor, because it explains everything that its fractions
/// explain.
const LONGER_PERIOD_FACTOR: f64 = 1.05;
/// Frequencies that differ by less, in cycles per window, are tried only once.
const SAME_CYCLES: f64 = 0.05;
const DAY_S: f64 = 86_400.0;
const WEEK_DAYS: f64 = 7.0;
/// Least bins of a cycle whose length is not a whole number of slots. Later cycles have points between those
/// of the first.
const LEAST_BINS: usize = 12;
/// Parts of the window whose spread gives the confidence in a constant pattern.
const PARTS: usize = 8;

/// Profile a trace without gaps. Its spectrum leaves out the last few slots.
pub fn profile(trace: &FilledTrace, (spectra, spectrum): (&Spectra, &[f64]), settings: &Settings) -> Profile {
    let values = &trace.values[..];
    let deviation = spectrum.iter().sum::<f64>().max(0.0).sqrt();
    let scale = values.len() as f64 / spectra.slots() as f64;
    let period = strongest_period(&trace.known, spectrum, scale, settings);
    let is_significant = period.chance <= 1.0 - settings.confidence;
    let (pattern, confidence) = if deviation < settings.constant_below {
        (Pattern::Constant, share_of_constant_parts(values, settings.constant_below))
    } else if period.share < settings.periodic_share {
        (Pattern::Unpredictable, 1.0)
    } else if is_significant {
        (Pattern::Periodic, 1.0 - period.chance)
    } else {
        (Pattern::Unpredictable, period.chance)
    };
    let mut bands = Vec::new();
    let mut low = 1;
    while low < spectrum.len() {
        let high = (2 * low).min(spectrum.len());
        bands.push(spectrum[low..high].iter().sum::<f64>().sqrt());
        low = high;
    }
    let mut profile = Profile {
        pattern,
        confidence,
        mean: mean(values),
        peak: values.iter().copied().fold(0.0, f64::max),
        deviation,
        period: period.slots,
        share: period.share,
        stable: None,
        bands,
    };
    if settings.stability {
        check_halves(&mut profile, trace, settings);
    }
    profile
}

/// Check both halves of the window. A pattern that only one half shows may end any day, so it becomes
/// unpredictable.
fn check_halves(profile: &mut Profile, trace: &FilledTrace, settings: &Settings) {
    let half = trace.values.len() / 2;
    let rest = trace.values.len() - half;
    let halves = [&trace.values[..half], &trace.values[rest..]];
    let deviates = |half: &&[f64]| deviation(half) >= settings.constant_below;
    let stable = match profile.pattern {
        Pattern::Constant => !halves.iter().any(deviates),
        Pattern::Unpredictable => halves.iter().all(deviates),
        Pattern::Periodic => {
            let halves = [&trace.known[..half], &trace.known[rest..]];
            let least =
                halves.map(|half| Fold::new(half, profile.period).share()).into_iter().fold(1.0, f64::min);
            if least < settings.periodic_share {
                profile.confidence = 1.0 - least.max(0.0) / settings.periodic_share;
            }
            least >= settings.periodic_share
        }
    };
    if !stable {
        profile.pattern = Pattern::Unpredictable;
    }
    profile.stable = Some(stable);
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Return the share of the window's parts that stay as close to its mean as a constant tenant does.
fn share_of_constant_parts(values: &[f64], constant_below: f64) -> f64 {
    let middle = mean(values);
    let parts = values.chunks_exact(values.len() / PARTS).take(PARTS);
    let is_constant = |part: &&[f64]| {
        let square = part.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / part.len() as f64;
        square.sqrt() < constant_below
    };
    parts.filter(is_constant).count() as f64 / PARTS as f64
}

struct Period {
    slots: f64,
    share: f64,
    /// Probability that noise, however slowly it changes, repeats as much by chance.
    chance: f64,
}

/// Return the significant period that explains most; if none is significant, the period that explains most.
fn strongest_period(known: &[f64], spectrum: &[f64], scale: f64, settings: &Settings) -> Period {
    let mut best = Period { slots: 0.0, share: 0.0, chance: 1.0 };
    let mut explained = 0.0;
    if spectrum.iter().sum::<f64>() <= 0.0 || spectrum.len() <= 2 * settings.least_cycles {
        return best;
    }
    for cycles in frequencies(known.len(), spectrum, scale, settings) {
        let fold = Fold::new(known, known.len() as f64 / cycles);
        let share = fold.share();
        if share <= best.share * LONGER_PERIOD_FACTOR {
            continue;
        }
        let is_significant = best.chance <= 1.0 - settings.confidence;
        let before = if is_significant { explained } else { 0.0 };
        let chance = chance(&fold, before, spectrum, cycles / scale);
        if !is_significant || chance <= 1.0 - settings.confidence {
            best = Period { slots: fold.period, share, chance };
            explained = fold.explained;
        }
    }
    best
}

/// Return candidate frequencies in cycles per window, shortest period first: the strongest lines of the
/// spectrum, their halves and thirds, the day and the week.
fn frequencies(slots: usize, spectrum: &[f64], scale: f64, settings: &Settings) -> Vec<f64> {
    let least = settings.least_cycles as f64 - 0.01;
    let days = settings.slot_s.map(|slot_s| slots as f64 * slot_s / DAY_S);
    let mut candidates: Vec<f64> = days.into_iter().flat_map(|days| [days, days / WEEK_DAYS]).collect();
    let mut lines: Vec<usize> = (settings.least_cycles.max(1)..spectrum.len() - 1).collect();
    let strongest = CANDIDATES.min(lines.len());
    lines.select_nth_unstable_by(strongest - 1, |&a, &b| spectrum[b].total_cmp(&spectrum[a]));
    for &line in &lines[..strongest] {
        // The power of a wave between two lines is in both.
        let (below, above) = (spectrum[line - 1].sqrt(), spectrum[line + 1].sqrt());
        let side = below.max(above) / (below.max(above) + spectrum[line].sqrt());
        let cycles = scale * (line as f64 + if above > below { side } else { -side });
        candidates.extend((1..=3).map(|part| snap(cycles / f64::from(part), days)));
    }
    candidates.retain(|&cycles| cycles >= least && cycles <= slots as f64 / 2.0);
    candidates.sort_unstable_by(|a, b| b.total_cmp(a));
    candidates.dedup_by(|a, b| (*a - *b).abs() < SAME_CYCLES);
    candidates
}

/// Snap a frequency to a fraction of the day, or to the week, if the window cannot distinguish the two.
fn snap(cycles: f64, days: Option<f64>) -> f64 {
    let Some(days) = days else { return cycles };
    let near = |known: f64| (cycles - known).abs() < 0.5;
    let part = (cycles / days).round() * days;
    if part > 0.0 && near(part) {
        part
    } else if near(days / WEEK_DAYS) {
        days / WEEK_DAYS
    } else {
        cycles
    }
}

/// A trace folded at a period: the sum over all cycles.
struct Fold {
    period: f64,
    cycles: f64,
    /// Bins of the mean cycle per slot of the window: the share of the variance that it would explain of
    /// noise.
    used: f64,
    /// Share of the variance that the mean cycle explains.
    explained: f64,
}

impl Fold {
    /// Fold known values; NaN marks missing ones.
    fn new(known: &[f64], period: f64) -> Self {
        let whole_slots = (period - period.round()).abs() < 1e-9;
        let bins = if whole_slots { period.round() as usize } else { (period as usize).max(LEAST_BINS) };
        let mut sums = vec![(0.0, 0.0, 0.0); bins];
        let add = |bin: &mut (f64, f64, f64), value: f64| {
            if !value.is_nan() {
                *bin = (bin.0 + value, bin.1 + 1.0, bin.2 + value * value);
            }
        };
        if whole_slots {
            for cycle in known.chunks(bins) {
                sums.iter_mut().zip(cycle).for_each(|(bin, &value)| add(bin, value));
            }
        } else {
            let (mut phase, step) = (0.0, 1.0 / period);
            for &value in known {
                add(&mut sums[((phase * bins as f64) as usize).min(bins - 1)], value);
                phase += step; // a period has at least two slots
                phase = if phase >= 1.0 { phase - 1.0 } else { phase };
            }
        }
        let total =
            |all: (f64, f64, f64), bin: &(f64, f64, f64)| (all.0 + bin.0, all.1 + bin.1, all.2 + bin.2);
        let (sum, count, squares) = sums.iter().fold((0.0, 0.0, 0.0), total);
        let middle = sum / count;
        let used = sums.iter().filter(|bin| bin.1 > 0.0);
        let between: f64 = used.clone().map(|(sum, count, _)| count * (sum / count - middle).powi(2)).sum();
        let variance = squares - sum * middle;
        let explained = if variance > 1e-12 * squares { (between / variance).min(1.0) } else { 0.0 };
        Self { period, cycles: count / period, used: used.count() as f64 / count, explained }
    }

    /// Return the share that repeats, less what the mean of so few cycles explains of noise.
    fn share(&self) -> f64 {
        (self.explained - self.used) / (1.0 - self.used).max(1e-9)
    }
}

/// Return the probability that noise explains as much of the variance that `before` leaves. It is twice the
/// smaller of two p-values, times the number of lines at which a period could have been found.
///
/// The test of the mean cycle: slow noise has one wave per cycle, with random amplitude and phase in each
/// cycle. The share that their sum keeps has the distribution Beta(1, cycles - 1). The test of the line: its
/// power against that of its neighbours, both exponential (F with 2 and 2n degrees of freedom), at the
/// fundamental and two harmonics.
fn chance(fold: &Fold, before: f64, spectrum: &[f64], line: f64) -> f64 {
    let left = ((1.0 - fold.explained) / (1.0 - before).max(1e-12)).clamp(0.0, 1.0);
    let cycle = left.powf(fold.cycles - 1.0);
    let line =
        (1..=3).map(|h| line_chance(spectrum, (f64::from(h) * line).round() as usize)).fold(1.0, f64::min);
    let tried = fold.cycles.max(1.0);
    (2.0 * tried * cycle.min(if before > 0.0 { 1.0 } else { 3.0 * line })).min(1.0)
}

/// Return the probability that a line exceeds its neighbours that much.
fn line_chance(spectrum: &[f64], line: usize) -> f64 {
    if line < 2 || line + 2 > spectrum.len() - 1 {
        return 1.0;
    }
    let low = (line / 2).max(1);
    let high = (line + line / 2 + 1).min(spectrum.len() - 1);
    let (before, after) = (&spectrum[low..(line - 1).max(low)], &spectrum[(line + 2).min(high + 1)..=high]);
    let around = (before.len() + after.len()) as f64;
    let power = before.iter().chain(after).sum::<f64>() / around.max(1.0);
    if power <= 0.0 {
        return if spectrum[line] > 0.0 { 0.0 } else { 1.0 };
    }
    (1.0 + spectrum[line] / power / around).powf(-around)
}
