//! Algorithm 2: choose a server for the next replica of a block.
//!
//! Every three replicas use three rows and three columns of the grid, and no two replicas share an
//! environment. The same rule serves creation and repair: it needs only the existing replicas and keeps no
//! state.

use serde::{Deserialize, Serialize};

use crate::error::HarvestError;
use crate::grid::{Grid, Tenant, CELLS};
use crate::sequence::Sequence;

/// How to draw a tenant of a cell.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weigh {
    /// All tenants with equal probability, as in the paper; small tenants fill up first.
    #[default]
    Tenants,
    /// In proportion to space, so that all tenants fill up at the same time.
    Space,
}

/// Which rules apply to a repair.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Repair {
    /// Row and column, as at creation: one replica always stays where reimages are frequent.
    Strict,
    /// The row alone: replicas drift to where reimages are rare, which saves copies.
    #[default]
    Row,
}

/// The placement rules.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// How to draw a tenant.
    pub weigh: Weigh,
    /// Rules of a repair.
    pub repair: Repair,
    /// Whether to use rows and columns; without them, only environments are kept apart.
    pub grid: bool,
    /// Whether to relax the rules if no other server is left.
    pub soft: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { weigh: Weigh::default(), repair: Repair::default(), grid: true, soft: true }
    }
}

/// A chosen server, and how far the rules were relaxed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Choice {
    /// Number of the server.
    pub server: u32,
    /// 0: all rules apply; 1: not the columns; 2: environments alone; 3: another tenant of the same
    /// environment; 4: any server.
    pub level: u8,
}

/// Random draws before trying every candidate in turn.
const TRIES: usize = 8;
const LEVELS: u8 = 5;

/// Chooses servers among tenants.
pub struct Placer {
    tenants: Vec<Tenant>,
    grid: Grid,
    rules: Rules,
    tenant_of: Vec<u32>,
    /// Running sums of the space of each cell's tenants.
    sums: [Vec<f64>; CELLS],
}

impl Placer {
    /// Prepare a placer. Servers are numbered from 0, and each belongs to one tenant.
    pub fn new(tenants: Vec<Tenant>, rules: Rules) -> Result<Self, HarvestError> {
        let grid = Grid::new(&tenants)?;
        let servers = tenants.iter().flat_map(|tenant| &tenant.servers).max().map_or(0, |last| last + 1);
        if servers == 0 {
            return Err(HarvestError::Nothing("server"));
        }
        let mut tenant_of = vec![u32::MAX; servers as usize];
        for (number, tenant) in tenants.iter().enumerate() {
            for &server in &tenant.servers {
                tenant_of[server as usize] = number as u32;
            }
        }
        let sums = std::array::from_fn(|cell| {
            let mut sum = 0.0;
            let running = grid.tenants_in[cell].iter().map(|&tenant| {
                sum += tenants[tenant as usize].space;
                sum
            });
            running.collect()
        });
        Ok(Self { tenants, grid, rules, tenant_of, sums })
    }

    /// Return all tenants.
    pub fn tenants(&self) -> &[Tenant] {
        &self.tenants
    }

    /// Return the tenant of a server; None for an unknown server.
    pub fn tenant_of(&self, server: u32) -> Option<u32> {
        self.tenant_of.get(server as usize).copied().filter(|&tenant| tenant != u32::MAX)
    }

    /// Return the cell of a server's tenant.
    pub fn cell_of(&self, server: u32) -> Option<u8> {
        self.tenant_of(server).map(|tenant| self.grid.cell_of[tenant as usize])
    }

    /// Choose a server for one more replica of a block that has replicas on `present`. Return None if no
    /// usable server is left.
    pub fn choose(
        &self,
        present: &[u32],
        repair: bool,
        random: &mut Sequence,
        usable: impl Fn(u32) -> bool,
    ) -> Option<Choice> {
        let first = match (self.rules.grid, repair, self.rules.repair) {
            (false, _, _) => 2,
            (true, true, Repair::Row) => 1,
            _ => 0,
        };
        let last = if self.rules.soft { LEVELS } else { 3 };
        (first..last).find_map(|level| {
            self.choose_at_level(level, present, random, &usable).map(|server| Choice { server, level })
        })
    }

    fn choose_at_level(
        &self,
        level: u8,
        present: &[u32],
        random: &mut Sequence,
        usable: &impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let open = self.open_cells(level, present);
        let cells: &[u8] = &open.0[..open.1];
        if cells.is_empty() {
            return None;
        }
        for _ in 0..TRIES {
            let cell = usize::from(cells[random.below(cells.len())]);
            let tenant = self.draw_tenant(cell, random);
            let servers = &self.tenants[tenant as usize].servers;
            if servers.is_empty() {
                continue;
            }
            let server = servers[random.below(servers.len())];
            if self.allows(level, tenant, present) && !present.contains(&server) && usable(server) {
                return Some(server);
            }
        }
        self.try_all(level, cells, present, random, usable)
    }

