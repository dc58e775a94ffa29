//! Blocks lost in a year of reimages: every block, every copy.
//!
//! A reimage takes all replicas of a server. Each is made again after it was noticed, at a rate that is the cluster's
//! (so many blocks an hour and server), blocks with one replica left first, as the name node does. A block whose
//! replicas go faster than that is lost.

use std::collections::VecDeque;

use hindmost_random::Draws;
use serde::{Deserialize, Serialize};

use super::center::Center;
use super::hazard::Rate;
use super::policy::{Chooser, Policy};
use super::world::World;
use crate::error::HarvestError;
use crate::sequence::Sequence;

const MONTH_HOURS: f64 = 730.0;
const NONE: u32 = u32::MAX;
/// Replicas that a block may have.
const MOST: usize = 4;
/// Blocks whose places are looked at each month, for the rate at which they would be lost.
const LOOKED_AT: usize = 10_000;

/// What is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Durability {
    /// The data center.
    pub center: Center,
    /// Who places.
    pub policy: Policy,
    /// Blocks.
    pub blocks: u32,
    /// Replicas of each: 1 to 4.
    pub replicas: usize,
    /// Time.
    pub months: f64,
    /// Copies an hour and server.
    pub copies_per_hour: f64,
    /// Hours until a reimage is noticed.
    pub notice_hours: f64,
    /// Share of all space that is used; a full server takes no more.
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

/// What became of the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lost {
    /// Blocks without a replica.
    pub blocks: u64,
    /// Reimages of servers.
    pub reimages: u64,
    /// Copies made.
    pub copies: u64,
    /// Hours from a reimage until a replica was there again, on average.
    pub mean_repair_hours: f64,
    /// Hours of the slowest.
    pub worst_repair_hours: f64,
    /// What a stored byte has copied over the network in a year: copies a block and year.
    pub copied_per_year: f64,
    /// Probability that a block is lost in a year, by the exact hazard of blocks where they lay from month to month,
    /// repairs taking their mean time; of three replicas alone.
    pub exact_per_block_year: Option<f64>,
    /// Its standard error over blocks.
    pub exact_error: Option<f64>,
}

/// Moments of a Poisson process.
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

/// Reimages in order of time: hour and server.
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
        let rates = super::hazard::Rates::of(world, number);
        let mut random = Sequence::new(Draws::of(center.seed, number as u64).word(7));
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
        // The first tenant of an environment stands for all of it.
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
    of: usize,
    held: Vec<Vec<u32>>,
    room: usize,
    random: Sequence,
}

impl Blocks<'_> {
    fn present(&self, block: u32) -> ([u32; MOST], usize) {
        let mut found = ([NONE; MOST], 0);
        for &server in self.replicas[block as usize][..self.of].iter().filter(|&&server| server != NONE) {
            found.0[found.1] = server;
            found.1 += 1;
        }
        found
    }

    /// Adds a replica; whether there was a server for it.
    fn add(&mut self, block: u32, repair: bool) -> bool {
        let (present, n) = self.present(block);
        let (held, room) = (&self.held, self.room);
        let usable = |server: u32| held[server as usize].len() < room;
        let Some(server) = self.chooser.choose(&present[..n], repair, &mut self.random, usable) else {
            return false;
        };
        if let Some(free) = self.replicas[block as usize][..self.of].iter_mut().find(|at| **at == NONE) {
            *free = server;
            self.held[server as usize].push(block);
        }
        true
    }
}

/// Where each block lies; a server that is none stands for a replica that is not there.
pub struct Places {
    replicas: Vec<[u32; MOST]>,
    of: usize,
}

impl Places {
    /// Servers of each block.
    pub fn blocks(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.replicas
            .iter()
            .map(|one| one[..self.of].iter().copied().filter(|&server| server != NONE).collect())
    }
}

