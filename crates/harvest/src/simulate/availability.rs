//! Accesses that fail because all replicas of a block are on busy servers.

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::durability::{durability, Durability};
use super::policy::{Chooser, Policy};
use super::world::{Scaling, World};
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
    /// Mean utilisation to which loads are scaled; null: as they are.
    pub utilisation: Option<f64>,
    /// Whether by a root instead of a factor.
    pub root: bool,
    /// Utilisation above which a server denies.
    pub busy_above: f64,
    /// Days.
    pub days: f64,
    /// Months of reimages and repairs before, as [`Durability`] has them: blocks lie where those left them.
    pub after_months: f64,
}

impl Default for Availability {
    fn default() -> Self {
        Self {
            center: Center::default(),
            policy: Policy::Cost,
            blocks: 20_000,
            replicas: 3,
            utilisation: Some(0.4),
            root: false,
            busy_above: 2.0 / 3.0,
            days: 7.0,
            after_months: 0.0,
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
pub fn availability(mut world: World, asked: &Availability) -> Result<Failed, HarvestError> {
    world.check_days(asked.days)?;
    let scaling = Scaling::to_mean(&world, asked.utilisation, asked.root)?;
    let hours = (asked.days * 24.0).floor() as usize;
    world.know_peaks(&scaling);
    let blocks = if asked.after_months > 0.0 {
        let Availability { center, policy, blocks, replicas, after_months, .. } = asked.clone();
        let before =
            Durability { center, policy, blocks, replicas, months: after_months, ..Durability::default() };
        durability(&world, &before)?.1.blocks().filter(|servers| !servers.is_empty()).collect()
    } else {
        created(&world, asked)?
    };
    let servers = world.rack_of.len();
    let mut busy = vec![false; servers];
    let (mut failed, mut busy_hours) = (0_u64, 0_u64);
    for hour in 0..hours {
        for (number, tenant) in world.tenants.iter().enumerate() {
            let load = scaling.of(world.load(number, world.history_hours() + hour as f64));
            for &server in &tenant.servers {
                let is = load * world.balance[server as usize] > asked.busy_above;
                busy[server as usize] = is;
                busy_hours += u64::from(is);
            }
        }
        let all = |block: &&Vec<u32>| block.iter().all(|&server| busy[server as usize]);
        failed += blocks.iter().filter(all).count() as u64;
    }
    let accesses = blocks.len() as u64 * hours as u64;
    Ok(Failed { accesses, failed, busy: busy_hours as f64 / (servers * hours).max(1) as f64 })
}

/// Blocks where a policy creates them.
fn created(world: &World, asked: &Availability) -> Result<Vec<Vec<u32>>, HarvestError> {
    let chooser = Chooser::new(world, asked.policy)?;
    let mut random = Sequence::new(asked.center.seed ^ 0x00ac_ce55);
    let mut block = || {
        let mut servers = Vec::with_capacity(asked.replicas);
        while servers.len() < asked.replicas {
            let Some(next) = chooser.choose(&servers, false, &mut random, |_| true) else { break };
            servers.push(next);
        }
        servers
    };
    Ok((0..asked.blocks).map(|_| block()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::world::{Inventory, Traces};
    use super::*;
    use crate::grid::Tenant;

    #[test]
    fn a_server_is_busy_by_its_own_load_and_not_by_its_tenants_average() {
        let tenants = (0..3)
            .map(|number| Tenant {
                environment: number,
                reimages: 1.0,
                peak: 0.6,
                space: 2.0,
                servers: vec![2 * number, 2 * number + 1],
            })
            .collect();
        let found = Inventory { tenants, rack_of: vec![0, 1, 0, 1, 0, 1], balance: [1.2, 0.8].repeat(3) };
        let traces = Traces { cpu: &[0.6; 3 * 96], slots: 96, slot_s: 3600.0 };
        let world = World::recorded(&Center::default(), found, traces).unwrap();
        let asked = Availability { utilisation: None, days: 2.0, blocks: 10, ..Availability::default() };
        let failed = availability(world, &asked).unwrap();
        assert!(failed.accesses == 480 && (failed.busy - 0.5).abs() < 1e-12, "{failed:?}");
    }

    #[test]
    fn placement_knows_the_peaks_of_scaled_history_whatever_was_known_before() {
        let center = Center { servers: 500, tenants: 60, ..Center::default() };
        let asked = Availability {
            center,
            blocks: 3000,
            days: 2.0,
            utilisation: Some(0.6),
            ..Availability::default()
        };
        let failed = |peaks: fn(usize) -> f64| {
            let mut world = World::synthetic(&asked.center);
            (0..60).for_each(|at| world.tenants[at].peak = peaks(at));
            availability(world, &asked).unwrap()
        };
        let one = failed(|at| at as f64 / 60.0);
        assert!(one.failed > 0, "{one:?}");
        assert_eq!(one, failed(|at| 1.0 - at as f64 / 60.0));
    }

    #[test]
    fn the_grid_fails_less_than_stock_and_nobody_fails_where_nobody_is_busy() {
        let failed = |policy, utilisation, after_months| {
            let center = Center { servers: 1000, tenants: 150, ..Center::default() };
            let asked = Availability {
                center,
                policy,
                utilisation: Some(utilisation),
                after_months,
                blocks: 3000,
                days: 2.0,
                ..Availability::default()
            };
            availability(World::synthetic(&asked.center), &asked).unwrap().failed
        };
        assert_eq!(failed(Policy::Cost, 0.1, 0.0), 0);
        // Rows outlive a year of repairs.
        for months in [0.0, 12.0] {
            let (stock, grid) = (failed(Policy::Stock, 0.45, months), failed(Policy::Cost, 0.45, months));
            assert!(stock > 200 && 4 * grid < stock, "{grid} against {stock} after {months} months");
        }
    }
}
