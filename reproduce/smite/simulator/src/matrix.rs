//! Runs all programs alone, with all stressors, and with each other.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::core::{run, WINDOW};
use crate::program::Program;
use crate::stream::Stream;

/// A query.
#[derive(Clone, Debug, Deserialize)]
pub struct Query {
    /// Number of random programs.
    pub programs: u64,
    /// Seed of programs and their draws.
    pub seed: u64,
    /// Ticks before counting.
    pub warm: u64,
    /// Ticks counted.
    pub ticks: u64,
    /// Number of other programs that each program runs with, the nearest by number on either side; absent: all.
    #[serde(default)]
    pub partners: Option<usize>,
    /// Instructions of the faster of two programs that fill the caches before time begins.
    #[serde(default)]
    pub filled: u64,
}

impl Query {
    /// Return the pairs to run, each once. Programs are random, so their neighbours are, too.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.programs as usize;
        let most = self.partners.map_or(count, |partners| partners.div_ceil(2));
        let near = |(a, b): &(usize, usize)| (b - a).min(count - (b - a)) <= most;
        (0..count).flat_map(|a| (a..count).map(move |b| (a, b))).filter(near).collect()
    }
}

/// Rates in instructions per tick.
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// Names of programs.
    pub programs: Vec<String>,
    /// Names of stressors; the inert one first.
    pub stressors: Vec<String>,
    /// Rate of each program alone.
    pub solo: Vec<f64>,
    /// Rate of each stressor alone.
    pub stressor_solo: Vec<f64>,
    /// Rate of each program (rows) with each stressor.
    pub beside_stressor: Vec<Vec<f64>>,
    /// Rate of each stressor (columns) with each program (rows).
    pub stressor_beside: Vec<Vec<f64>>,
    /// Rate of each stressor with the inert one: the cost of a second thread's presence.
    pub stressor_beside_null: Vec<f64>,
    /// Rate of each program (rows) with each program, itself included; NaN if not requested.
    pub beside: Vec<Vec<f64>>,
}

/// A program as either thread of a core, and its rate alone.
struct Alone<'a> {
    rate: f64,
    first: Stream<'a>,
    second: Stream<'a>,
}

impl<'a> Alone<'a> {
    fn all(of: &'a [Program], query: &Query) -> Vec<Self> {
        of.par_iter().map(|one| Self::new(one, query)).collect()
    }

    fn new(program: &'a Program, query: &Query) -> Self {
        let mut stream = Stream::new(program, 1, query.seed, 0);
        let rate = run(&[&stream], &[query.filled], query.warm, query.ticks)[0];
        let count = query.filled as usize + (rate * (query.warm + query.ticks) as f64) as usize + WINDOW;
        stream = Stream::new(program, 1, query.seed, count);
        Self { rate, first: stream, second: Stream::new(program, 2, query.seed, count) }
    }

    /// Return the rates of both running together; they fill the caches in proportion to their rates alone.
    fn run_with(&self, other: &Self, query: &Query) -> (f64, f64) {
        let most = self.rate.max(other.rate);
        let filled = [self, other].map(|one| (query.filled as f64 * one.rate / most) as u64);
        let rates = run(&[&self.first, &other.second], &filled, query.warm, query.ticks);
        (rates[0], rates[1])
    }
}

