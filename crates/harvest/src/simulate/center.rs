//! A data center that nobody has: tenants, servers, reimages and loads within the bands that chapter IV publishes.
//!
//! Published: at least 90 % of servers and 80 % of tenants are reimaged once a month or less often, three data centers
//! far less; periodic tenants are few and have 40 % of servers; about 75 % of servers are periodic or constant. Not
//! published, and so assumed here: sizes, how reimages cluster in waves, amplitudes. Results are labelled synthetic.

use std::f64::consts::TAU;

use hindmost_random::{normal_quantile, Draws};
use serde::{Deserialize, Serialize};

use crate::grid::Tenant;
use crate::pattern::Pattern;
use crate::sequence::Sequence;

/// What a data center is made of.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Center {
    /// Servers.
    pub servers: u32,
    /// Primary tenants.
    pub tenants: u32,
    /// Tenants of an environment, on average.
    pub tenants_per_environment: u32,
    /// Servers of a rack.
    pub rack: u32,
    /// Median over tenants of reimages per server and month.
    pub reimages: f64,
    /// Spread of their logarithms.
    pub reimage_spread: f64,
    /// Share of reimages that come in waves over a tenant.
    pub wave_share: f64,
    /// Share of waves that go over the whole environment.
    pub environment_share: f64,
    /// Share of the servers that a wave reaches.
    pub wave_reach: f64,
    /// Hours that a wave takes.
    pub wave_hours: f64,
    /// Amplitude of periodic loads, as a share of their mean.
    pub amplitude: f64,
    /// Size of unpredictable steps, as a share of the mean.
    pub unrest: f64,
    /// Of everything drawn.
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
    /// The synthetic stand-in of DC-0 to DC-9: 3, 5 and 8 are reimaged rarely; 0 and 2 have steady loads, 1 and 4 swing.
    pub fn published(number: u32) -> Self {
        let plain = Self { seed: 100 + u64::from(number), tenants: 300 + 80 * number, ..Self::default() };
        let calm = match number {
            3 | 5 | 8 => Self { reimages: 0.03, ..plain },
            _ => plain,
        };
        match number {
            0 | 2 => Self { amplitude: 0.15, unrest: 0.15, ..calm },
            1 | 4 => Self { amplitude: 0.9, unrest: 0.9, ..calm },
            _ => calm,
        }
    }
}

/// A data center made.
pub struct World {
    /// Its tenants, servers in a row.
    pub tenants: Vec<Tenant>,
    /// Pattern of each tenant.
    pub patterns: Vec<Pattern>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// Tenant of each server.
    pub tenant_of: Vec<u32>,
    loads: Vec<Load>,
    /// What it was made of.
    pub center: Center,
}

#[derive(Clone, Copy)]
struct Load {
    mean: f64,
    swing: f64,
    phase: f64,
    sharpness: f64,
    seed: u64,
}

impl World {
    /// Makes a data center.
    pub fn new(center: &Center) -> Self {
        let n = center.tenants.max(1);
        let mut random = Sequence::new(center.seed);
        let normal = |random: &mut Sequence| normal_quantile((random.unit() + 1e-12).min(1.0 - 1e-12));
        // A fifth is periodic, and large; most are constant, and small.
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
            let load = Load { mean, swing, phase: 0.15 * random.unit(), sharpness, seed: random.word() };
            loads.push(load);
            tenants.push(Tenant {
                environment: number as u32 / center.tenants_per_environment.max(1),
                reimages: rate.min(8.0),
                peak: (mean * (1.0 + swing)).min(1.0),
                space: f64::from(last - first),
                servers: (first..last).collect(),
            });
            first = last;
        }
        let mut tenant_of = vec![0; center.servers as usize];
        for (number, tenant) in tenants.iter().enumerate() {
            tenant.servers.iter().for_each(|&server| tenant_of[server as usize] = number as u32);
        }
        let rack_of = (0..center.servers).map(|server| server / center.rack.max(1)).collect();
        Self { tenants, patterns, rack_of, tenant_of, loads, center: center.clone() }
    }

    /// Utilisation of a tenant's average server at an hour, before scaling.
    pub fn load(&self, tenant: usize, hour: f64) -> f64 {
        let load = self.loads[tenant];
        let wave = match self.patterns[tenant] {
            Pattern::Periodic => {
                let day = 0.5 + 0.5 * (TAU * (hour / 24.0 - load.phase)).sin();
                2.0 * day.powf(load.sharpness) - 0.6
            }
            Pattern::Constant => 0.0,
            // Steps of a few hours, each of any height.
            Pattern::Unpredictable => {
                let step = (hour / (1.0 + 5.0 * Draws::of(load.seed, 0).unit(0))) as u64;
                2.0 * Draws::of(load.seed, step).unit(1) - 1.0
            }
        };
        load.mean * (1.0 + load.swing * wave).max(0.05)
    }

    /// What a server has more than its tenant's average, as a factor.
    pub fn balance(&self, server: u32) -> f64 {
        0.85 + 0.3 * Draws::of(self.center.seed ^ 0x5eed, u64::from(server)).unit(0)
    }

    /// Traces of all tenants over so many slots, scaled, by rows.
    pub fn traces(&self, slots: usize, slot_hours: f64, scaling: &Scaling) -> Vec<f64> {
        (0..self.tenants.len())
            .flat_map(|tenant| (0..slots).map(move |slot| (tenant, slot as f64 * slot_hours)))
            .map(|(tenant, hour)| scaling.of(self.load(tenant, hour)))
            .collect()
    }
}

