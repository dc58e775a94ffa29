//! Compares the exact fit with other ways to the same optimum, and with published fits.

use hindmost_quantile::{cell_quantiles, fit, inverse, objective, Cells, Matrix, QuantileError};
use hindmost_random::{normal_quantile, Draws};

/// Return a full factorial design of `k` factors with all interactions up to `order`, coded 0 and 1.
fn design(k: u32, order: u32) -> Matrix {
    let terms: Vec<u32> = (0..1_u32 << k).filter(|term| term.count_ones() <= order).collect();
    let mut terms = terms;
    terms.sort_by_key(|term| (term.count_ones(), *term));
    let rows = (0..1_u32 << k).flat_map(|cell| {
        terms.iter().map(move |term| f64::from(u8::from(cell & term == *term))).collect::<Vec<_>>()
    });
    Matrix::new(terms.len(), rows.collect())
}

fn samples(k: u32, each: usize, seed: u64, grain: Option<f64>) -> (Vec<f64>, Vec<u32>) {
    let cells = 1_u32 << k;
    let cell_of: Vec<u32> = (0..each as u32 * cells).map(|i| i % cells).collect();
    let value = |(i, &cell): (usize, &u32)| {
        let y =
            (4.0 + 0.1 * f64::from(cell) + 0.4 * normal_quantile(Draws::new(seed, i as u64).unit(0))).exp();
        grain.map_or(y, |grain| (y / grain).round() * grain)
    };
    (cell_of.iter().enumerate().map(value).collect(), cell_of)
}

fn least_objective(cells: &Cells, design: &Matrix, tau: f64) -> f64 {
    objective(cells, design, &fit(cells, design, tau).unwrap().coefficients, tau)
}

#[test]
fn a_saturated_model_is_one_quantile_per_cell() {
    let full = design(4, 4);
    for (seed, grain) in [(1, None), (2, Some(1.0)), (3, Some(10.0))] {
        let (y, cell_of) = samples(4, 300, seed, grain);
        let cells = Cells::new(&y, &cell_of, 16, None).unwrap();
        for tau in [0.5, 0.95, 0.99] {
            let by_select = &cell_quantiles(&y, &cell_of, 16, &[tau]).unwrap();
            let by_sort: Vec<f64> = (0..16).map(|cell| cells.quantile(cell, tau).unwrap()).collect();
            assert_eq!(by_select.concat(), by_sort);
            let by_hand: f64 = (0..16).map(|cell| cells.loss(cell, by_sort[cell], tau)).sum();
            let found = least_objective(&cells, &full, tau);
            assert!((found / by_hand - 1.0).abs() < 1e-12, "{tau}: {found} {by_hand}");
        }
    }
}

#[test]
fn selection_does_not_depend_on_the_probed_samples() {
    // The bins are laid over every 5th sample: these are all equal, while the others are far away, on both sides
    // of zero.
    let n = 4_096 * 5;
    let y: Vec<f64> = (0..n).map(|i| if i % 5 == 0 { 1.0 } else { f64::from(i - n / 2) * 1e3 }).collect();
    let of: Vec<u32> = vec![0; y.len()];
    let cells = Cells::new(&y, &of, 1, None).unwrap();
    let levels = [0.001, 0.25, 0.5, 0.9, 0.9999];
    let found = cell_quantiles(&y, &of, 1, &levels).unwrap();
    let sorted: Vec<f64> = levels.iter().map(|&tau| cells.quantile(0, tau).unwrap()).collect();
    assert_eq!(found[0], sorted);
    let mut bad = y;
    bad[7] = f64::INFINITY;
    let Err(QuantileError::NotFinite { index: 7, .. }) = cell_quantiles(&bad, &of, 1, &levels) else {
        panic!("an infinite sample was accepted")
    };
}

/// Check that no step away from a fit, down to a hundred-thousandth, lowers the objective.
fn check_small_steps(cells: &Cells, x: &Matrix, tau: f64, coefficients: &[f64], steps: u64) {
    let here = objective(cells, x, coefficients, tau);
    for i in 0..steps {
        let step = 10.0_f64.powf(-5.0 * Draws::new(9, i).unit(99));
        let moved: Vec<f64> = (coefficients.iter().enumerate())
            .map(|(j, b)| b + step * (Draws::new(9, i).unit(j as u32) - 0.5))
            .collect();
        let there = objective(cells, x, &moved, tau);
        assert!(there >= here * (1.0 - 1e-12), "{tau}: {there} {here}");
    }
}

#[test]
fn no_small_step_from_a_fit_improves_it() {
    for order in [1, 2] {
        let x = design(4, order);
        for (seed, grain) in [(1, None), (2, Some(5.0))] {
            let (y, cell_of) = samples(4, 200, seed, grain);
            let cells = Cells::new(&y, &cell_of, 16, None).unwrap();
            for tau in [0.05, 0.5, 0.95] {
                let found = fit(&cells, &x, tau).unwrap();
                check_small_steps(&cells, &x, tau, &found.coefficients, 2_000);
            }
        }
    }
}

