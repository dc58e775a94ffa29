//! Classes of tenants: a pattern by the spectrum of the trace, then clusters within each pattern.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::HarvestError;
use crate::k_means::k_means;
use crate::pattern::{profile, Pattern, Profile};
use crate::settings::Settings;
use crate::spectrum::{fill_gaps, FilledTrace, Spectra};

/// The classification of one tenant.
#[derive(Clone, Debug, Serialize)]
pub struct TenantClass {
    /// Share of slots without a value.
    pub missing: f64,
    /// Share of slots above 100 %.
    pub clipped: f64,
    /// Index of its class; None if too many values are missing.
    pub class: Option<usize>,
    /// Features of its trace; None if too many values are missing.
    #[serde(flatten)]
    pub profile: Option<Profile>,
}

/// One class of tenants.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Class {
    /// Pattern of its tenants' utilisation.
    pub pattern: Pattern,
    /// Mean confidence in the pattern, weighted by servers.
    #[serde(default)]
    pub confidence: f64,
    /// Mean of the tenants' mean utilisations, weighted by servers.
    pub mean: f64,
    /// Mean of the tenants' peaks, weighted by servers.
    pub peak: f64,
    /// Number of tenants.
    pub tenants: usize,
    /// Number of servers.
    pub servers: f64,
}

/// Tenants and classes.
#[derive(Clone, Debug, Serialize)]
pub struct Classification {
    /// Tenants in the order of the traces.
    pub tenants: Vec<TenantClass>,
    /// Classes: periodic ones first, then constant, then unpredictable.
    pub classes: Vec<Class>,
    /// Slots of each trace that the spectrum uses.
    pub slots: usize,
}

/// Classify tenants by their average servers. `traces` has one row of `slots` values per tenant, and
/// `servers` gives the weight of each tenant. `peaks`, if known, are the mean peaks of single servers:
/// servers that are busy at different times have higher peaks than their average.
pub fn classify<T: Copy + Into<f64> + Sync>(
    traces: &[T],
    slots: usize,
    servers: &[f64],
    peaks: Option<&[f64]>,
    settings: &Settings,
) -> Result<Classification, HarvestError> {
    settings.check()?;
    if traces.len() != slots * servers.len() || peaks.is_some_and(|peaks| peaks.len() != servers.len()) {
        return Err(HarvestError::Shape { values: traces.len(), tenants: servers.len(), slots });
    }
    let needed = settings.least_slots() * if settings.stability { 2 } else { 1 };
    if slots < needed {
        return Err(HarvestError::Short { slots, needed });
    }
    if let Some(&value) = servers.iter().find(|n| !n.is_finite() || **n <= 0.0) {
        return Err(HarvestError::Range { name: "servers of a tenant", value, range: "more than 0" });
    }
    let spectra = Spectra::new(slots);
    let mut tenants: Vec<TenantClass> = traces
        .par_chunks(2 * slots)
        .flat_map_iter(|pair| profile_pair(pair, slots, &spectra, settings))
        .collect();
    let good: Vec<usize> = (0..tenants.len()).filter(|&i| tenants[i].profile.is_some()).collect();
    if let Some(peaks) = peaks {
        for (tenant, peak) in tenants.iter_mut().zip(peaks) {
            tenant.profile.iter_mut().for_each(|profile| profile.peak = peak.clamp(0.0, 1.0));
        }
    }
    let profiles: Vec<&Profile> = good.iter().filter_map(|&i| tenants[i].profile.as_ref()).collect();
    let weights: Vec<f64> = good.iter().map(|&i| servers[i]).collect();
    let (of, classes) = cluster(&profiles, &weights, settings);
    for (&i, class) in good.iter().zip(of) {
        tenants[i].class = Some(class);
    }
    Ok(Classification { tenants, classes, slots: spectra.slots() })
}

