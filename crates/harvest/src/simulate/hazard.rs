//! The exact loss rate of a block of three replicas, for policies under which no simulation would lose a block.
//!
//! Every repair takes a fixed time T. A block is lost if its three replicas are hit within T of each other. Hits are
//! Poisson: on a server alone, by waves over its tenant, and by waves over its environment; a wave's hits are uniform
//! over W. To first order in rates, with p the reach of a wave and x = min(1, T / W):
//!
//! ```text
//!  three alone          h1 h2 h3 3 T^2
//!  one wave hits two    g12 p^2 h3 (2/W^2) (2 T W m - (W + 2 T) m^2 / 2 + m^3 / 3)      m = min(T, W)
//!  one wave hits three  g123 p^3 x^2 (3 - 2 x)
//! ```

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::policy::{Chooser, Policy};
use super::world::World;
use crate::error::HarvestError;
use crate::sequence::Sequence;

const MONTH_HOURS: f64 = 730.0;
const YEAR_HOURS: f64 = 12.0 * MONTH_HOURS;

/// Rates of a tenant's events per hour.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Reimages of a single server.
    pub alone: f64,
    /// Waves over the tenant.
    pub tenant: f64,
    /// Waves over its environment.
    pub environment: f64,
}

impl Rates {
    /// Return the rates of a tenant; together they give its reimages. The waves of an environment have the rate of its
    /// first tenant.
    pub fn of_tenant(world: &World, tenant: usize) -> Self {
        let center = &world.center;
        let hourly = |tenant: usize| world.tenants[tenant].reimages / MONTH_HOURS;
        let waves = center.wave_share / center.wave_reach;
        Self {
            alone: hourly(tenant) * (1.0 - center.wave_share),
            tenant: hourly(tenant) * waves * (1.0 - center.environment_share),
            environment: hourly(world.heads[tenant] as usize) * waves * center.environment_share,
        }
    }

    fn hits(&self, reach: f64) -> f64 {
        self.alone + reach * (self.tenant + self.environment)
    }
}

/// Return the losses per hour of a block on three servers of the world.
pub fn block_hazard(world: &World, servers: &[u32], repair_hours: f64) -> f64 {
    let center = &world.center;
    let (p, w, t) = (center.wave_reach, center.wave_hours.max(1e-9), repair_hours);
    let tenant = |at: usize| world.tenant_of[servers[at] as usize] as usize;
    let rates: Vec<Rates> = (0..3).map(|at| Rates::of_tenant(world, tenant(at))).collect();
    let hits: Vec<f64> = rates.iter().map(|rates| rates.hits(p)).collect();
    // Rate of the waves that reach all of some sites.
    let shared = |sites: &[usize]| {
        let (first, rest) = (sites[0], &sites[1..]);
        let environment = |at: usize| world.tenants[tenant(at)].environment;
        let one_tenant = rest.iter().all(|&at| tenant(at) == tenant(first));
        let one_environment = rest.iter().all(|&at| environment(at) == environment(first));
        f64::from(u8::from(one_tenant)) * rates[first].tenant
            + f64::from(u8::from(one_environment)) * rates[first].environment
    };
    let least = t.min(w);
    let overlap =
        2.0 / (w * w) * (2.0 * t * w * least - (w + 2.0 * t) * least * least / 2.0 + least.powi(3) / 3.0);
    let x = least / w;
    let alone = 3.0 * t * t * hits.iter().product::<f64>();
    let pairs = [([0, 1], 2), ([0, 2], 1), ([1, 2], 0)];
    let twos: f64 = pairs.iter().map(|(pair, third)| shared(pair) * p * p * hits[*third] * overlap).sum();
    alone + twos + shared(&[0, 1, 2]) * p.powi(3) * x * x * (3.0 - 2.0 * x)
}

/// Parameters of the estimate.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hazard {
    /// The data center.
    pub center: Center,
    /// Placement policy.
    pub policy: Policy,
    /// Number of blocks drawn.
    pub sample: u32,
    /// Hours per repair.
    pub repair_hours: f64,
}

impl Default for Hazard {
    fn default() -> Self {
        Self { center: Center::default(), policy: Policy::Cost, sample: 100_000, repair_hours: 1.0 }
    }
}

/// Loss rate of newly placed blocks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rate {
    /// Probability that a block is lost within a year.
    pub per_block_year: f64,
    /// Its standard error over the blocks drawn.
    pub error: f64,
}

impl Rate {
    /// Return the mean over blocks of the expected losses in a year.
    fn from_yearly(yearly: &[f64]) -> Self {
        let n = yearly.len().max(1) as f64;
        let mean = yearly.iter().sum::<f64>() / n;
        let squares = yearly.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        Self { per_block_year: mean, error: squares.sqrt() / n }
    }