#[test]
fn weights_are_equivalent_to_copies() {
    let (y, cell_of) = samples(3, 60, 5, None);
    let weights: Vec<f64> = (0..y.len()).map(|i| (i % 4) as f64).collect();
    let copies: Vec<usize> = (0..y.len()).flat_map(|i| vec![i; i % 4]).collect();
    let long: Vec<f64> = copies.iter().map(|&i| y[i]).collect();
    let of_long: Vec<u32> = copies.iter().map(|&i| cell_of[i]).collect();
    let weighted = Cells::new(&y, &cell_of, 8, Some(&weights)).unwrap();
    let repeated = Cells::new(&long, &of_long, 8, None).unwrap();
    for tau in [0.25, 0.5, 0.9] {
        for cell in 0..8 {
            assert_eq!(weighted.quantile(cell, tau), repeated.quantile(cell, tau));
        }
        let (a, b) =
            (least_objective(&weighted, &design(3, 1), tau), least_objective(&repeated, &design(3, 1), tau));
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}

#[test]
fn real_covariates_and_a_published_fit() {
    // stackloss (Brownlee 1965; R datasets). Fits: R 4.2.2, quantreg 5.94.
    let air = [80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70];
    let water = [27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20];
    let acid = [89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91];
    let loss = [42, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15];
    let y: Vec<f64> = loss.iter().map(|&y| f64::from(y)).collect();
    let rows =
        (0..21).flat_map(|i| [1.0, f64::from(air[i]), f64::from(water[i]), f64::from(acid[i])]).collect();
    let cells = Cells::new(&y, &(0..21).collect::<Vec<u32>>(), 21, None).unwrap();
    let x = Matrix::new(4, rows);
    for (tau, expected, published) in [
        (0.25, None, 16.625),
        (0.5, Some([-39.689_855_1, 0.831_884_1, 0.573_913_0, -0.060_869_6]), 21.040_580),
        (0.75, Some([-54.189_655_2, 0.870_689_7, 0.982_758_6, 0.0]), 16.252_155),
    ] {
        let found = fit(&cells, &x, tau).unwrap();
        assert!(
            (least_objective(&cells, &x, tau) - published).abs() < 1e-6,
            "{tau}: {}",
            least_objective(&cells, &x, tau)
        );
        for (b, expected) in found.coefficients.iter().zip(expected.iter().flatten()) {
            assert!((b - expected).abs() < 1e-6, "{tau}: {:?}", found.coefficients);
        }
    }
}

#[test]
fn invalid_input_is_refused() {
    let (y, cell_of) = samples(2, 10, 1, None);
    let cells = Cells::new(&y, &cell_of, 4, None).unwrap();
    assert_eq!(fit(&cells, &design(2, 2), 1.0), Err(QuantileError::Level(1.0)));
    let twice = Matrix::new(3, vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(fit(&cells, &twice, 0.5), Err(QuantileError::Rank { rank: 2, columns: 3, column: 2 }));
    assert_eq!(cell_quantiles(&y, &cell_of, 5, &[0.5]), Err(QuantileError::EmptyCell(4)));
    let Err(QuantileError::NotFinite { index: 1, .. }) = Cells::new(&[1.0, f64::NAN], &[0, 0], 1, None)
    else {
        panic!("NaN was accepted")
    };
    assert!(inverse(&twice).is_none());
}

#[test]
fn a_model_that_does_not_need_an_empty_cell_is_fitted() {
    let (y, cell_of) = samples(3, 50, 1, None);
    let kept: Vec<usize> = (0..y.len()).filter(|&i| cell_of[i] != 5).collect();
    let cells = Cells::new(
        &kept.iter().map(|&i| y[i]).collect::<Vec<_>>(),
        &kept.iter().map(|&i| cell_of[i]).collect::<Vec<_>>(),
        8,
        None,
    )
    .unwrap();
    assert!(fit(&cells, &design(3, 1), 0.9).is_ok());
    assert_eq!(fit(&cells, &design(3, 3), 0.9), Err(QuantileError::Rank { rank: 7, columns: 8, column: 7 }));
}

#[test]
fn a_fit_by_way_of_some_rows_is_the_fit_of_all() {
    for (columns, tau, grain) in [(3, 0.5, 0.0), (3, 0.95, 0.0), (10, 0.99, 0.0), (4, 0.9, 0.25)] {
        let n = 20_000;
        let draw = |i: usize, j: usize| Draws::new(17, i as u64).unit(j as u32);
        let mut entries = Vec::with_capacity(n * (columns + 1));
        let mut y = Vec::with_capacity(n);
        for i in 0..n {
            let row: Vec<f64> = (0..columns).map(|j| normal_quantile(draw(i, j))).collect();
            let noise = -(1.0 - draw(i, columns)).ln() * (1.0 + 0.5 * row[0].abs());
            let value = 10.0 + row.iter().sum::<f64>() + noise;
            y.push(if grain > 0.0 { (value / grain).round() * grain } else { value });
            entries.push(1.0);
            entries.extend(row);
        }
        let cells = Cells::new(&y, &(0..n as u32).collect::<Vec<_>>(), n, None).unwrap();
        let x = Matrix::new(columns + 1, entries);
        let found = fit(&cells, &x, tau).unwrap();
        assert!(found.pivots < 1_000, "{} pivots", found.pivots);
        check_small_steps(&cells, &x, tau, &found.coefficients, 300);
    }
}