/// Profile one trace, or two traces with one transform. The traces themselves are not kept.
fn profile_pair<T: Copy + Into<f64>>(
    pair: &[T],
    slots: usize,
    spectra: &Spectra,
    settings: &Settings,
) -> Vec<TenantClass> {
    let filled: Vec<Option<FilledTrace>> = pair
        .chunks(slots)
        .map(|row| fill_gaps(&row.iter().map(|&value| value.into()).collect::<Vec<f64>>()))
        .collect();
    let good = |w: &&FilledTrace| w.missing <= settings.most_missing;
    let rows: Vec<&FilledTrace> = filled.iter().flatten().filter(good).collect();
    let mut profiles = Vec::new();
    if let (Some(one), Some(other)) = (rows.first(), rows.last()) {
        let (first, second) = spectra.pair(&one.values, &other.values);
        profiles = rows
            .iter()
            .zip([first, second])
            .map(|(row, lines)| profile(row, (spectra, &lines), settings))
            .collect();
    }
    let mut profiles = profiles.into_iter();
    filled
        .iter()
        .map(|w| TenantClass {
            missing: w.as_ref().map_or(1.0, |w| w.missing),
            clipped: w.as_ref().map_or(0.0, |w| w.clipped),
            class: None,
            profile: w.as_ref().filter(good).and_then(|_| profiles.next()),
        })
        .collect()
}