/// Simulates all blocks: what was lost, and where they lie in the end.
pub fn durability(world: &World, asked: &Durability) -> Result<(Lost, Places), HarvestError> {
    if !(1..=MOST).contains(&asked.replicas) {
        return Err(HarvestError::Range { what: "replicas", found: asked.replicas as f64, range: "1 to 4" });
    }
    if !(asked.fill > 0.0 && asked.fill <= 0.95) {
        return Err(HarvestError::Range { what: "fill", found: asked.fill, range: "above 0, to 0.95" });
    }
    if !(asked.copies_per_hour > 0.0 && asked.months >= 0.0) {
        let found = asked.copies_per_hour.min(asked.months);
        return Err(HarvestError::Range { what: "copies_per_hour or months", found, range: "above 0" });
    }
    if world.tenants.iter().all(|tenant| tenant.reimages <= 0.0) {
        return Err(HarvestError::Nothing("reimage of any tenant"));
    }
    let servers = world.rack_of.len();
    let mean = asked.blocks as usize * asked.replicas / servers;
    let mut blocks = Blocks {
        chooser: Chooser::new(world, asked.policy)?,
        replicas: vec![[NONE; MOST]; asked.blocks as usize],
        of: asked.replicas,
        held: vec![Vec::with_capacity(mean); servers],
        room: (mean as f64 / asked.fill).ceil() as usize + 1,
        random: Sequence::new(asked.center.seed ^ 0xb10c),
    };
    for block in 0..asked.blocks {
        for _ in 0..asked.replicas {
            blocks.add(block, false);
        }
    }
    let mut lost = Lost::default();
    let mut queues = Queues::default();
    let step = 1.0 / (asked.copies_per_hour * servers as f64);
    let mut waited = 0.0;
    let (mut lay, mut month) = (Vec::new(), 0.5);
    let apart = (asked.blocks as usize / LOOKED_AT).max(1);
    for (at, server) in reimages(world, asked.months) {
        while at > month * MONTH_HOURS {
            lay.extend((0..asked.blocks).step_by(apart).map(|block| blocks.present(block)));
            month += 1.0;
        }
        while let Some((done, since, block)) = queues.next(at, step) {
            let (_, n) = blocks.present(block);
            if n > 0 && n < asked.replicas && blocks.add(block, true) {
                lost.copies += 1;
                waited += done - since;
                lost.worst_repair_hours = lost.worst_repair_hours.max(done - since);
            }
        }
        lost.reimages += 1;
        for block in std::mem::take(&mut blocks.held[server as usize]) {
            let replicas = &mut blocks.replicas[block as usize];
            replicas.iter_mut().filter(|one| **one == server).for_each(|one| *one = NONE);
            match blocks.present(block).1 {
                0 => lost.blocks += 1,
                left => queues.add(left, (at + asked.notice_hours, at, block)),
            }
        }
    }
    lost.mean_repair_hours = waited / (lost.copies.max(1)) as f64;
    lost.copied_per_year = lost.copies as f64 / (f64::from(asked.blocks) * asked.months / 12.0).max(1e-9);
    if asked.replicas == 3 && !lay.is_empty() {
        let rate = Rate::of_blocks(world, lay.iter().map(|(one, n)| &one[..*n]), lost.mean_repair_hours);
        (lost.exact_per_block_year, lost.exact_error) = (Some(rate.per_block_year), Some(rate.error));
    }
    Ok((lost, Places { replicas: blocks.replicas, of: asked.replicas }))
}

/// Copies to make: (noticed, lost, block).
#[derive(Default)]
struct Queues {
    urgent: VecDeque<(f64, f64, u32)>,
    usual: VecDeque<(f64, f64, u32)>,
    /// When the cluster is free for the next copy.
    clock: f64,
}

impl Queues {
    /// A copy to make of a block that has so many replicas left: the last one is urgent.
    fn add(&mut self, left: usize, copy: (f64, f64, u32)) {
        let queue = if left == 1 { &mut self.urgent } else { &mut self.usual };
        queue.push_back(copy);
    }

