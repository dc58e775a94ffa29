//! Programs of the simulated core: a mix of instructions, their dependencies, and the memory that they load from.

use hindmost_random::{mix, unit};
use serde::Serialize;

use crate::cache::LINES;

/// Number of kinds of instructions, which index a mix.
pub const KINDS: usize = 9;
/// Their ports (bits) and latency in ticks, as measured on a server core: two pipes multiply, two others add,
/// shuffles use one of either, integers have four, one of which multiplies, branches have two.
pub const PORTS: [(u16, u64); KINDS] = [
    (0b000_0000_0011, 3), // multiplication of floats
    (0b000_0000_1100, 3), // addition of floats
    (0b000_0000_0110, 1), // shuffle
    (0b000_1111_0000, 1), // integer
    (0b000_0010_0000, 3), // multiplication of integers
    (0b011_0000_0000, 1), // branch
    (0b100_0000_0000, 0), // load: the caches define its ticks
    (0b100_0000_0000, 1), // store
    (0b000_0000_0000, 1), // nothing: uses dispatch and window only
];
pub const LOAD: usize = 6;
pub const STORE: usize = 7;
pub const BRANCH: usize = 5;
pub const NOTHING: usize = 8;

/// A program as seen by a core.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Name.
    pub name: String,
    /// Fractions of the kinds.
    pub mix: [f64; KINDS],
    /// Average distance, in instructions, to the instruction that an instruction depends on.
    pub distance: f64,
    /// Fraction of its branches that are mispredicted.
    pub misses: f64,
    /// Regions of lines that it loads from, and the fraction of loads that go there.
    pub regions: Vec<(usize, f64)>,
    /// Whether loads go through a region in order, without dependencies.
    pub streams: bool,
    /// Minimum ticks between two of its instructions: an inert program waits.
    pub pause: u64,
}

impl Program {
    /// Create a program from seed and number, with random mix, dependencies and memory use.
    pub fn random(seed: u64, number: u64) -> Self {
        let mut state = mix(seed ^ mix(number));
        let mut draw = || {
            state = mix(state);
            unit(state)
        };
        let mut shares = [0.0; KINDS];
        // Programs differ in their frequent kinds: cubes of uniform numbers, with loads and integers in all.
        for (kind, share) in shares.iter_mut().enumerate() {
            let base = match kind {
                3 => 0.25,
                BRANCH => 0.08,
                LOAD => 0.2,
                STORE => 0.06,
                NOTHING => 0.0,
                _ => 0.02,
            };
            let most = if kind == NOTHING { 0.0 } else { 0.6 };
            *share = base + most * draw().powi(3);
        }
        let all: f64 = shares.iter().sum();
        let (near, middle) = (0.6 + 0.4 * draw(), draw());
        let far = if draw() < 0.4 { 0.3 * draw() } else { 0.02 * draw() };
        let rest = 1.0 - near;
        Self {
            name: format!("p{number}"),
            mix: shares.map(|share| share / all),
            distance: 1.5 + 20.0 * draw().powi(2),
            misses: 0.08 * draw().powi(2),
            regions: vec![
                ((LINES[0] as f64 * (0.3 + draw())) as usize + 2, near),
                ((LINES[1] as f64 * (0.2 + draw())) as usize + 2, rest * middle),
                ((LINES[2] as f64 * (0.2 + draw())) as usize + 2, rest * (1.0 - middle) * (1.0 - far)),
                (LINES[2] * 16, rest * (1.0 - middle) * far),
            ],
            streams: draw() < 0.25,
            pause: 0,
        }
    }

    /// Return the stressors: the inert one first, then one for each kind of port, each cache level, memory, and
    /// dispatch.
    pub fn stressors() -> Vec<Self> {
        let pure = |name: &str, kind: usize| {
            let mut shares = [0.0; KINDS];
            shares[kind] = 1.0;
            Self {
                name: name.to_owned(),
                mix: shares,
                distance: 1000.0,
                misses: 0.0,
                regions: vec![(4, 1.0)],
                streams: true,
                pause: 0,
            }
        };
        let touch = |name: &str, lines: usize| Self { regions: vec![(lines, 1.0)], ..pure(name, LOAD) };
        // Each load depends on the last one: slow enough that another program evicts its lines.
        let chase = |name: &str, lines: usize| Self { distance: 0.0, streams: false, ..touch(name, lines) };
        vec![
            Self { pause: 40, ..pure("null", NOTHING) },
            pure("fp_mul", 0),
            pure("fp_add", 1),
            pure("fp_shuffle", 2),
            pure("int_add", 3),
            pure("int_mul", 4),
            pure("branch", BRANCH),
            pure("load", LOAD),
            pure("dispatch", NOTHING),
            touch("l1", LINES[0] * 7 / 8),
            touch("l2", LINES[1] * 3 / 4),
            touch("l3", LINES[2] * 3 / 4),
            touch("dram", LINES[2] * 16),
            pure("store", STORE),
            Self { misses: 0.5, ..pure("mispredict", BRANCH) },
            chase("l2_chase", LINES[1] * 3 / 4),
            chase("l3_chase", LINES[2] * 3 / 4),
            chase("dram_chase", LINES[2] * 16),
        ]
    }
}
