//! Simulation of blocks lost in a year of reimages, with every block and every copy.
//!
//! A reimage destroys all replicas of a server. The cluster notices it after a delay and copies the replicas at a rate
//! per hour and server. Blocks with one replica left go first, as in the name node. A block is lost if its replicas
//! are destroyed faster than that.

use std::collections::VecDeque;

use hindmost_random::Draws;
use serde::{Deserialize, Serialize};

use super::center::Center;
use super::hazard::{Rate, Rates};
use super::policy::{Chooser, Policy};
use super::world::World;
use crate::error::HarvestError;
use crate::sequence::Sequence;

const MONTH_HOURS: f64 = 730.0;
const NONE: u32 = u32::MAX;
/// Most replicas per block.
const MOST: usize = 4;
/// Blocks whose places are sampled each month for the exact loss rate.
const SAMPLED_BLOCKS: usize = 10_000;

/// Parameters of the simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Durability {
    /// The data center.
    pub center: Center,
    /// Placement policy.
    pub policy: Policy,
    /// Number of blocks.
    pub blocks: u32,
    /// Replicas per block: 1 to 4.
    pub replicas: usize,
    /// Simulated time.
    pub months: f64,
    /// Copies per hour and server.
    pub copies_per_hour: f64,
    /// Hours until a reimage is noticed.
    pub notice_hours: f64,
    /// Share of all space in use; a full server takes no more replicas.
    pub fill: f64,
}

impl Default for Durability {
    fn default() -> Self {
        Self {
            center: Center::default(),
            policy: Policy::Stock,
            blocks: 400_000,
            replicas: 3,
            months: 12.0,
            copies_per_hour: 30.0,
            notice_hours: 0.175,
            fill: 0.5,
        }
    }
}

/// Result of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Losses {
    /// Blocks without a replica.
    pub blocks: u64,
    /// Reimages of servers.
    pub reimages: u64,
    /// Replicas copied.
    pub copies: u64,
    /// Mean hours from a reimage until the replica is replaced.
    pub mean_repair_hours: f64,
    /// Longest such time.
    pub worst_repair_hours: f64,
    /// Copies per block and year: how often each stored byte crosses the network.
    pub copied_per_year: f64,
    /// Probability that a block is lost in a year, by the exact hazard of monthly samples of blocks. Repairs are taken
    /// to last their mean time. Only for three replicas.
    pub exact_per_block_year: Option<f64>,
    /// Its standard error over blocks.
    pub exact_error: Option<f64>,
}

/// Draw the times of a Poisson process.
fn poisson(random: &mut Sequence, rate: f64, hours: f64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut at = 0.0;
    if rate > 0.0 {
        loop {
            at -= (1.0 - random.unit()).ln() / rate;
            if at >= hours {
                break;
            }
            times.push(at);
        }
    }
    times
}

/// Draw reimages: (hour, server) in order of time.
pub fn reimages(world: &World, months: f64) -> Vec<(f64, u32)> {
    let center = &world.center;
    let hours = months * MONTH_HOURS;
    let mut events = Vec::new();
    let mut environment: Vec<Vec<usize>> = Vec::new();
    for (number, tenant) in world.tenants.iter().enumerate() {
        environment.resize(environment.len().max(tenant.environment as usize + 1), Vec::new());
        environment[tenant.environment as usize].push(number);
    }
    for (number, tenant) in world.tenants.iter().enumerate() {
        let rates = Rates::of_tenant(world, number);
        let mut random = Sequence::new(Draws::new(center.seed, number as u64).word(7));
        for &server in &tenant.servers {
            events.extend(poisson(&mut random, rates.alone, hours).into_iter().map(|at| (at, server)));
        }
        let wave = |random: &mut Sequence, at: f64, events: &mut Vec<(f64, u32)>, members: &[usize]| {
            for server in members.iter().flat_map(|&member| &world.tenants[member].servers) {
                if random.unit() < center.wave_reach {
                    events.push((at + random.unit() * center.wave_hours, *server));
                }
            }
        };
        for at in poisson(&mut random, rates.tenant, hours) {
            wave(&mut random, at, &mut events, &[number]);
        }
        // Draw the waves of an environment once, for its first tenant.
        let members = &environment[tenant.environment as usize];
        if members[0] == number {
            for at in poisson(&mut random, rates.environment, hours) {
                wave(&mut random, at, &mut events, members);
            }
        }
    }
    events.retain(|event| event.0 < hours);
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    events
}