    /// Return the non-empty cells that `level` allows, in order.
    fn open_cells(&self, level: u8, present: &[u32]) -> ([u8; CELLS], usize) {
        let (mut rows, mut columns) = ([0; 3], [0; 3]);
        for cell in present.iter().filter_map(|&server| self.cell_of(server)) {
            rows[usize::from(cell / 3)] += 1;
            columns[usize::from(cell % 3)] += 1;
        }
        // After every three replicas, all rows and columns become available again.
        let most = present.len() / 3;
        let mut open = ([0; CELLS], 0);
        for cell in 0..CELLS {
            let row = level >= 2 || rows[cell / 3] <= most;
            let column = level >= 1 || columns[cell % 3] <= most;
            if row && column && !self.grid.tenants_in[cell].is_empty() {
                open.0[open.1] = cell as u8;
                open.1 += 1;
            }
        }
        open
    }

    fn draw_tenant(&self, cell: usize, random: &mut Sequence) -> u32 {
        let own = &self.grid.tenants_in[cell];
        let at = match self.rules.weigh {
            Weigh::Tenants => random.below(own.len()),
            Weigh::Space => {
                let sums = &self.sums[cell];
                let at = random.unit() * sums[sums.len() - 1];
                sums.partition_point(|&sum| sum <= at).min(own.len() - 1)
            }
        };
        own[at]
    }

    /// Return whether `level` allows a tenant next to the tenants that have a replica.
    fn allows(&self, level: u8, tenant: u32, present: &[u32]) -> bool {
        present.iter().filter_map(|&server| self.tenant_of(server)).all(|other| match level {
            0..=2 => self.tenants[other as usize].environment != self.tenants[tenant as usize].environment,
            3 => other != tenant,
            _ => true,
        })
    }

