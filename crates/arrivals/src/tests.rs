//! Comparison of every law with its stated properties.

use hindmost_clock::Rate;

use crate::{Cumulants, Law, Part, Seeds};

const RATE: f64 = 100_000.0;

/// Return laws of every kind, including special cases.
fn laws() -> Vec<Law> {
    let text = r#"["exponential", "deterministic", "uniform", {"kind": "uniform", "spread": 0.3},
        {"kind": "gamma", "shape": 0.5}, {"kind": "gamma", "shape": 1}, {"kind": "gamma", "shape": 4},
        {"kind": "hyperexponential", "c2": 1}, {"kind": "hyperexponential", "c2": 20}, "pareto",
        {"kind": "pareto", "c2": 2, "ratio": 100}, {"kind": "bursts", "ratio": 10, "length_ms": 1}]"#;
    let laws: Vec<Law> = serde_json::from_str(text).unwrap();
    for law in &laws {
        law.check().unwrap();
    }
    laws
}

fn rate() -> Rate {
    Rate::per_second(RATE).unwrap()
}

/// Return the first `count` scheduled times of one part.
fn scheduled(law: &Law, part: Part, seed: u64, count: usize) -> Vec<u64> {
    let seeds = Seeds { seed, client: 0, thread: part.index };
    let mut arrivals = law.part(rate(), part, seeds).unwrap();
    (0..count).map(|_| arrivals.next_scheduled().0).collect()
}

/// Return the scheduled times of all parts together, sorted, up to the end of the shortest part.
fn superpose(law: &Law, of: u32, seed: u64, each: usize) -> Vec<u64> {
    let parts: Vec<Vec<u64>> = (0..of).map(|index| scheduled(law, Part { index, of }, seed, each)).collect();
    let end = parts.iter().map(|part| *part.last().unwrap()).min().unwrap();
    let mut all: Vec<u64> = parts.into_iter().flatten().filter(|&at| at <= end).collect();
    all.sort_unstable();
    all
}