    /// Return the rate of blocks where they are; blocks without three replicas are ignored.
    pub fn of_blocks<'a>(world: &World, blocks: impl Iterator<Item = &'a [u32]>, repair_hours: f64) -> Self {
        let whole = blocks.filter(|servers| servers.len() == 3);
        Self::from_yearly(
            &whole.map(|servers| block_hazard(world, servers, repair_hours) * YEAR_HOURS).collect::<Vec<_>>(),
        )
    }
}

/// Estimate the loss rate of blocks as a policy creates them.
pub fn hazard(world: &World, scenario: &Hazard) -> Result<Rate, HarvestError> {
    if scenario.sample < 2 {
        return Err(HarvestError::Range {
            name: "sample",
            value: f64::from(scenario.sample),
            range: "2 and above",
        });
    }
    let chooser = Chooser::new(world, scenario.policy)?;
    let mut random = Sequence::new(scenario.center.seed ^ 0xfa11);
    let mut yearly = Vec::with_capacity(scenario.sample as usize);
    for _ in 0..scenario.sample {
        let mut servers = Vec::with_capacity(3);
        while servers.len() < 3 {
            let next = chooser.choose(&servers, false, &mut random, |_| true);
            servers.push(next.ok_or(HarvestError::Nothing("third server"))?);
        }
        yearly.push(block_hazard(world, &servers, scenario.repair_hours) * YEAR_HOURS);
    }
    Ok(Rate::from_yearly(&yearly))
}

#[cfg(test)]
mod tests {
    use super::super::durability::{durability, Durability};
    use super::*;

    #[test]
    fn the_rate_agrees_with_the_simulation() {
        // Copies are so fast that a repair takes only the notice time, as the rate assumes.
        let center = Center {
            servers: 300,
            tenants: 30,
            reimages: 2.0,
            reimage_spread: 0.0,
            wave_hours: 6.0,
            ..Center::default()
        };
        for (policy, repair_hours) in [(Policy::Stock, 3.0), (Policy::Environments, 10.0)] {
            let (mut lost, mut years, mut rate) = (0, 0.0, 0.0);
            for seed in 0..150 {
                // Three days per seed: repairs move blocks from where they were created, but the rate is of newly
                // created blocks.
                let center = Center { seed, ..center.clone() };
                let scenario = Hazard { center: center.clone(), policy, sample: 1000, repair_hours };
                let world = World::synthetic(&center);
                rate += hazard(&world, &scenario).unwrap().per_block_year / 150.0;
                let (blocks, months, copies_per_hour) = (3000, 0.1, 1e9);
                let notice_hours = repair_hours;
                let scenario = Durability {
                    center,
                    policy,
                    blocks,
                    months,
                    copies_per_hour,
                    notice_hours,
                    ..Durability::default()
                };
                lost += durability(&world, &scenario).unwrap().0.blocks;
                years += f64::from(blocks) * months / 12.0;
            }
            let simulated = lost as f64 / years;
            assert!(
                simulated > 0.7 * rate && simulated < 1.4 * rate,
                "{policy:?}: {simulated} against {rate}"
            );
        }
    }

    #[test]
    fn environments_share_one_wave_rate_and_rates_sum_to_the_reimages() {
        let world = World::synthetic(&Center { tenants_per_environment: 1, ..Center::default() });
        for tenant in 0..world.tenants.len() {
            let hits = Rates::of_tenant(&world, tenant).hits(world.center.wave_reach);
            assert!((hits * MONTH_HOURS - world.tenants[tenant].reimages).abs() < 1e-12);
        }
        let world = World::synthetic(&Center { tenants_per_environment: 3, ..Center::default() });
        let rates: Vec<f64> = (0..6).map(|tenant| Rates::of_tenant(&world, tenant).environment).collect();
        assert!(rates[0] > 0.0 && (world.tenants[0].reimages - world.tenants[1].reimages).abs() > 1e-3);
        assert!((0..6).all(|tenant| rates[tenant].total_cmp(&rates[tenant / 3 * 3]).is_eq()), "{rates:?}");
    }

    #[test]
    fn rates_too_small_for_a_simulation_are_estimated() {
        let world = World::synthetic(&Center::default());
        let estimate =
            |policy| hazard(&world, &Hazard { policy, sample: 20_000, ..Hazard::default() }).unwrap();
        let (stock, grid) = (estimate(Policy::Stock), estimate(Policy::Cost));
        assert!(grid.per_block_year < 1e-3 * stock.per_block_year, "{grid:?} {stock:?}");
        assert!(grid.per_block_year > 0.0 && grid.error < 0.2 * grid.per_block_year);
    }
}