    /// Try every server of the open cells once, starting from a random tenant and server.
    fn try_all(
        &self,
        level: u8,
        cells: &[u8],
        present: &[u32],
        random: &mut Sequence,
        usable: &impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let all: Vec<u32> =
            cells.iter().flat_map(|&cell| &self.grid.tenants_in[usize::from(cell)]).copied().collect();
        let (from, first) = (random.below(all.len()), random.word());
        for at in 0..all.len() {
            let tenant = all[(from + at) % all.len()];
            if !self.allows(level, tenant, present) {
                continue;
            }
            let servers = &self.tenants[tenant as usize].servers;
            let begin = hindmost_random::below(first, servers.len() as u32) as usize;
            for at in 0..servers.len() {
                let server = servers[(begin + at) % servers.len()];
                if !present.contains(&server) && usable(server) {
                    return Some(server);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn world(tenants: u32, servers: u32, rules: Rules) -> Placer {
        let of = |i: u32| Tenant {
            environment: i / 2,
            reimages: f64::from(i * 7 % tenants),
            peak: f64::from(i * 5 % tenants),
            space: f64::from(1 + i % 4),
            servers: (i * servers..(i + 1) * servers).collect(),
        };
        Placer::new((0..tenants).map(of).collect(), rules).unwrap()
    }

    fn block(placer: &Placer, replicas: usize, random: &mut Sequence) -> Vec<Choice> {
        let mut present = vec![random.below(40) as u32];
        let mut choices = Vec::new();
        while present.len() < replicas {
            let choice = placer.choose(&present, false, random, |_| true).unwrap();
            present.push(choice.server);
            choices.push(choice);
        }
        choices.insert(0, Choice { server: present[0], level: 0 });
        choices
    }

    #[test]
    fn three_replicas_have_three_rows_three_columns_and_three_environments() {
        for weigh in [Weigh::Tenants, Weigh::Space] {
            let placer = world(40, 5, Rules { weigh, ..Rules::default() });
            let mut random = Sequence::new(1);
            for _ in 0..2000 {
                let choices = block(&placer, 3, &mut random);
                assert!(choices.iter().all(|choice| choice.level == 0));
                let servers: Vec<u32> = choices.iter().map(|choice| choice.server).collect();
                for axis in [|cell: u8| cell / 3, |cell: u8| cell % 3] {
                    let mut cells: Vec<u8> =
                        servers.iter().map(|&s| axis(placer.cell_of(s).unwrap())).collect();
                    cells.sort_unstable();
                    assert_eq!(cells, [0, 1, 2]);
                }
                let mut environments: Vec<u32> = servers.iter().map(|s| s / 5 / 2).collect();
                environments.dedup();
                assert_eq!(environments.len(), 3);
            }
        }
    }

    #[test]
    fn cells_and_their_tenants_are_drawn_evenly() {
        let placer = world(90, 1, Rules::default());
        let mut random = Sequence::new(5);
        let mut counts = vec![0.0_f64; 90];
        for _ in 0..90_000 {
            counts[placer.choose(&[], false, &mut random, |_| true).unwrap().server as usize] += 1.0;
        }
        // Space is uneven, so cells differ in their number of tenants: each tenant gets a ninth divided by
        // that number.
        for (server, count) in counts.iter().enumerate() {
            let cell = placer.cell_of(server as u32).unwrap();
            let expected = 10_000.0 / placer.grid.tenants_in[usize::from(cell)].len() as f64;
            assert!((count - expected).abs() < 6.0 * expected.sqrt(), "{server}: {count} of {expected}");
        }
    }

    #[test]
    fn only_a_strict_repair_keeps_the_column() {
        for (repair, strict) in [(Repair::Strict, true), (Repair::Row, false)] {
            let placer = world(40, 5, Rules { repair, ..Rules::default() });
            let mut random = Sequence::new(2);
            let mut other_column = 0;
            for _ in 0..500 {
                let servers: Vec<u32> = block(&placer, 3, &mut random).iter().map(|c| c.server).collect();
                let cell = |server| placer.cell_of(server).unwrap();
                let again = placer.choose(&servers[..2], true, &mut random, |_| true).unwrap();
                assert_eq!(cell(again.server) / 3, cell(servers[2]) / 3);
                other_column += u32::from(cell(again.server) % 3 != cell(servers[2]) % 3);
            }
            assert_eq!(other_column == 0, strict, "{other_column} of 500 in other columns");
        }
    }

    #[test]
    fn soft_rules_are_relaxed_one_by_one_and_hard_rules_never() {
        let soft = world(2, 3, Rules::default()); // one environment
        let mut random = Sequence::new(1);
        let levels: Vec<u8> = [&[0][..], &[0, 3], &[0, 3, 1, 4, 2]]
            .iter()
            .map(|present| soft.choose(present, false, &mut random, |_| true).unwrap().level)
            .collect();
        assert_eq!(levels, [3, 4, 4]);
        assert_eq!(soft.choose(&[0, 1, 2, 3, 4, 5], false, &mut random, |_| true), None);
        let hard = world(2, 3, Rules { soft: false, ..Rules::default() });
        assert_eq!(hard.choose(&[0], false, &mut random, |_| true), None);
        assert!(hard.choose(&[], false, &mut random, |_| true).is_some());
    }

    #[test]
    fn the_only_usable_server_is_found_and_unknown_servers_are_ignored() {
        let placer = world(40, 5, Rules::default());
        for wanted in [7, 99, 151] {
            let choice = placer.choose(&[9999], false, &mut Sequence::new(1), |server| server == wanted);
            assert_eq!(choice.unwrap().server, wanted);
        }
        assert_eq!(Placer::new(Vec::new(), Rules::default()).err().unwrap().code(), "harvest-nothing");
    }

    proptest! {
        /// No other choice would use more environments, whichever servers are full or gone, even a whole
        /// cell.
        #[test]
        fn replicas_are_in_as_many_environments_as_usable_servers_have(
            tenants in 3_u32..40, replicas in 1_usize..6, seed: u64, full in 0_u8..9, gone: u64,
            repair: bool, space: bool,
        ) {
            let weigh = if space { Weigh::Space } else { Weigh::Tenants };
            let placer = world(tenants, 3, Rules { weigh, ..Rules::default() });
            let usable = |server: u32| placer.cell_of(server) != Some(full) && gone >> (server % 64) & 1 == 0;
            let environment = |server: u32| placer.tenant_of(server).unwrap() / 2;
            let possible: HashSet<u32> = (0..tenants * 3).filter(|&s| usable(s)).map(environment).collect();
            let mut present = Vec::new();
            let mut random = Sequence::new(seed);
            while present.len() < replicas {
                let Some(choice) = placer.choose(&present, repair, &mut random, usable) else { break };
                present.push(choice.server);
            }
            let environments: HashSet<u32> = present.iter().map(|&server| environment(server)).collect();
            prop_assert_eq!(environments.len(), possible.len().min(replicas));
        }

        #[test]
        fn each_server_is_usable_and_chosen_once(
            tenants in 1_u32..30, servers in 1_u32..6, replicas in 1_usize..8, seed: u64, hole in 0_u32..200,
        ) {
            let placer = world(tenants, servers, Rules::default());
            let mut random = Sequence::new(seed);
            let mut present = Vec::new();
            for _ in 0..replicas {
                let usable = |server: u32| server % 7 != hole % 7;
                let left = (0..tenants * servers).filter(|s| usable(*s) && !present.contains(s)).count();
                let choice = placer.choose(&present, false, &mut random, usable);
                prop_assert_eq!(choice.is_none(), left == 0);
                if let Some(choice) = choice {
                    prop_assert!(usable(choice.server) && !present.contains(&choice.server));
                    present.push(choice.server);
                }
            }
        }
    }
}