struct Blocks<'a> {
    chooser: Chooser<'a>,
    replicas: Vec<[u32; MOST]>,
    per_block: usize,
    stored_on: Vec<Vec<u32>>,
    capacity: usize,
    random: Sequence,
}

impl Blocks<'_> {
    fn present(&self, block: u32) -> ([u32; MOST], usize) {
        let mut others = ([NONE; MOST], 0);
        for &server in
            self.replicas[block as usize][..self.per_block].iter().filter(|&&server| server != NONE)
        {
            others.0[others.1] = server;
            others.1 += 1;
        }
        others
    }

    /// Add a replica. Return whether a server was found.
    fn add(&mut self, block: u32, repair: bool) -> bool {
        let (present, n) = self.present(block);
        let (stored_on, capacity) = (&self.stored_on, self.capacity);
        let usable = |server: u32| stored_on[server as usize].len() < capacity;
        let Some(server) = self.chooser.choose(&present[..n], repair, &mut self.random, usable) else {
            return false;
        };
        if let Some(free) = self.replicas[block as usize][..self.per_block].iter_mut().find(|at| **at == NONE)
        {
            *free = server;
            self.stored_on[server as usize].push(block);
        }
        true
    }
}

/// The servers of each block; `NONE` marks a lost replica.
pub struct Places {
    replicas: Vec<[u32; MOST]>,
    per_block: usize,
}

impl Places {
    /// Return the servers of each block.
    pub fn blocks(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.replicas
            .iter()
            .map(|one| one[..self.per_block].iter().copied().filter(|&server| server != NONE).collect())
    }
}

/// Simulate all blocks. Return the losses and the final places of the blocks.
pub fn durability(world: &World, scenario: &Durability) -> Result<(Losses, Places), HarvestError> {
    if !(1..=MOST).contains(&scenario.replicas) {
        return Err(HarvestError::Range {
            name: "replicas",
            value: scenario.replicas as f64,
            range: "1 to 4",
        });
    }
    if !(scenario.fill > 0.0 && scenario.fill <= 0.95) {
        return Err(HarvestError::Range { name: "fill", value: scenario.fill, range: "above 0, to 0.95" });
    }
    if !(scenario.copies_per_hour > 0.0 && scenario.months >= 0.0) {
        let least = scenario.copies_per_hour.min(scenario.months);
        return Err(HarvestError::Range {
            name: "copies_per_hour or months",
            value: least,
            range: "above 0",
        });
    }
    if world.tenants.iter().all(|tenant| tenant.reimages <= 0.0) {
        return Err(HarvestError::Nothing("reimage of any tenant"));
    }
    let servers = world.rack_of.len();
    let mean = scenario.blocks as usize * scenario.replicas / servers;
    let mut blocks = Blocks {
        chooser: Chooser::new(world, scenario.policy)?,
        replicas: vec![[NONE; MOST]; scenario.blocks as usize],
        per_block: scenario.replicas,
        stored_on: vec![Vec::with_capacity(mean); servers],
        capacity: (mean as f64 / scenario.fill).ceil() as usize + 1,
        random: Sequence::new(scenario.center.seed ^ 0xb10c),
    };
    for block in 0..scenario.blocks {
        for _ in 0..scenario.replicas {
            blocks.add(block, false);
        }
    }
    let mut losses = Losses::default();
    let mut queues = Queues::default();
    let step = 1.0 / (scenario.copies_per_hour * servers as f64);
    let mut total_repair_hours = 0.0;
    let (mut samples, mut month) = (Vec::new(), 0.5);
    let stride = (scenario.blocks as usize / SAMPLED_BLOCKS).max(1);
    for (at, server) in reimages(world, scenario.months) {
        while at > month * MONTH_HOURS {
            samples.extend((0..scenario.blocks).step_by(stride).map(|block| blocks.present(block)));
            month += 1.0;
        }
        while let Some((done, since, block)) = queues.next(at, step) {
            let (_, n) = blocks.present(block);
            if n > 0 && n < scenario.replicas && blocks.add(block, true) {
                losses.copies += 1;
                total_repair_hours += done - since;
                losses.worst_repair_hours = losses.worst_repair_hours.max(done - since);
            }
        }
        losses.reimages += 1;
        for block in std::mem::take(&mut blocks.stored_on[server as usize]) {
            let replicas = &mut blocks.replicas[block as usize];
            replicas.iter_mut().filter(|one| **one == server).for_each(|one| *one = NONE);
            match blocks.present(block).1 {
                0 => losses.blocks += 1,
                left => queues.add(left, (at + scenario.notice_hours, at, block)),
            }
        }
    }
    losses.mean_repair_hours = total_repair_hours / (losses.copies.max(1)) as f64;
    losses.copied_per_year =
        losses.copies as f64 / (f64::from(scenario.blocks) * scenario.months / 12.0).max(1e-9);
    if scenario.replicas == 3 && !samples.is_empty() {
        let rate =
            Rate::of_blocks(world, samples.iter().map(|(one, n)| &one[..*n]), losses.mean_repair_hours);
        (losses.exact_per_block_year, losses.exact_error) = (Some(rate.per_block_year), Some(rate.error));
    }
    Ok((losses, Places { replicas: blocks.replicas, per_block: scenario.replicas }))
}

