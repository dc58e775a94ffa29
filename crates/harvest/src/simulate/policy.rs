//! Placement policies to compare: stock's, the grid, and the steps between.

use serde::{Deserialize, Serialize};

use super::world::World;
use crate::error::HarvestError;
use crate::place::{Placer, Repair, Rules, Weigh};
use crate::sequence::Sequence;

/// How servers are chosen.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Stock Hadoop: the second replica in another rack, the third in the rack of the second.
    Stock,
    /// Three racks, otherwise random.
    Racks,
    /// Three environments, otherwise random.
    Environments,
    /// The grid and three environments, also at repair.
    Grid,
    /// The grid at creation; repairs keep only rows.
    Cost,
}

/// A policy applied to a world.
pub struct Chooser<'a> {
    world: &'a World,
    policy: Policy,
    placer: Placer,
}

impl<'a> Chooser<'a> {
    /// Prepare a policy.
    pub fn new(world: &'a World, policy: Policy) -> Result<Self, HarvestError> {
        let repair = if policy == Policy::Grid { Repair::Strict } else { Repair::Row };
        let grid = matches!(policy, Policy::Grid | Policy::Cost);
        let rules = Rules { weigh: Weigh::Space, repair, grid, soft: true };
        Ok(Self { world, policy, placer: Placer::new(world.tenants.clone(), rules)? })
    }

    /// Choose a server for one more replica.
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
            // At least two racks: if all replicas are in one rack, the next goes to another.
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

#[cfg(test)]
mod tests {
    use super::super::center::Center;
    use super::*;

    /// Return the racks of the first three replicas, and of a repair given the first two, for a hundred blocks.
    fn racks(policy: Policy) -> Vec<[u32; 4]> {
        let center = Center { servers: 400, tenants: 60, ..Center::default() };
        let world = World::synthetic(&center);
        let chooser = Chooser::new(&world, policy).unwrap();
        let mut random = Sequence::new(1);
        let rack = |server: u32| world.rack_of[server as usize];
        let mut block = || {
            let mut servers = Vec::new();
            for _ in 0..3 {
                servers.push(chooser.choose(&servers, false, &mut random, |_| true).unwrap());
            }
            let repaired = chooser.choose(&servers[..2], true, &mut random, |_| true).unwrap();
            assert!(servers[0] != servers[1] && !servers[..2].contains(&servers[2]));
            [rack(servers[0]), rack(servers[1]), rack(servers[2]), rack(repaired)]
        };
        (0..100).map(|_| block()).collect()
    }

    #[test]
    fn stock_uses_two_racks_at_creation_and_any_at_repair() {
        let placements = racks(Policy::Stock);
        assert!(
            placements.iter().all(|[one, other, third, _]| one != other && third == other),
            "{placements:?}"
        );
        // With ten racks, a repair limited to two of them would have probability 10^-68.
        let elsewhere = placements
            .iter()
            .filter(|[one, other, _, repaired]| repaired != one && repaired != other)
            .count();
        assert!(elsewhere > 50, "{elsewhere} of 100 repairs in a third rack");
    }

    #[test]
    fn stock_repairs_a_block_in_one_rack_to_a_second_rack() {
        let world = World::synthetic(&Center { servers: 400, tenants: 60, ..Center::default() });
        let chooser = Chooser::new(&world, Policy::Stock).unwrap();
        let one_rack = &world.racks[3][..2];
        for seed in 0..50 {
            let next = chooser.choose(one_rack, true, &mut Sequence::new(seed), |_| true).unwrap();
            assert_ne!(world.rack_of[next as usize], 3);
        }
    }

    #[test]
    fn three_racks_are_kept_at_repair() {
        for [one, other, third, repaired] in racks(Policy::Racks) {
            assert!(one != other && third != one && third != other && repaired != one && repaired != other);
        }
    }
}
