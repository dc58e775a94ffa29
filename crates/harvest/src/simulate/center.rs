//! A synthetic data center: tenants, servers, reimages and loads within the ranges that chapter IV publishes.
//!
//! Published: at least 90 % of servers and 80 % of tenants are reimaged at most once a month, in three data centers
//! far less often; periodic tenants are few and have 40 % of the servers; about 75 % of servers are periodic or
//! constant. Assumed here, because unpublished: sizes, how reimages cluster in waves, and amplitudes. Results are
//! labelled synthetic.

use std::f64::consts::TAU;

use hindmost_random::{normal_quantile, Draws};
use serde::{Deserialize, Serialize};

use crate::grid::Tenant;
use crate::pattern::Pattern;
use crate::sequence::Sequence;

/// Parameters of a data center.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Center {
    /// Number of servers.
    pub servers: u32,
    /// Number of primary tenants.
    pub tenants: u32,
    /// Mean number of tenants per environment.
    pub tenants_per_environment: u32,
    /// Servers per rack.
    pub rack: u32,
    /// Median over tenants of reimages per server and month.
    pub reimages: f64,
    /// Standard deviation of their logarithms.
    pub reimage_spread: f64,
    /// Share of reimages that come in waves over a tenant.
    pub wave_share: f64,
    /// Share of waves that reach the whole environment.
    pub environment_share: f64,
    /// Share of the servers that a wave reaches.
    pub wave_reach: f64,
    /// Hours that a wave takes.
    pub wave_hours: f64,
    /// Amplitude of periodic loads, as a share of their mean.
    pub amplitude: f64,
    /// Size of unpredictable steps, as a share of the mean.
    pub unrest: f64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for Center {
    fn default() -> Self {
        Self {
            servers: 5000,
            tenants: 520,
            tenants_per_environment: 3,
            rack: 40,
            reimages: 0.15,
            reimage_spread: 1.5,
            wave_share: 0.5,
            environment_share: 0.25,
            wave_reach: 0.8,
            wave_hours: 2.0,
            amplitude: 0.5,
            unrest: 0.5,
            seed: 1,
        }
    }
}

impl Center {
    /// Return a stand-in for DC-0 to DC-9 of the paper: 3, 5 and 8 are reimaged rarely; 0 and 2 have steady loads, 1
    /// and 4 strongly varying ones.
    pub fn like_published(number: u32) -> Self {
        let plain = Self { seed: 100 + u64::from(number), tenants: 300 + 80 * number, ..Self::default() };
        let base = match number {
            3 | 5 | 8 => Self { reimages: 0.03, ..plain },
            _ => plain,
        };
        match number {
            0 | 2 => Self { amplitude: 0.15, unrest: 0.15, ..base },
            1 | 4 => Self { amplitude: 0.9, unrest: 0.9, ..base },
            _ => base,
        }
    }
}

/// A formula for the load of a tenant's average server.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) pattern: Pattern,
    mean: f64,
    swing: f64,
    phase: f64,
    sharpness: f64,
    seed: u64,
}

impl Load {
    /// Return the utilisation at an hour.
    pub(super) fn utilisation_at(&self, hour: f64) -> f64 {
        let wave = match self.pattern {
            Pattern::Periodic => {
                let day = 0.5 + 0.5 * (TAU * (hour / 24.0 - self.phase)).sin();
                2.0 * day.powf(self.sharpness) - 0.6
            }
            Pattern::Constant => 0.0,
            // Steps of a few hours with random heights.
            Pattern::Unpredictable => {
                let step = (hour / (1.0 + 5.0 * Draws::new(self.seed, 0).unit(0))) as u64;
                2.0 * Draws::new(self.seed, step).unit(1) - 1.0
            }
        };
        self.mean * (1.0 + self.swing * wave).max(0.05)
    }
}