    /// The next copy that is done by `until`: when, since when it was wanted, which block.
    fn next(&mut self, until: f64, step: f64) -> Option<(f64, f64, u32)> {
        let ready = |queue: &VecDeque<(f64, f64, u32)>| queue.front().map_or(f64::INFINITY, |one| one.0);
        let start = self.clock.max(ready(&self.urgent).min(ready(&self.usual)));
        let done = start + step;
        if done > until {
            return None;
        }
        self.clock = done;
        let queue = if ready(&self.urgent) <= start { &mut self.urgent } else { &mut self.usual };
        queue.pop_front().map(|(_, since, block)| (done, since, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_replica_is_copied_before_what_was_lost_earlier_once_it_is_noticed() {
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

    fn lost(asked: &Durability) -> Lost {
        durability(&World::synthetic(&asked.center), asked).unwrap().0
    }

    #[test]
    fn environments_apart_lose_far_less_than_stock() {
        let [stock, environments, grid] =
            [Policy::Stock, Policy::Environments, Policy::Cost].map(|policy| lost(&small(policy)));
        assert!(stock.blocks > 50, "{stock:?}");
        assert!(environments.blocks * 10 < stock.blocks, "{environments:?} against {stock:?}");
        assert!(grid.blocks * 10 < stock.blocks, "{grid:?} against {stock:?}");
        assert_eq!(stock.reimages, grid.reimages);
    }

    #[test]
    fn a_block_that_is_lost_stays_lost_and_figures_are_of_a_year() {
        let asked = Durability { months: 6.0, ..small(Policy::Stock) };
        let (lost, places) = durability(&World::synthetic(&asked.center), &asked).unwrap();
        assert!(lost.blocks > 0, "{lost:?}");
        assert_eq!(places.blocks().filter(Vec::is_empty).count() as u64, lost.blocks);
        let half_year = 0.5 * f64::from(asked.blocks) * lost.copied_per_year;
        assert!((half_year - lost.copies as f64).abs() < 1e-6 * half_year, "{lost:?}");
        assert!(lost.mean_repair_hours > asked.notice_hours, "{lost:?}");
        assert!(lost.worst_repair_hours > lost.mean_repair_hours, "{lost:?}");
    }

    #[test]
    fn reimages_are_in_order_and_none_is_after_the_end() {
        let center = Center { wave_hours: 300.0, ..small(Policy::Stock).center };
        let found = reimages(&World::synthetic(&center), 1.0);
        assert!(found.is_sorted_by_key(|event| event.0) && found.len() > 100);
        assert!(found.iter().all(|&(hour, server)| hour < MONTH_HOURS && server < center.servers));
    }

    #[test]
    fn one_replica_is_lost_with_its_server_and_a_slow_cluster_loses_more() {
        let once = lost(&Durability { replicas: 1, months: 1.0, ..small(Policy::Stock) });
        assert!(once.copies == 0 && once.blocks > 1000, "{once:?}");
        let fast = lost(&small(Policy::Stock));
        let slow = lost(&Durability { copies_per_hour: 0.3, ..small(Policy::Stock) });
        assert!(slow.blocks > 2 * fast.blocks && slow.mean_repair_hours > fast.mean_repair_hours);
    }

    #[test]
    fn it_is_the_same_year_for_the_same_seed_and_odd_questions_are_refused() {
        let asked = Durability { blocks: 4_000, months: 2.0, ..small(Policy::Grid) };
        assert_eq!(lost(&asked), lost(&asked));
        let world = World::synthetic(&asked.center);
        let refused = |asked| durability(&world, &asked).err().unwrap().code();
        assert_eq!(refused(Durability { replicas: 5, ..asked.clone() }), "harvest-range");
        assert_eq!(refused(Durability { fill: 1.0, ..asked.clone() }), "harvest-range");
        assert_eq!(refused(Durability { copies_per_hour: 0.0, ..asked.clone() }), "harvest-range");
        let never = World::synthetic(&Center { reimages: 0.0, ..asked.center.clone() });
        assert_eq!(durability(&never, &asked).err().unwrap().code(), "harvest-nothing");
    }

    #[test]
    fn the_exact_rate_of_blocks_where_they_lay_is_what_was_lost() {
        // Repairs are fast enough that their mean time says it; five years of reimages, blocks of one year each.
        let (mut counted, mut exact) = (0.0, 0.0);
        for seed in 0..5 {
            let center = Center { seed, wave_hours: 2.0, ..small(Policy::Stock).center };
            let found = lost(&Durability { center, copies_per_hour: 300.0, ..small(Policy::Stock) });
            counted += found.blocks as f64 / 40_000.0;
            exact += found.exact_per_block_year.unwrap();
        }
        assert!(counted > 0.5 * exact && counted < 2.0 * exact, "{counted} against {exact}");
    }
}
