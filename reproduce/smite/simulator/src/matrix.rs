//! All programs alone, beside all rulers, and beside each other.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::core::{run, WINDOW};
use crate::program::Program;
use crate::stream::Stream;

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
    /// How many of the others each program runs beside, its next by number on either side; all where it is not said.
    #[serde(default)]
    pub partners: Option<usize>,
    /// Instructions of the faster of two programs that fill the caches before time begins.
    #[serde(default)]
    pub filled: u64,
}

impl Asked {
    /// Pairs to run, each once: programs are random, and so are the next ones.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.programs as usize;
        let most = self.partners.map_or(count, |partners| partners.div_ceil(2));
        let near = |(a, b): &(usize, usize)| (b - a).min(count - (b - a)) <= most;
        (0..count).flat_map(|a| (a..count).map(move |b| (a, b))).filter(near).collect()
    }
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
    /// Of each program (rows) beside each program, itself among them; NaN where that was not asked for.
    pub beside: Vec<Vec<f64>>,
}

/// A program as either thread of a core, and what it comes to alone.
struct Alone<'a> {
    rate: f64,
    first: Stream<'a>,
    second: Stream<'a>,
}

impl<'a> Alone<'a> {
    fn all(of: &'a [Program], asked: &Asked) -> Vec<Self> {
        of.par_iter().map(|one| Self::new(one, asked)).collect()
    }

    fn new(program: &'a Program, asked: &Asked) -> Self {
        let mut stream = Stream::new(program, 1, asked.seed, 0);
        let rate = run(&[&stream], &[asked.filled], asked.warm, asked.ticks)[0];
        let count = asked.filled as usize + (rate * (asked.warm + asked.ticks) as f64) as usize + WINDOW;
        stream = Stream::new(program, 1, asked.seed, count);
        Self { rate, first: stream, second: Stream::new(program, 2, asked.seed, count) }
    }

    /// The rates of both, side by side: as fast as each is alone they fill the caches.
    fn beside(&self, other: &Self, asked: &Asked) -> (f64, f64) {
        let most = self.rate.max(other.rate);
        let filled = [self, other].map(|one| (asked.filled as f64 * one.rate / most) as u64);
        let rates = run(&[&self.first, &other.second], &filled, asked.warm, asked.ticks);
        (rates[0], rates[1])
    }
}

/// Runs everything, on all processors; the same figures on any number of them.
pub fn measure(asked: &Asked) -> Matrix {
    let programs: Vec<Program> =
        (0..asked.programs).map(|number| Program::random(asked.seed, number)).collect();
    let rulers = Program::rulers();
    // What a program comes to alone it hardly exceeds in company.
    let (programs_alone, rulers_alone) = (Alone::all(&programs, asked), Alone::all(&rulers, asked));
    let both = |a: &[Alone<'_>], b: &[Alone<'_>]| -> Vec<Vec<(f64, f64)>> {
        a.par_iter().map(|one| b.iter().map(|other| one.beside(other, asked)).collect()).collect()
    };
    let with_rulers = both(&programs_alone, &rulers_alone);
    let pairs = asked.pairs();
    let rates: Vec<(f64, f64)> =
        pairs.par_iter().map(|&(a, b)| programs_alone[a].beside(&programs_alone[b], asked)).collect();
    let mut beside = vec![vec![f64::NAN; programs.len()]; programs.len()];
    for (&(a, b), rates) in pairs.iter().zip(&rates) {
        beside[a][b] = rates.0;
        beside[b][a] = rates.1;
    }
    Matrix {
        programs: programs.iter().map(|one| one.name.clone()).collect(),
        rulers: rulers.iter().map(|one| one.name.clone()).collect(),
        solo: programs_alone.iter().map(|one| one.rate).collect(),
        ruler_solo: rulers_alone.iter().map(|one| one.rate).collect(),
        beside_ruler: with_rulers.iter().map(|row| row.iter().map(|cell| cell.0).collect()).collect(),
        ruler_beside: with_rulers.iter().map(|row| row.iter().map(|cell| cell.1).collect()).collect(),
        ruler_beside_null: both(&rulers_alone, &rulers_alone[..1]).iter().map(|row| row[0].0).collect(),
        beside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the bits of all figures (FNV-1a), those of the thirteen rulers that the plain loop knew.
    fn digest(of: &Matrix) -> u64 {
        const KNOWN: usize = 13;
        let rows = |rows: &[Vec<f64>]| rows.iter().flat_map(|row| row[..KNOWN].to_vec()).collect();
        let all = [
            of.solo.clone(),
            of.ruler_solo[..KNOWN].to_vec(),
            rows(&of.beside_ruler),
            rows(&of.ruler_beside),
            of.ruler_beside_null[..KNOWN].to_vec(),
            of.beside.concat(),
        ];
        let bytes = all.concat().into_iter().flat_map(f64::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// As the plain loop over all entries of the window in each tick gave them.
    #[test]
    fn every_figure_is_what_it_was_to_the_bit() {
        for (programs, seed, warm, ticks, was) in [
            (4, 1, 2000, 4000, 0x3752_00c2_4a37_ccb6),
            (8, 2, 500, 3000, 0x1829_19a8_ebe8_d0fa),
            (12, 7, 0, 5000, 0xd0c0_0be3_3e97_07b4),
        ] {
            let seen = digest(&measure(&Asked { programs, seed, warm, ticks, partners: None, filled: 0 }));
            assert_eq!(seen, was, "{programs} programs, seed {seed}: {seen:x}");
        }
    }

    #[test]
    fn few_partners_give_a_part_of_the_figures_of_all() {
        let asked = |partners| Asked { programs: 7, seed: 1, warm: 100, ticks: 500, partners, filled: 0 };
        let (all, few) = (measure(&asked(None)), measure(&asked(Some(2))));
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
    fn nobody_gains_much_from_company_and_a_ruler_of_memory_costs_most_more_than_the_inert_one() {
        let seen =
            measure(&Asked { programs: 4, seed: 1, warm: 2000, ticks: 4000, partners: None, filled: 0 });
        for (row, solo) in seen.beside.iter().zip(&seen.solo) {
            assert!(row.iter().all(|rate| *rate < 1.1 * solo), "{row:?} {solo}");
        }
        assert_eq!(seen.rulers[0], "null");
        assert!(seen.beside_ruler.iter().all(|row| row.iter().all(|rate| *rate > 0.0)));
    }
}
