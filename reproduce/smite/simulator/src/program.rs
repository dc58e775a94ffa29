//! Programs of the twin: a mix of instructions, how long they wait for each other, and where they load from.

use hindmost_random::{mix, unit};
use serde::Serialize;

use crate::cache::LINES;

/// Kinds of instructions, as places in a mix.
pub const KINDS: usize = 9;
/// Their ports (bits) and ticks until the result is there, as measured on a server core: two pipes multiply, two others
/// add, shuffles take one of either, integers have four, one of which multiplies, branches two of their own.
pub const PORTS: [(u16, u64); KINDS] = [
    (0b000_0000_0011, 3), // multiplication of floats
    (0b000_0000_1100, 3), // addition of floats
    (0b000_0000_0110, 1), // shuffle
    (0b000_1111_0000, 1), // integer
    (0b000_0010_0000, 3), // multiplication of integers
    (0b011_0000_0000, 1), // branch
    (0b100_0000_0000, 0), // load: its ticks are the caches'
    (0b100_0000_0000, 1), // store
    (0b000_0000_0000, 1), // nothing: a place in dispatch and window only
];
pub const LOAD: usize = 6;
pub const STORE: usize = 7;
pub const BRANCH: usize = 5;
pub const NOTHING: usize = 8;

/// A program, as far as a core sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Shares of the kinds.
    pub mix: [f64; KINDS],
    /// How many instructions back those that it waits for are, on average.
    pub distance: f64,
    /// Share of its branches that the predictor misses.
    pub misses: f64,
    /// Lines that it loads from, and the share of loads that go there.
    pub regions: Vec<(usize, f64)>,
    /// Whether loads go through a region in order, and wait for nothing.
    pub streams: bool,
    /// Ticks between two of its instructions at least: an inert program waits.
    pub pause: u64,
}

impl Program {
    /// A program by seed and number: any mix, any wait, any place.
    pub fn random(seed: u64, number: u64) -> Self {
        let mut state = mix(seed ^ mix(number));
        let mut draw = || {
            state = mix(state);
            unit(state)
        };
        let mut shares = [0.0; KINDS];
        // Programs differ in which kinds they have much of: cubes of uniform numbers, loads and integers in all.
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

    /// Rulers: one of each kind of port, of each level, of memory, of dispatch, and the inert one first.
    pub fn rulers() -> Vec<Self> {
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
        // Each load waits for the last: slow enough that another program takes its lines.
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