/// Queues of copies to make: (noticed, lost, block).
#[derive(Default)]
struct Queues {
    urgent: VecDeque<(f64, f64, u32)>,
    normal: VecDeque<(f64, f64, u32)>,
    /// Time when the cluster can start the next copy.
    clock: f64,
}

impl Queues {
    /// Queue a copy of a block that has `left` replicas; a block with one replica is urgent.
    fn add(&mut self, left: usize, copy: (f64, f64, u32)) {
        let queue = if left == 1 { &mut self.urgent } else { &mut self.normal };
        queue.push_back(copy);
    }

    /// Return the next copy that ends by `until`: its end, the time of the loss, and the block.
    fn next(&mut self, until: f64, step: f64) -> Option<(f64, f64, u32)> {
        let ready = |queue: &VecDeque<(f64, f64, u32)>| queue.front().map_or(f64::INFINITY, |one| one.0);
        let start = self.clock.max(ready(&self.urgent).min(ready(&self.normal)));
        let done = start + step;
        if done > until {
            return None;
        }
        self.clock = done;
        let queue = if ready(&self.urgent) <= start { &mut self.urgent } else { &mut self.normal };
        queue.pop_front().map(|(_, since, block)| (done, since, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noticed_blocks_with_one_replica_are_copied_first() {
        let mut queues = Queues::default();
        for (left, noticed, block) in [(2, 1.0, 10), (2, 1.0, 11), (1, 1.0, 20), (1, 5.0, 21)] {
            queues.add(left, (noticed, 0.0, block));
        }
        let order: Vec<u32> =
            std::iter::from_fn(|| queues.next(100.0, 1.0)).map(|(_, _, block)| block).collect();
        assert_eq!(order, [20, 10, 11, 21]);
    }

    fn small(policy: Policy) -> Durability {
        let center =
            Center { servers: 400, tenants: 60, reimages: 0.6, wave_hours: 0.25, ..Center::default() };
        Durability { center, policy, blocks: 40_000, ..Durability::default() }
    }

    fn simulate_losses(scenario: &Durability) -> Losses {
        durability(&World::synthetic(&scenario.center), scenario).unwrap().0
    }

    #[test]
    fn separate_environments_lose_far_fewer_blocks_than_stock() {
        let [stock, environments, grid] =
            [Policy::Stock, Policy::Environments, Policy::Cost].map(|policy| simulate_losses(&small(policy)));
        assert!(stock.blocks > 50, "{stock:?}");
        assert!(environments.blocks * 10 < stock.blocks, "{environments:?} against {stock:?}");
        assert!(grid.blocks * 10 < stock.blocks, "{grid:?} against {stock:?}");
        assert_eq!(stock.reimages, grid.reimages);
    }

    #[test]
    fn lost_blocks_stay_lost_and_copies_are_per_year() {
        let scenario = Durability { months: 6.0, ..small(Policy::Stock) };
        let (lost, places) = durability(&World::synthetic(&scenario.center), &scenario).unwrap();
        assert!(lost.blocks > 0, "{lost:?}");
        assert_eq!(places.blocks().filter(Vec::is_empty).count() as u64, lost.blocks);
        let half_year = 0.5 * f64::from(scenario.blocks) * lost.copied_per_year;
        assert!((half_year - lost.copies as f64).abs() < 1e-6 * half_year, "{lost:?}");
        assert!(lost.mean_repair_hours > scenario.notice_hours, "{lost:?}");
        assert!(lost.worst_repair_hours > lost.mean_repair_hours, "{lost:?}");
    }

    #[test]
    fn reimages_are_in_order_and_before_the_end() {
        let center = Center { wave_hours: 300.0, ..small(Policy::Stock).center };
        let events = reimages(&World::synthetic(&center), 1.0);
        assert!(events.is_sorted_by_key(|event| event.0) && events.len() > 100);
        assert!(events.iter().all(|&(hour, server)| hour < MONTH_HOURS && server < center.servers));
    }

    #[test]
    fn one_replica_is_lost_with_its_server_and_a_slow_cluster_loses_more() {
        let once = simulate_losses(&Durability { replicas: 1, months: 1.0, ..small(Policy::Stock) });
        assert!(once.copies == 0 && once.blocks > 1000, "{once:?}");
        let fast = simulate_losses(&small(Policy::Stock));
        let slow = simulate_losses(&Durability { copies_per_hour: 0.3, ..small(Policy::Stock) });
        assert!(slow.blocks > 2 * fast.blocks && slow.mean_repair_hours > fast.mean_repair_hours);
    }

    #[test]
    fn equal_seeds_give_equal_years_and_invalid_parameters_are_refused() {
        let scenario = Durability { blocks: 4_000, months: 2.0, ..small(Policy::Grid) };
        assert_eq!(simulate_losses(&scenario), simulate_losses(&scenario));
        let world = World::synthetic(&scenario.center);
        let refused = |scenario| durability(&world, &scenario).err().unwrap().code();
        assert_eq!(refused(Durability { replicas: 5, ..scenario.clone() }), "harvest-range");
        assert_eq!(refused(Durability { fill: 1.0, ..scenario.clone() }), "harvest-range");
        assert_eq!(refused(Durability { copies_per_hour: 0.0, ..scenario.clone() }), "harvest-range");
        let never = World::synthetic(&Center { reimages: 0.0, ..scenario.center.clone() });
        assert_eq!(durability(&never, &scenario).err().unwrap().code(), "harvest-nothing");
    }

    #[test]
    fn the_exact_rate_agrees_with_the_simulated_losses() {
        // Repairs are fast enough for their mean time to represent them. Five seeds of one year each.
        let (mut counted, mut exact) = (0.0, 0.0);
        for seed in 0..5 {
            let center = Center { seed, wave_hours: 2.0, ..small(Policy::Stock).center };
            let result =
                simulate_losses(&Durability { center, copies_per_hour: 300.0, ..small(Policy::Stock) });
            counted += result.blocks as f64 / 40_000.0;
            exact += result.exact_per_block_year.unwrap();
        }
        assert!(counted > 0.5 * exact && counted < 2.0 * exact, "{counted} against {exact}");
    }
}
