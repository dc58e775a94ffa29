//! Simulation of accesses that fail because all replicas of a block are on busy servers.

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::durability::{durability, Durability};
use super::policy::{Chooser, Policy};
use super::world::{Scaling, World};
use crate::error::HarvestError;
use crate::sequence::Sequence;

/// Parameters of the simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Availability {
    /// The data center.
    pub center: Center,
    /// Placement policy.
    pub policy: Policy,
    /// Number of blocks.
    pub blocks: u32,
    /// Replicas per block.
    pub replicas: usize,
    /// Mean utilisation to which loads are scaled; null: do not scale.
    pub utilisation: Option<f64>,
    /// Whether to scale by a root instead of a factor.
    pub root: bool,
    /// Utilisation above which a server denies accesses.
    pub busy_above: f64,
    /// Simulated days.
    pub days: f64,
    /// Months of reimages and repairs before the accesses, as in [`Durability`]; they move blocks.
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

/// Result of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccessFailures {
    /// Number of accesses: every block once an hour.
    pub accesses: u64,
    /// Accesses that found all replicas on busy servers.
    pub failed: u64,
    /// Mean share of busy servers.
    pub busy: f64,
}

/// Simulate an access to every block once an hour.
pub fn availability(mut world: World, scenario: &Availability) -> Result<AccessFailures, HarvestError> {
    world.check_days(scenario.days)?;
    let scaling = Scaling::to_mean(&world, scenario.utilisation, scenario.root)?;
    let hours = (scenario.days * 24.0).floor() as usize;
    world.set_peaks_from_history(&scaling);
    let blocks = if scenario.after_months > 0.0 {
        let Availability { center, policy, blocks, replicas, after_months, .. } = scenario.clone();
        let past =
            Durability { center, policy, blocks, replicas, months: after_months, ..Durability::default() };
        durability(&world, &past)?.1.blocks().filter(|servers| !servers.is_empty()).collect()
    } else {
        create_blocks(&world, scenario)?
    };
    let servers = world.rack_of.len();
    let mut busy = vec![false; servers];
    let (mut failed, mut busy_hours) = (0_u64, 0_u64);
    for hour in 0..hours {
        for (number, tenant) in world.tenants.iter().enumerate() {
            let load = scaling.apply(world.load(number, world.history_hours() + hour as f64));
            for &server in &tenant.servers {
                let is_busy = load * world.balance[server as usize] > scenario.busy_above;
                busy[server as usize] = is_busy;
                busy_hours += u64::from(is_busy);
            }
        }
        let is_unavailable = |block: &&Vec<u32>| block.iter().all(|&server| busy[server as usize]);
        failed += blocks.iter().filter(is_unavailable).count() as u64;
    }
    let accesses = blocks.len() as u64 * hours as u64;
    Ok(AccessFailures { accesses, failed, busy: busy_hours as f64 / (servers * hours).max(1) as f64 })
}

/// Create blocks by the policy.
fn create_blocks(world: &World, scenario: &Availability) -> Result<Vec<Vec<u32>>, HarvestError> {
    let chooser = Chooser::new(world, scenario.policy)?;
    let mut random = Sequence::new(scenario.center.seed ^ 0x00ac_ce55);
    let mut block = || {
        let mut servers = Vec::with_capacity(scenario.replicas);
        while servers.len() < scenario.replicas {
            let Some(next) = chooser.choose(&servers, false, &mut random, |_| true) else { break };
            servers.push(next);
        }
        servers
    };
    Ok((0..scenario.blocks).map(|_| block()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::world::{Inventory, Traces};
    use super::*;
    use crate::grid::Tenant;

    #[test]
    fn a_servers_own_load_decides_whether_it_is_busy() {
        let tenants = (0..3)
            .map(|number| Tenant {
                environment: number,
                reimages: 1.0,
                peak: 0.6,
                space: 2.0,
                servers: vec![2 * number, 2 * number + 1],
            })
            .collect();
        let inventory = Inventory { tenants, rack_of: vec![0, 1, 0, 1, 0, 1], balance: [1.2, 0.8].repeat(3) };
        let traces = Traces { cpu: &[0.6; 3 * 96], slots: 96, slot_s: 3600.0 };
        let world = World::recorded(&Center::default(), inventory, traces).unwrap();
        let scenario = Availability { utilisation: None, days: 2.0, blocks: 10, ..Availability::default() };
        let failed = availability(world, &scenario).unwrap();
        assert!(failed.accesses == 480 && (failed.busy - 0.5).abs() < 1e-12, "{failed:?}");
    }

    #[test]
    fn placement_uses_the_peaks_of_the_scaled_history() {
        let center = Center { servers: 500, tenants: 60, ..Center::default() };
        let scenario = Availability {
            center,
            blocks: 3000,
            days: 2.0,
            utilisation: Some(0.6),
            ..Availability::default()
        };
        let failed = |peaks: fn(usize) -> f64| {
            let mut world = World::synthetic(&scenario.center);
            (0..60).for_each(|at| world.tenants[at].peak = peaks(at));
            availability(world, &scenario).unwrap()
        };
        let one = failed(|at| at as f64 / 60.0);
        assert!(one.failed > 0, "{one:?}");
        assert_eq!(one, failed(|at| 1.0 - at as f64 / 60.0));
    }

    #[test]
    fn the_grid_fails_less_than_stock_and_idle_servers_never_fail() {
        let failed = |policy, utilisation, after_months| {
            let center = Center { servers: 1000, tenants: 150, ..Center::default() };
            let scenario = Availability {
                center,
                policy,
                utilisation: Some(utilisation),
                after_months,
                blocks: 3000,
                days: 2.0,
                ..Availability::default()
            };
            availability(World::synthetic(&scenario.center), &scenario).unwrap().failed
        };
        assert_eq!(failed(Policy::Cost, 0.1, 0.0), 0);
        // The rule of rows still holds after a year of repairs.
        for months in [0.0, 12.0] {
            let (stock, grid) = (failed(Policy::Stock, 0.45, months), failed(Policy::Cost, 0.45, months));
            assert!(stock > 200 && 4 * grid < stock, "{grid} against {stock} after {months} months");
        }
    }
}