/// Run everything on all CPUs; the result does not depend on their number.
pub fn measure(query: &Query) -> Matrix {
    let programs: Vec<Program> =
        (0..query.programs).map(|number| Program::random(query.seed, number)).collect();
    let stressors = Program::stressors();
    // A program's rate in company hardly exceeds its rate alone.
    let (programs_alone, stressors_alone) = (Alone::all(&programs, query), Alone::all(&stressors, query));
    let both = |a: &[Alone<'_>], b: &[Alone<'_>]| -> Vec<Vec<(f64, f64)>> {
        a.par_iter().map(|one| b.iter().map(|other| one.run_with(other, query)).collect()).collect()
    };
    let with_stressors = both(&programs_alone, &stressors_alone);
    let pairs = query.pairs();
    let rates: Vec<(f64, f64)> =
        pairs.par_iter().map(|&(a, b)| programs_alone[a].run_with(&programs_alone[b], query)).collect();
    let mut beside = vec![vec![f64::NAN; programs.len()]; programs.len()];
    for (&(a, b), rates) in pairs.iter().zip(&rates) {
        beside[a][b] = rates.0;
        beside[b][a] = rates.1;
    }
    Matrix {
        programs: programs.iter().map(|one| one.name.clone()).collect(),
        stressors: stressors.iter().map(|one| one.name.clone()).collect(),
        solo: programs_alone.iter().map(|one| one.rate).collect(),
        stressor_solo: stressors_alone.iter().map(|one| one.rate).collect(),
        beside_stressor: with_stressors.iter().map(|row| row.iter().map(|cell| cell.0).collect()).collect(),
        stressor_beside: with_stressors.iter().map(|row| row.iter().map(|cell| cell.1).collect()).collect(),
        stressor_beside_null: both(&stressors_alone, &stressors_alone[..1])
            .iter()
            .map(|row| row[0].0)
            .collect(),
        beside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hash (FNV-1a) of the bits of all figures, for the thirteen stressors of the reference implementation.
    fn digest(of: &Matrix) -> u64 {
        const KNOWN: usize = 13;
        let rows = |rows: &[Vec<f64>]| rows.iter().flat_map(|row| row[..KNOWN].to_vec()).collect();
        let all = [
            of.solo.clone(),
            of.stressor_solo[..KNOWN].to_vec(),
            rows(&of.beside_stressor),
            rows(&of.stressor_beside),
            of.stressor_beside_null[..KNOWN].to_vec(),
            of.beside.concat(),
        ];
        let bytes = all.concat().into_iter().flat_map(f64::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Reference values from a plain loop over all entries of the window in each tick.
    #[test]
    fn figures_equal_the_reference_to_the_bit() {
        for (programs, seed, warm, ticks, was) in [
            (4, 1, 2000, 4000, 0x3752_00c2_4a37_ccb6),
            (8, 2, 500, 3000, 0x1829_19a8_ebe8_d0fa),
            (12, 7, 0, 5000, 0xd0c0_0be3_3e97_07b4),
        ] {
            let seen = digest(&measure(&Query { programs, seed, warm, ticks, partners: None, filled: 0 }));
            assert_eq!(seen, was, "{programs} programs, seed {seed}: {seen:x}");
        }
    }

    #[test]
    fn few_partners_give_a_subset_of_the_figures() {
        let query = |partners| Query { programs: 7, seed: 1, warm: 100, ticks: 500, partners, filled: 0 };
        let (all, few) = (measure(&query(None)), measure(&query(Some(2))));
        for (row, (one, other)) in few.beside.iter().zip(&all.beside).enumerate() {
            let there: Vec<usize> = (0..7).filter(|&at| !one[at].is_nan()).collect();
            let mut near = [(row + 6) % 7, row, (row + 1) % 7];
            near.sort_unstable();
            assert_eq!(there, near);
            assert!(there.iter().all(|&at| one[at].to_bits() == other[at].to_bits()));
        }
        assert!(all.beside.concat().iter().all(|rate| rate.is_finite()));
    }

    #[test]
    fn company_rarely_helps_and_a_memory_stressor_costs_more_than_the_inert_one() {
        let seen =
            measure(&Query { programs: 4, seed: 1, warm: 2000, ticks: 4000, partners: None, filled: 0 });
        for (row, solo) in seen.beside.iter().zip(&seen.solo) {
            assert!(row.iter().all(|rate| *rate < 1.1 * solo), "{row:?} {solo}");
        }
        assert_eq!(seen.stressors[0], "null");
        assert!(seen.beside_stressor.iter().all(|row| row.iter().all(|rate| *rate > 0.0)));
    }
}