/// A synthetic data center.
pub(super) struct SyntheticCenter {
    /// Tenants with their servers.
    pub tenants: Vec<Tenant>,
    /// Load formula of each tenant.
    pub loads: Vec<Load>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// Load of each server as a multiple of its tenant's average.
    pub balance: Vec<f64>,
}

/// Draw a data center.
pub(super) fn draw_center(center: &Center) -> SyntheticCenter {
    let n = center.tenants.max(1);
    let mut random = Sequence::new(center.seed);
    let normal = |random: &mut Sequence| normal_quantile((random.unit() + 1e-12).min(1.0 - 1e-12));
    // A fifth of the tenants is periodic, and these are large; half are constant.
    let patterns: Vec<Pattern> = (0..n)
        .map(|_| match random.unit() {
            u if u < 0.2 => Pattern::Periodic,
            u if u < 0.7 => Pattern::Constant,
            _ => Pattern::Unpredictable,
        })
        .collect();
    let weights: Vec<f64> = patterns
        .iter()
        .map(|pattern| if *pattern == Pattern::Periodic { 2.5 } else { 1.0 } * normal(&mut random).exp())
        .collect();
    let all: f64 = weights.iter().sum();
    let mut first = 0;
    let mut tenants: Vec<Tenant> = Vec::new();
    let mut loads = Vec::new();
    let mut sum = 0.0;
    for (number, weight) in weights.iter().enumerate() {
        sum += weight;
        let last = ((sum / all) * f64::from(center.servers)).round() as u32;
        let last = if number + 1 == n as usize { center.servers } else { last.max(first) };
        let rate = center.reimages * (center.reimage_spread * normal(&mut random)).exp();
        let mean = 0.1 + 0.4 * random.unit();
        let (swing, sharpness) = match patterns[number] {
            Pattern::Periodic => (center.amplitude, 1.0 + 3.0 * random.unit()),
            Pattern::Constant => (0.0, 1.0),
            Pattern::Unpredictable => (center.unrest, 1.0),
        };
        let (phase, seed) = (0.15 * random.unit(), random.word());
        loads.push(Load { pattern: patterns[number], mean, swing, phase, sharpness, seed });
        tenants.push(Tenant {
            environment: number as u32 / center.tenants_per_environment.max(1),
            reimages: rate.min(8.0),
            peak: (mean * (1.0 + swing)).min(1.0),
            space: f64::from(last - first),
            servers: (first..last).collect(),
        });
        first = last;
    }
    let rack_of = (0..center.servers).map(|server| server / center.rack.max(1)).collect();
    let balance = |server| 0.85 + 0.3 * Draws::new(center.seed ^ 0x5eed, server).unit(0);
    let balance = (0..u64::from(center.servers)).map(balance).collect();
    SyntheticCenter { tenants, loads, rack_of, balance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_center_is_within_the_published_ranges() {
        for number in 0..10 {
            let drawn = draw_center(&Center::like_published(number));
            let servers = |holds: &dyn Fn(usize) -> bool| {
                let own = (0..drawn.tenants.len()).filter(|&at| holds(at));
                own.map(|at| drawn.tenants[at].space).sum::<f64>() / drawn.rack_of.len() as f64
            };
            let rare = |at: usize| drawn.tenants[at].reimages <= 1.0;
            let tenants = (0..drawn.tenants.len()).filter(|&at| rare(at)).count() as f64;
            assert!(tenants / drawn.tenants.len() as f64 > 0.8, "DC-{number}");
            assert!(servers(&rare) > 0.8, "DC-{number}: {}", servers(&rare));
            let periodic = servers(&|at| drawn.loads[at].pattern == Pattern::Periodic);
            let known = servers(&|at| drawn.loads[at].pattern != Pattern::Unpredictable);
            assert!((0.25..0.6).contains(&periodic), "DC-{number}: {periodic}");
            assert!((0.6..0.9).contains(&known), "DC-{number}: {known}");
        }
    }
}
