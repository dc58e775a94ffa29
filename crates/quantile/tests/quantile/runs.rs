//! Compares histograms with their samples, and the bootstrap with closed forms.

use hindmost_quantile::{cell_quantiles, cluster_bootstrap, QuantileError, Runs};
use hindmost_random::{normal_quantile, Draws};

const BINS_PER_DOUBLING: f64 = 1024.0;

/// Return samples by run, in the order of cells, with run effects of standard deviation `sd`.
fn samples(cells: usize, runs: usize, each: usize, sd: f64, seed: u64) -> Vec<Vec<f64>> {
    (0..cells * runs)
        .map(|run| {
            let effect = sd * normal_quantile(Draws::new(seed, run as u64).unit(1));
            let of = |i: usize| normal_quantile(Draws::new(seed, (run * each + i) as u64).unit(0));
            (0..each).map(|i| (4.0 + effect + 0.3 * of(i)).exp()).collect()
        })
        .collect()
}

fn bin(sample: f64) -> u32 {
    (sample.log2() * BINS_PER_DOUBLING) as u32
}

fn histograms(samples: &[Vec<f64>], runs: usize) -> Runs {
    let least = samples.iter().flatten().map(|&y| bin(y)).min().unwrap();
    let most = samples.iter().flatten().map(|&y| bin(y)).max().unwrap();
    let edge = |bin: u32| (f64::from(bin) / BINS_PER_DOUBLING).exp2();
    let bins = (least..=most).map(|bin| (edge(bin), edge(bin + 1))).collect();
    let of_bin: Vec<u32> = samples.iter().flatten().map(|&y| bin(y) - least).collect();
    let ends: Vec<usize> = (1..=samples.len()).map(|run| run * samples[0].len()).collect();
    Runs::new(bins, &of_bin, &vec![1; of_bin.len()], &ends, &vec![runs; samples.len() / runs]).unwrap()
}

#[test]
fn quantiles_match_the_samples_within_a_bin() {
    let (cells, runs, each) = (4, 10, 2_000);
    let all = samples(cells, runs, each, 0.05, 1);
    let histograms = histograms(&all, runs);
    let flat: Vec<f64> = all.concat();
    let cell_of: Vec<u32> = (0..flat.len()).map(|i| (i / each / runs) as u32).collect();
    let levels = [0.01, 0.5, 0.95, 0.99];
    let exact = cell_quantiles(&flat, &cell_of, cells, &levels).unwrap();
    for (cell, exact) in exact.iter().enumerate() {
        for (level, tau) in levels.into_iter().enumerate() {
            let found = histograms.quantile(cell, tau).unwrap();
            assert!((found / exact[level] - 1.0).abs() < 1.0 / BINS_PER_DOUBLING, "{cell} {tau}");
        }
    }
    let own = cell_quantiles(&all[7], &vec![0; each], 1, &[0.5]).unwrap()[0][0];
    assert!((histograms.run_quantile(7, 0.5) / own - 1.0).abs() < 1.0 / BINS_PER_DOUBLING);
}

#[test]
fn counts_below_a_value_match_the_samples() {
    let all = samples(2, 5, 1_000, 0.05, 2);
    let histograms = histograms(&all, 5);
    let at = [50.0, 60.0];
    for (run, found) in histograms.below(&at).into_iter().enumerate() {
        let exact = all[run].iter().filter(|&&y| y <= at[run / 5]).count() as f64;
        // A bin near the median has about two samples of a run.
        assert!((found - exact).abs() < 8.0, "{run}: {found} {exact}");
    }
    assert_eq!(histograms.below(&[0.0, 1e9]), [vec![0.0; 5], vec![1_000.0; 5]].concat());
}

#[test]
fn draws_scatter_like_runs() {
    let (runs, times) = (30, 4_000);
    let all = samples(3, runs, 1_000, 0.05, 3);
    let histograms = histograms(&all, runs);
    let drawn = cluster_bootstrap(&histograms, &[0.5, 0.95], times, 7, false).unwrap();
    for cell in 0..3 {
        for (level, tau) in [0.5, 0.95].into_iter().enumerate() {
            let own: Vec<f64> = (0..times).map(|draw| drawn.quantiles[draw * 6 + level * 3 + cell]).collect();
            let mean = own.iter().sum::<f64>() / times as f64;
            let sd = (own.iter().map(|q| (q - mean).powi(2)).sum::<f64>() / times as f64).sqrt();
            // The closed form uses the density of the law at its quantile, from 1 % on either side.
            let q = histograms.quantile(cell, tau).unwrap();
            let count = |at: f64| {
                let mut ends = [1.0; 3];
                ends[cell] = at;
                let below = histograms.below(&ends);
                below[cell * runs..(cell + 1) * runs].to_vec()
            };
            let n = (runs * 1_000) as f64;
            let density =
                (count(q * 1.02).iter().sum::<f64>() - count(q * 0.98).iter().sum::<f64>()) / n / (0.04 * q);
            let scores: f64 = count(q).iter().map(|below| (tau * 1_000.0 - below).powi(2)).sum();
            let closed = scores.sqrt() / n / density;
            assert!((sd / closed - 1.0).abs() < 0.12, "{cell} {tau}: {sd} {closed}");
            assert!((mean / q - 1.0).abs() < 0.01, "{cell} {tau}: {mean} {q}");
            // The errors of the draws themselves agree: on average they are nearly (E-1)/E of it.
            let own =
                (0..times).map(|draw| drawn.squares[draw * 6 + level * 3 + cell]).sum::<f64>() / times as f64;
            assert!((own.sqrt() / density / closed - 1.0).abs() < 0.1, "{cell} {tau}");
        }
    }
}

#[test]
fn blocks_are_resampled_whole() {
    // Two cells have the same runs: drawn together, they never differ.
    let one = samples(1, 8, 500, 0.2, 4);
    let histograms = histograms(&[one.clone(), one].concat(), 8);
    let apart = cluster_bootstrap(&histograms, &[0.5], 50, 1, false).unwrap().quantiles;
    let together = cluster_bootstrap(&histograms, &[0.5], 50, 1, true).unwrap().quantiles;
    assert!(apart.chunks(2).filter(|pair| (pair[0] - pair[1]).abs() < 1e-12).count() < 5);
    assert!(together.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-12));
}

#[test]
fn invalid_histograms_are_refused() {
    let bins = || vec![(0.0, 1.0), (1.0, 2.0)];
    let refused = |bins, of_bin: &[u32], counts: &[u32], ends: &[usize], cells: &[usize]| {
        Runs::new(bins, of_bin, counts, ends, cells).unwrap_err()
    };
    assert_eq!(refused(bins(), &[0], &[0], &[1], &[1]), QuantileError::EmptyRun(0));
    assert_eq!(refused(vec![(0.0, 1.0), (0.5, 2.0)], &[0], &[1], &[1], &[1]), QuantileError::Bins);
    assert_eq!(refused(bins(), &[2], &[1], &[1], &[1]), QuantileError::Cell { index: 0, cell: 2, cells: 2 });
    let two = Runs::new(bins(), &[0, 1, 1], &[1, 1, 1], &[1, 2, 3], &[2, 1]).unwrap();
    assert!(cluster_bootstrap(&two, &[0.5], 1, 1, true).is_err());
    assert_eq!(cluster_bootstrap(&two, &[1.0], 1, 1, false), Err(QuantileError::Level(1.0)));
    assert!(cluster_bootstrap(&two, &[0.5], 1, 1, false).unwrap().squares[1].is_nan());
}