/// Split each pattern into classes. Return the class of every profile, and the classes.
fn cluster(profiles: &[&Profile], servers: &[f64], settings: &Settings) -> (Vec<usize>, Vec<Class>) {
    let mut of = vec![0; profiles.len()];
    let mut classes = Vec::new();
    let patterns = [Pattern::Periodic, Pattern::Constant, Pattern::Unpredictable];
    for (pattern, k) in patterns.into_iter().zip(settings.classes) {
        let own: Vec<usize> = (0..profiles.len()).filter(|&i| profiles[i].pattern == pattern).collect();
        let points: Vec<Vec<f64>> = own
            .iter()
            .map(|&i| {
                let one = profiles[i];
                [one.mean, one.peak].iter().chain(&one.bands).copied().collect()
            })
            .collect();
        let first = classes.len();
        for (&i, cluster) in own.iter().zip(k_means(&points, k, settings.seed)) {
            of[i] = first + cluster;
            if classes.len() == of[i] {
                classes.push(Class {
                    pattern,
                    confidence: 0.0,
                    mean: 0.0,
                    peak: 0.0,
                    tenants: 0,
                    servers: 0.0,
                });
            }
            let class = &mut classes[of[i]];
            class.tenants += 1;
            class.servers += servers[i];
            class.confidence += servers[i] * profiles[i].confidence;
            class.mean += servers[i] * profiles[i].mean;
            class.peak += servers[i] * profiles[i].peak;
        }
    }
    for class in &mut classes {
        class.confidence /= class.servers;
        class.mean /= class.servers;
        class.peak /= class.servers;
    }
    (of, classes)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::sequence::Sequence;

    /// Return a trace of 30 days of 72 slots: `of(day)` plus noise with the given standard deviation.
    fn trace(noise: f64, seed: u64, of: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = Sequence::new(seed);
        (0..30 * 72)
            .map(|i| of(f64::from(i) / 72.0) + noise * 12.0_f64.sqrt() * (random.unit() - 0.5))
            .collect()
    }

    fn patterns(rows: &[Vec<f64>], settings: &Settings) -> Vec<TenantClass> {
        let slots = rows[0].len();
        classify(&rows.concat(), slots, &vec![1.0; rows.len()], None, settings).unwrap().tenants
    }

    fn pattern_and_cycles(class: &TenantClass) -> (Pattern, usize) {
        let profile = class.profile.as_ref().unwrap();
        (profile.pattern, if profile.period > 0.0 { (2160.0 / profile.period).round() as usize } else { 0 })
    }

    #[test]
    fn each_trace_gets_its_pattern_and_periods_need_not_be_daily() {
        let walk: Vec<f64> = trace(0.1, 9, |_| 0.0)
            .iter()
            .scan(0.5_f64, |at, step| {
                *at = (*at + 0.2 * step).clamp(0.05, 0.95);
                Some(*at)
            })
            .collect();
        let rows = [
            trace(0.02, 1, |day| 0.4 + 0.2 * (TAU * day).sin()),
            trace(0.02, 2, |day| if day.fract() < 0.25 { 0.7 } else { 0.2 }), // a daily peak that is not a sine
            trace(0.01, 3, |day| 0.4 + 0.2 * (TAU * day * 20.0).sin()),       // every 72 minutes
            trace(0.02, 4, |day| 0.4 + 0.2 * (TAU * day / 6.0).sin()),        // every 6 days
            trace(0.02, 5, |_| 0.3),
            walk,
            trace(0.02, 6, |day| if day < 17.3 { 0.2 } else { 0.6 }), // a level shift
            trace(0.10, 7, |_| 0.5),                                  // noise
            trace(0.035, 8, |_| 0.5),                                 // weak noise
            trace(0.02, 9, |day| if day.fract() < 0.04 { 0.9 } else { 0.2 }), // one hour a day: the power is in the harmonics
        ];
        let classified = patterns(&rows, &Settings::default());
        let expected = [
            (Pattern::Periodic, 30),
            (Pattern::Periodic, 30),
            (Pattern::Periodic, 600),
            (Pattern::Periodic, 5),
            (Pattern::Constant, 0),
            (Pattern::Unpredictable, 0),
            (Pattern::Unpredictable, 0),
            (Pattern::Unpredictable, 0),
            (Pattern::Unpredictable, 0),
            (Pattern::Periodic, 30),
        ];
        for (row, (classified, expected)) in classified.iter().zip(expected).enumerate() {
            let (pattern, cycles) = pattern_and_cycles(classified);
            assert_eq!(pattern, expected.0, "row {row}: {classified:?}");
            assert!(expected.1 == 0 || cycles == expected.1, "row {row}: {cycles} cycles");
        }
    }

    /// Noise with a correlation time, in slots; standard deviation 0.1.
    fn red_noise(correlation: f64, seed: u64) -> Vec<f64> {
        let keep = (-1.0 / correlation).exp();
        let mut at = 0.0;
        trace(0.1 * (1.0 - keep * keep).sqrt(), seed, |_| 0.0)
            .into_iter()
            .map(|step| {
                at = keep * at + step;
                0.5 + at
            })
            .collect()
    }

    #[test]
    fn slow_noise_is_rarely_periodic() {
        let settings = Settings { slot_s: Some(1200.0), ..Settings::default() };
        for hours in [8.0, 20.0, 42.0] {
            let rows: Vec<_> = (0..100).map(|seed| red_noise(3.0 * hours, seed)).collect();
            let classified = patterns(&rows, &settings);
            let periodic =
                classified.iter().filter(|one| pattern_and_cycles(one).0 == Pattern::Periodic).count();
            assert!(periodic <= 5, "{hours} h: {periodic} of 100");
        }
    }

    #[test]
    fn short_daily_peaks_and_weeks_are_found_in_any_window() {
        let daily = |minutes: f64, seed| {
            let mut random = Sequence::new(seed);
            let of = |at: u32| {
                let busy = (f64::from(at) * 5.0) % 1440.0 < minutes;
                (if busy { 0.9 } else { 0.2 }) + 0.05 * (random.unit() - 0.5)
            };
            (0..31 * 288).map(of).collect::<Vec<f64>>()
        };
        let weekly: Vec<f64> = (0..31 * 288)
            .map(|at| if (at / 288) % 7 < 5 { 0.5 } else { 0.2 + f64::from(at % 5) / 100.0 })
            .collect();
        let settings = Settings { stability: true, slot_s: Some(300.0), ..Settings::default() };
        let classified = patterns(&[daily(10.0, 1), daily(20.0, 2), daily(30.0, 3), weekly], &settings);
        let periods: Vec<f64> =
            classified.iter().map(|one| one.profile.as_ref().unwrap().period.round()).collect();
        assert_eq!(periods, [288.0, 288.0, 288.0, 7.0 * 288.0]);
        assert!(
            classified.iter().all(|one| pattern_and_cycles(one).0 == Pattern::Periodic),
            "{classified:?}"
        );
    }

    #[test]
    fn given_peaks_replace_the_peaks_of_average_servers() {
        let rows = trace(0.02, 1, |_| 0.44);
        let classified = classify(&rows, 2160, &[2.0], Some(&[0.7]), &Settings::default()).unwrap();
        assert!(
            (classified.classes[0].peak - 0.7).abs() < 1e-12
                && pattern_and_cycles(&classified.tenants[0]).0 == Pattern::Constant
        );
    }

    #[test]
    fn gaps_and_clock_shifts_do_not_hide_a_period() {
        let mut gaps = trace(0.02, 1, |day| 0.4 + 0.2 * (TAU * day).sin());
        gaps[100..140].fill(f64::NAN);
        gaps[1000..1200].fill(f64::NAN);
        let mut shifted = trace(0.02, 2, |day| 0.4 + 0.2 * (TAU * day).sin());
        shifted[1000..].rotate_left(3); // a shift of one hour (daylight saving time)
        let mut truncated = gaps.clone();
        truncated[..700].fill(f64::NAN);
        let rows = [gaps, shifted, truncated, vec![f64::NAN; 2160]];
        let classified = patterns(&rows, &Settings::default());
        assert_eq!(pattern_and_cycles(&classified[0]), (Pattern::Periodic, 30));
        assert_eq!(pattern_and_cycles(&classified[1]), (Pattern::Periodic, 30));
        assert!(
            classified[2].class.is_none() && classified[2].profile.is_none() && classified[2].missing > 0.4
        );
        assert!(classified[3].class.is_none() && (classified[3].missing - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_pattern_is_stable_only_if_both_halves_show_it() {
        let rows = [
            trace(0.02, 1, |day| 0.4 + 0.2 * (TAU * day).sin()),
            trace(0.02, 2, |day| if day < 15.0 { 0.4 } else { 0.4 + 0.3 * (TAU * day).sin() }),
            trace(0.02, 3, |day| if day < 15.0 { 0.4 + 0.3 * (TAU * day).sin() } else { 0.4 }),
        ];
        let settings = Settings { stability: true, ..Settings::default() };
        let stable: Vec<_> = patterns(&rows, &settings)
            .iter()
            .map(|classified| classified.profile.as_ref().unwrap().stable)
            .collect();
        assert_eq!(stable, [Some(true), Some(false), Some(false)]);
        let classified = patterns(&rows, &settings);
        let patterns: Vec<Pattern> = classified.iter().map(|one| pattern_and_cycles(one).0).collect();
        assert_eq!(patterns, [Pattern::Periodic, Pattern::Unpredictable, Pattern::Unpredictable]);
    }

    #[test]
    fn classes_are_of_one_pattern_and_count_servers() {
        let rows: Vec<Vec<f64>> = (0..12)
            .map(|i| match i % 3 {
                0 => trace(0.02, i, |day| 0.4 + 0.2 * (TAU * day).sin()),
                1 => trace(0.01, i, |_| 0.1 + 0.05 * i as f64),
                _ => trace(0.1, i, |_| 0.5),
            })
            .collect();
        let servers: Vec<f64> = (1..=12).map(f64::from).collect();
        let settings = Settings { classes: [2, 3, 1], ..Settings::default() };
        let classified = classify(&rows.concat(), 2160, &servers, None, &settings).unwrap();
        assert!((classified.classes.iter().map(|c| c.servers).sum::<f64>() - 78.0).abs() < 1e-9);
        assert!(classified.classes.is_sorted_by_key(|class| class.pattern) && classified.classes.len() == 6);
        for tenant in &classified.tenants {
            assert_eq!(classified.classes[tenant.class.unwrap()].pattern, pattern_and_cycles(tenant).0);
        }
    }

    #[test]
    fn tenants_with_equal_mean_and_peak_are_separated_by_frequency() {
        let cycles = |i: u64| if i % 2 == 0 { 1.0 } else { 20.0 };
        let rows: Vec<Vec<f64>> =
            (0..10).map(|i| trace(0.02, i, |day| 0.4 + 0.2 * (TAU * day * cycles(i)).sin())).collect();
        let classified = patterns(&rows, &Settings { classes: [2, 1, 1], ..Settings::default() });
        let classes: Vec<usize> = classified.iter().map(|tenant| tenant.class.unwrap()).collect();
        assert_eq!(classes, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn invalid_input_is_refused() {
        let rows = vec![0.5; 64];
        let check = |slots, servers: &[f64], settings: Settings, code: &str| {
            assert_eq!(classify(&rows, slots, servers, None, &settings).unwrap_err().code(), code);
        };
        check(63, &[1.0], Settings::default(), "harvest-shape");
        check(16, &[1.0; 4], Settings::default(), "harvest-short");
        check(64, &[0.0], Settings::default(), "harvest-range");
        check(64, &[1.0], Settings { periodic_share: 1.5, ..Settings::default() }, "harvest-range");
        check(64, &[1.0], Settings { classes: [1, 0, 1], ..Settings::default() }, "harvest-range");
    }
}