/// Return the gaps in mean gaps.
fn gaps(scheduled: &[u64]) -> Vec<f64> {
    scheduled.windows(2).map(|two| (two[1] - two[0]) as f64 * RATE / 1e9).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

#[test]
fn every_law_is_written_and_read_back() {
    for law in laws() {
        let text = serde_json::to_string(&law).unwrap();
        assert_eq!(serde_json::from_str::<Law>(&text).unwrap(), law, "{text}");
    }
    assert_eq!(serde_json::to_string(&Law::default()).unwrap(), r#""exponential""#);
}

#[test]
fn misspelt_and_invalid_laws_are_refused_by_name() {
    for (text, named) in [
        (r#""gama""#, "`gama`"),
        (r#""gamma""#, "`shape`"),
        (r#"{"kind": "gamma", "shap": 2}"#, "`shap`"),
        (r#"{"shape": 2}"#, "`kind`"),
        ("7", "`7`"),
    ] {
        let error = serde_json::from_str::<Law>(text).unwrap_err().to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
    for (text, key) in [
        (r#"{"kind": "gamma", "shape": 0}"#, "shape"),
        (r#"{"kind": "hyperexponential", "c2": 0.5}"#, "c2"),
        (r#"{"kind": "uniform", "spread": 1.5}"#, "spread"),
        (r#"{"kind": "pareto", "c2": 1e6}"#, "c2"),
        (r#"{"kind": "bursts", "ratio": 10, "share": 1}"#, "share"),
    ] {
        let error = serde_json::from_str::<Law>(text).unwrap().check().unwrap_err();
        assert_eq!(error.field, key, "{text}");
    }
}

#[test]
fn all_parts_together_have_the_requested_rate() {
    for law in laws() {
        let gaps = gaps(&superpose(&law, 4, 7, 10_000));
        let found = mean(gaps.iter().copied());
        // Five standard errors of a mean gap with the stated dispersion of counts.
        let error = 5.0 * (law.dispersion(rate()) / gaps.len() as f64).sqrt();
        assert!((found - 1.0).abs() < error + 1e-5, "{law:?}: {found}, within {error}");
    }
}

/// This also covers two clients, whose workers are numbered consecutively.
#[test]
fn interleaved_parts_are_exactly_the_whole() {
    for law in laws().into_iter().filter(|law| *law != Law::default()) {
        let whole = scheduled(&law, Part::WHOLE, 11, 24_000);
        for of in [1, 3, 8] {
            let parts = superpose(&law, of, 11, 24_000 / of as usize);
            assert!(parts.len() > 20_000 && parts[..] == whole[..parts.len()], "{law:?} over {of}");
        }
    }
}

#[test]
fn equal_seeds_give_equal_processes_and_different_seeds_differ() {
    for law in laws().into_iter().filter(|law| law.cumulants().is_none_or(|c| c.scv() > 0.0)) {
        let first = scheduled(&law, Part::WHOLE, 1, 100);
        assert_eq!(first, scheduled(&law, Part::WHOLE, 1, 100));
        assert_ne!(first, scheduled(&law, Part::WHOLE, 2, 100));
    }
}

/// Check the mean, C^2 and the third central moment against five standard errors. These follow from the cumulants up
/// to the sixth moment, which is estimated from the gaps.
#[test]
fn gaps_have_the_stated_moments() {
    for law in laws() {
        let Some(Cumulants([_, second, third, fourth])) = law.cumulants() else { continue };
        let gaps = gaps(&scheduled(&law, Part::WHOLE, 5, 200_000));
        let n = gaps.len() as f64;
        let central = |power: i32| mean(gaps.iter().map(|gap| (gap - 1.0).powi(power)));
        let check = |name: &str, found: f64, stated: f64, error: f64| {
            assert!(
                (found - stated).abs() < 5.0 * error + 1e-6,
                "{law:?}: {name} {found}, not {stated} +- {error}"
            );
        };
        check("mean", mean(gaps.iter().copied()), 1.0, (second / n).sqrt());
        // The variance of a sample variance: fourth central moment minus the square of the second.
        check("C2", central(2), second, ((fourth + 2.0 * second * second) / n).sqrt());
        // The sixth moment is estimated from 200,000 gaps, which is impossible for a tail that is rarer.
        if fourth < 1e5 {
            check("third", central(3), third, ((central(6) - third * third) / n).sqrt());
        }
    }
}

/// Compare the gaps of superposed parts with the law by the Kolmogorov distance.
#[test]
fn gaps_of_superposed_parts_follow_the_law() {
    for law in laws() {
        let Some(stated) = law.gaps() else { continue };
        let mut gaps = gaps(&superpose(&law, 4, 7, 50_000));
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().fold(0.0_f64, |worst, (i, gap)| {
            let below = (stated.below)(*gap);
            worst.max((below - i as f64 / n).abs()).max(((i + 1) as f64 / n - below).abs())
        });
        // 1.95 / sqrt(n) is Kolmogorov's 0.1 % critical value; the seed is fixed.
        assert!(distance < 1.95 / n.sqrt(), "{law:?}: {distance}");
    }
}

#[test]
fn stated_laws_are_distributions() {
    for gaps in laws().iter().filter_map(Law::gaps) {
        let below: Vec<f64> = (0..60).map(|i| (gaps.below)(f64::from(i) / 2.0)).collect();
        assert!(below[0] == 0.0 && below[59] > 1.0 - 1e-9 && below.windows(2).all(|two| two[0] <= two[1]));
        for x in [0.1, 1.0, 5.0] {
            assert!(((gaps.below)(x) + (gaps.log_above)(x).exp() - 1.0).abs() < 1e-12);
        }
        assert!((gaps.log_above)(1e4).is_finite(), "long gaps of a stalled sender have a finite logarithm");
    }
}

/// Return variance divided by mean of the counts in `spans` spans of `span_ns`.
fn dispersion(scheduled: impl Iterator<Item = u64>, span_ns: u64, spans: usize) -> f64 {
    let mut counts = vec![0.0_f64; spans];
    for at in scheduled {
        let Some(count) = counts.get_mut((at / span_ns) as usize) else { break };
        *count += 1.0;
    }
    let m = mean(counts.iter().copied());
    counts.iter().map(|c| (c - m).powi(2)).sum::<f64>() / (spans as f64 - 1.0) / m
}

/// The spans are so much longer than a gap that the dispersion is near its limit; the published Pareto law has gaps of
/// up to 8,000 mean gaps.
#[test]
fn counts_have_the_stated_dispersion() {
    for law in laws() {
        let is_heavy = law.cumulants().is_some_and(|c| c.0[3] > 1e5);
        let (spans, gaps) = if is_heavy { (200, 40_000.0) } else { (400, 2_000.0) };
        let span_ns = (gaps * 1e9 / RATE) as u64;
        let mut whole = law.part(rate(), Part::WHOLE, Seeds { seed: 3, client: 0, thread: 0 }).unwrap();
        let found = dispersion(std::iter::from_fn(|| Some(whole.next_scheduled().0)), span_ns, spans);
        let stated = match &law {
            Law::Bursts(bursts) => bursts.dispersion_in_spans(RATE, span_ns as f64 / 1e9),
            _ => law.dispersion(rate()),
        };
        // Five standard errors of the variance over all spans, plus the distance to the limit.
        let allowed = 5.0 * (2.0 / spans as f64).sqrt() * stated + 0.03 * stated + 0.01;
        assert!((found - stated).abs() < allowed, "{law:?}: {found}, not {stated}");
    }
}

#[test]
fn counts_of_a_part_have_the_stated_dispersion() {
    for law in laws() {
        let Some(stated) = law.part_dispersion() else { continue };
        let span_ns = (400.0 * 1e9 / RATE) as u64;
        let mut part =
            law.part(rate(), Part { index: 1, of: 4 }, Seeds { seed: 3, client: 0, thread: 1 }).unwrap();
        let found = dispersion(std::iter::from_fn(|| Some(part.next_scheduled().0)), span_ns, 1_000);
        // Five standard errors of a variance over 1,000 spans: 5 * sqrt(2 / 1000) = 0.22.
        assert!((found - stated).abs() < 0.22 * stated + 0.01, "{law:?}: {found}");
    }
}

#[test]
fn gaps_of_an_interleaved_part_have_the_cumulants_of_sums() {
    for law in laws().into_iter().filter(|law| *law != Law::default()) {
        let Some(stated) = law.cumulants().map(|whole| whole.of_interleaved(3.0)) else { continue };
        let found = gaps(&scheduled(&law, Part { index: 2, of: 3 }, 9, 60_000));
        let c2 = mean(found.iter().map(|gap| (gap / 3.0 - 1.0).powi(2)));
        let Cumulants([_, second, _, fourth]) = stated;
        let error = ((fourth + 2.0 * second * second) / found.len() as f64).sqrt();
        assert!((c2 - second).abs() < 5.0 * error + 1e-6, "{law:?}: {c2}, not {second}");
    }
}

/// Independent parts would change a law; this is why workers share one stream.
#[test]
fn independent_parts_would_tend_to_a_poisson_process() {
    let law: Law = serde_json::from_str(r#"{"kind": "gamma", "shape": 4}"#).unwrap();
    let mut all: Vec<u64> =
        (0..8).flat_map(|seed| scheduled(&law, Part::WHOLE, 100 + seed, 10_000)).collect();
    all.sort_unstable();
    let found = gaps(&all[..70_000]);
    let m = mean(found.iter().copied());
    let c2 = mean(found.iter().map(|gap| (gap / m - 1.0).powi(2)));
    assert!(c2 > 0.7, "superposed C2 {c2}, of parts with 0.25");
}
