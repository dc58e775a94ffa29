//! Accesses that fail because all replicas of a block are on busy servers.

use serde::{Deserialize, Serialize};

use super::center::{Center, Scaling, World};
use super::policy::{Chooser, Policy};
use crate::error::HarvestError;
use crate::sequence::Sequence;

/// What is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Availability {
    /// The data center.
    pub center: Center,
    /// Who places.
    pub policy: Policy,
    /// Blocks drawn.
    pub blocks: u32,
    /// Replicas of each.
    pub replicas: usize,
    /// Mean utilisation to which loads are scaled.
    pub utilisation: f64,
    /// Whether by a root instead of a factor.
    pub root: bool,
    /// Utilisation above which a server denies.
    pub busy_above: f64,
    /// Days.
    pub days: f64,
}

impl Default for Availability {
    fn default() -> Self {
        Self {
            center: Center::default(),
            policy: Policy::Cost,
            blocks: 20_000,
            replicas: 3,
            utilisation: 0.4,
            root: false,
            busy_above: 2.0 / 3.0,
            days: 7.0,
        }
    }
}

/// What became of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// Accesses: every block, every hour.
    pub accesses: u64,
    /// Those that found all replicas busy.
    pub failed: u64,
    /// Share of servers that were busy, on average.
    pub busy: f64,
}

/// Asks for every block once an hour.
pub fn availability(asked: &Availability) -> Result<Failed, HarvestError> {
    if !(asked.utilisation > 0.0 && asked.utilisation < 1.0) {
        let found = asked.utilisation;
        return Err(HarvestError::Range { what: "utilisation", found, range: "above 0, below 1" });
    }
    let mut world = World::new(&asked.center);
    let scaling = Scaling::to_mean(&world, asked.utilisation, asked.root);
    let hours = (asked.days * 24.0).ceil() as usize;
    // History is a week before what is asked for: peaks are what placement knows.
    let before = world.traces(7 * 24, 1.0, &scaling);
    for (tenant, trace) in world.tenants.iter_mut().zip(before.chunks(7 * 24)) {
        tenant.peak = trace.iter().copied().fold(0.0, f64::max);
    }
    let chooser = Chooser::new(&world, asked.policy)?;
    let mut random = Sequence::new(asked.center.seed ^ 0x00ac_ce55);
    let mut blocks: Vec<Vec<u32>> = Vec::with_capacity(asked.blocks as usize);
    for _ in 0..asked.blocks {
        let mut servers = Vec::with_capacity(asked.replicas);
        while servers.len() < asked.replicas {
            let Some(next) = chooser.choose(&servers, false, &mut random, |_| true) else { break };
            servers.push(next);
        }
        blocks.push(servers);
    }
    let servers = world.rack_of.len();
    let balance: Vec<f64> = (0..servers as u32).map(|server| world.balance(server)).collect();
    let mut busy = vec![false; servers];
    let (mut failed, mut busy_hours) = (0_u64, 0_u64);
    for hour in 0..hours {
        for (number, tenant) in world.tenants.iter().enumerate() {
            let load = scaling.of(world.load(number, 7.0 * 24.0 + hour as f64));
            for &server in &tenant.servers {
                let is = load * balance[server as usize] > asked.busy_above;
                busy[server as usize] = is;
                busy_hours += u64::from(is);
            }
        }
        let all = |block: &&Vec<u32>| block.iter().all(|&server| busy[server as usize]);
        failed += blocks.iter().filter(all).count() as u64;
    }
    let accesses = blocks.len() as u64 * hours as u64;
    Ok(Failed { accesses, failed, busy: busy_hours as f64 / (servers * hours) as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_fails_less_than_stock_and_nobody_fails_where_nobody_is_busy() {
        let failed = |policy, utilisation| {
            let center = Center { servers: 1000, tenants: 150, ..Center::default() };
            let asked = Availability {
                center,
                policy,
                utilisation,
                blocks: 3000,
                days: 2.0,
                ..Availability::default()
            };
            availability(&asked).unwrap().failed
        };
        assert_eq!(failed(Policy::Cost, 0.1), 0);
        let (stock, grid) = (failed(Policy::Stock, 0.45), failed(Policy::Cost, 0.45));
        assert!(stock > 200 && 4 * grid < stock, "{grid} against {stock}");
        assert!(availability(&Availability { utilisation: 1.5, ..Availability::default() }).is_err());
    }
}