/// How utilisation is scaled to a mean: by a factor, saturating at 1, or by a root.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    factor: f64,
    root: bool,
}

impl Scaling {
    /// The scaling under which a world has a mean utilisation over a day and all servers.
    pub fn to_mean(world: &World, mean: f64, root: bool) -> Self {
        let found = |factor: f64| {
            let scaling = Self { factor, root };
            let loads = (0..world.tenants.len()).map(|tenant| {
                let day: f64 = (0..48).map(|at| scaling.of(world.load(tenant, f64::from(at) * 3.5))).sum();
                day / 48.0 * world.tenants[tenant].space
            });
            loads.sum::<f64>() / f64::from(world.center.servers)
        };
        let (mut low, mut high) = (0.001_f64, 1000.0_f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            // A higher power makes less of a share; a higher factor more.
            if (found(middle) < mean) == root {
                high = middle;
            } else {
                low = middle;
            }
        }
        Self { factor: (low * high).sqrt(), root }
    }

    /// A utilisation scaled.
    pub fn of(&self, load: f64) -> f64 {
        if self.root {
            load.clamp(0.0, 1.0).powf(self.factor)
        } else {
            (load * self.factor).min(1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_center_keeps_the_published_bands() {
        for number in 0..10 {
            let world = World::new(&Center::published(number));
            let servers = |holds: &dyn Fn(usize) -> bool| {
                let own = (0..world.tenants.len()).filter(|&at| holds(at));
                own.map(|at| world.tenants[at].space).sum::<f64>() / f64::from(world.center.servers)
            };
            let rare = |at: usize| world.tenants[at].reimages <= 1.0;
            let tenants = (0..world.tenants.len()).filter(|&at| rare(at)).count() as f64;
            assert!(tenants / world.tenants.len() as f64 > 0.8, "DC-{number}");
            assert!(servers(&rare) > 0.8, "DC-{number}: {}", servers(&rare));
            let periodic = servers(&|at| world.patterns[at] == Pattern::Periodic);
            let known = servers(&|at| world.patterns[at] != Pattern::Unpredictable);
            assert!((0.25..0.6).contains(&periodic), "DC-{number}: {periodic}");
            assert!((0.6..0.9).contains(&known), "DC-{number}: {known}");
        }
    }

    #[test]
    fn scaling_meets_its_mean_both_ways() {
        let world = World::new(&Center { servers: 500, tenants: 60, ..Center::default() });
        for root in [false, true] {
            for mean in [0.2, 0.5, 0.7] {
                let scaling = Scaling::to_mean(&world, mean, root);
                let loads = world.tenants.iter().enumerate().map(|(at, tenant)| {
                    let day =
                        (0..48).map(|slot| scaling.of(world.load(at, f64::from(slot) * 3.5))).sum::<f64>();
                    day / 48.0 * tenant.space
                });
                let found = loads.sum::<f64>() / 500.0;
                assert!((found - mean).abs() < 1e-3, "{root} {mean}: {found}");
            }
        }
    }
}
