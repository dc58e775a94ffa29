//! All programs alone, beside all rulers, and beside each other.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::core::run;
use crate::program::Program;

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
pub struct Asked {
    /// Random programs.
    pub programs: u64,
    /// Of programs and their draws.
    pub seed: u64,
    /// Ticks before counting.
    pub warm: u64,
    /// Ticks counted.
    pub ticks: u64,
}

/// Instructions a tick.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// Names.
    pub programs: Vec<String>,
    /// Names; the inert one first.
    pub rulers: Vec<String>,
    /// Of each program alone.
    pub solo: Vec<f64>,
    /// Of each ruler alone.
    pub ruler_solo: Vec<f64>,
    /// Of each program (rows) beside each ruler.
    pub beside_ruler: Vec<Vec<f64>>,
    /// Of each ruler (columns) beside each program (rows).
    pub ruler_beside: Vec<Vec<f64>>,
    /// Of each ruler beside the inert one: what its presence alone costs it.
    pub ruler_beside_null: Vec<f64>,
    /// Of each program (rows) beside each program, itself among them.
    pub beside: Vec<Vec<f64>>,
}

/// Runs everything, on all processors; the same figures on any number of them.
pub fn measure(asked: &Asked) -> Matrix {
    let programs: Vec<Program> =
        (0..asked.programs).map(|number| Program::random(asked.seed, number)).collect();
    let rulers = Program::rulers();
    let go = |of: &[&Program]| run(of, asked.seed, asked.warm, asked.ticks);
    let alone = |of: &[Program]| of.par_iter().map(|one| go(&[one])[0]).collect();
    let both = |a: &[Program], b: &[Program]| -> Vec<Vec<(f64, f64)>> {
        a.par_iter()
            .map(|one| {
                b.iter()
                    .map(|other| {
                        let rates = go(&[one, other]);
                        (rates[0], rates[1])
                    })
                    .collect()
            })
            .collect()
    };
    let with_rulers = both(&programs, &rulers);
    let pairs: Vec<(usize, usize)> =
        (0..programs.len()).flat_map(|a| (a..programs.len()).map(move |b| (a, b))).collect();
    let rates: Vec<Vec<f64>> = pairs.par_iter().map(|&(a, b)| go(&[&programs[a], &programs[b]])).collect();
    let mut beside = vec![vec![0.0; programs.len()]; programs.len()];
    for (&(a, b), rates) in pairs.iter().zip(&rates) {
        beside[a][b] = rates[0];
        beside[b][a] = rates[1];
    }
    Matrix {
        programs: programs.iter().map(|one| one.name.clone()).collect(),
        rulers: rulers.iter().map(|one| one.name.clone()).collect(),
        solo: alone(&programs),
        ruler_solo: alone(&rulers),
        beside_ruler: with_rulers.iter().map(|row| row.iter().map(|cell| cell.0).collect()).collect(),
        ruler_beside: with_rulers.iter().map(|row| row.iter().map(|cell| cell.1).collect()).collect(),
        ruler_beside_null: both(&rulers, &rulers[..1]).iter().map(|row| row[0].0).collect(),
        beside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gains_much_from_company_and_a_ruler_of_memory_costs_most_more_than_the_inert_one() {
        let seen = measure(&Asked { programs: 4, seed: 1, warm: 2000, ticks: 4000 });
        for (row, solo) in seen.beside.iter().zip(&seen.solo) {
            assert!(row.iter().all(|rate| *rate < 1.1 * solo), "{row:?} {solo}");
        }
        assert_eq!(seen.rulers[0], "null");
        assert!(seen.beside_ruler.iter().all(|row| row.iter().all(|rate| *rate > 0.0)));
    }
}
