//! Placement policies side by side: stock's, the steps between, and the grid.

use serde::{Deserialize, Serialize};

use super::world::World;
use crate::error::HarvestError;
use crate::place::{Placer, Repair, Rules, Weigh};
use crate::sequence::Sequence;

/// Who chooses servers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Hadoop's own: the second replica in another rack, the third in the rack of the second.
    Stock,
    /// Three racks, else at random.
    Racks,
    /// Three environments, else at random.
    Environments,
    /// The grid and three environments, at repair, too.
    Grid,
    /// The grid at creation; repairs keep rows alone.
    Cost,
}

/// A policy on a world.
pub struct Chooser<'a> {
    world: &'a World,
    policy: Policy,
    placer: Placer,
}

impl<'a> Chooser<'a> {
    /// Prepares a policy.
    pub fn new(world: &'a World, policy: Policy) -> Result<Self, HarvestError> {
        let repair = if policy == Policy::Grid { Repair::Strict } else { Repair::Row };
        let grid = matches!(policy, Policy::Grid | Policy::Cost);
        let rules = Rules { weigh: Weigh::Space, repair, grid, soft: true };
        Ok(Self { world, policy, placer: Placer::new(world.tenants.clone(), rules)? })
    }

    /// A server for one more replica.
    pub fn choose(
        &self,
        present: &[u32],
        repair: bool,
        random: &mut Sequence,
        usable: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if !matches!(self.policy, Policy::Stock | Policy::Racks) {
            return self.placer.choose(present, repair, random, usable).map(|choice| choice.server);
        }
        let servers = self.world.rack_of.len();
        let rack = |server: u32| self.world.rack_of[server as usize];
        let fits = |server: u32| match (self.policy, present) {
            (_, []) => true,
            (Policy::Racks, _) => present.iter().all(|&other| rack(other) != rack(server)),
            // Two racks: a third replica goes to the rack that has one, of two or more replicas to one of them.
            (_, [one]) => rack(server) != rack(*one),
            (_, [one, other, ..]) => rack(*one) != rack(*other) || rack(server) != rack(*one),
        };
        let third = match (self.policy, present) {
            (Policy::Stock, [one, other]) if rack(*one) != rack(*other) && !repair => Some(rack(*other)),
            _ => None,
        };
        let third = third.map(|rack| &self.world.racks[rack as usize]);
        for attempt in 0..200 {
            let server = match third {
                Some(rack) if attempt < 20 => rack[random.below(rack.len())],
                _ => random.below(servers) as u32,
            };
            if fits(server) && !present.contains(&server) && usable(server) {
                return Some(server);
            }
        }
        (0..servers as u32).find(|&server| !present.contains(&server) && usable(server))
    }
}
