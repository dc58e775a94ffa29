//! A data center to simulate: who is where, and what primary tenants use, by formulas or as it was recorded.

use serde::Deserialize;

use super::center::{drawn, Center, Drawn, Load};
use crate::error::HarvestError;
use crate::grid::Tenant;
use crate::pattern::Pattern;
use crate::spectrum::whole;

/// Hours of history that placement and classes know, before what is simulated of a synthetic data center.
const HISTORY_HOURS: f64 = 7.0 * 24.0;
/// Moments at which a mean utilisation is looked at, over a week or all of what was recorded.
const LOOKS: usize = 48;

/// Where utilisation comes from.
enum Loads {
    /// A formula for each tenant.
    Drawn(Vec<Load>),
    /// Traces, by rows of slots, without gaps.
    Recorded { rows: Vec<f64>, slots: usize, slot_hours: f64 },
}

/// Servers as they were recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Tenants; servers have numbers from 0, each of one tenant.
    pub tenants: Vec<Tenant>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// What each server has more than its tenant's average, as a factor.
    pub balance: Vec<f64>,
}

/// Traces of an inventory's tenants, by rows.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// Utilisation as a share; NaN where nothing was recorded.
    pub cpu: &'a [f64],
    /// Of each row.
    pub slots: usize,
    /// Length of a slot.
    pub slot_s: f64,
}

/// A data center made.
pub struct World {
    /// Its tenants.
    pub tenants: Vec<Tenant>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// Servers of each rack.
    pub racks: Vec<Vec<u32>>,
    /// Tenant of each server.
    pub tenant_of: Vec<u32>,
    /// First tenant of each tenant's environment, which stands for all of it.
    pub heads: Vec<u32>,
    /// What each server has more than its tenant's average, as a factor.
    pub balance: Vec<f64>,
    loads: Loads,
    /// How reimages come, and the seed; all of it where the data center is synthetic.
    pub center: Center,
}

impl World {
    /// A synthetic data center.
    pub fn synthetic(center: &Center) -> Self {
        let Drawn { tenants, loads, rack_of, balance } = drawn(center);
        Self::of(center.clone(), tenants, rack_of, balance, Loads::Drawn(loads))
    }

    /// A data center as it was recorded; reimages come as `center` says, at each tenant's own rate.
    pub fn recorded(center: &Center, found: Inventory, traces: Traces) -> Result<Self, HarvestError> {
        let Inventory { tenants, rack_of, balance } = found;
        let servers = rack_of.len();
        let range = |what, found| Err(HarvestError::Range { what, found, range: "what the traces have" });
        if tenants.len() * traces.slots != traces.cpu.len() || traces.slots == 0 {
            let values = traces.cpu.len();
            return Err(HarvestError::Shape { values, tenants: tenants.len(), slots: traces.slots });
        }
        if servers < 2 || balance.len() != servers {
            return Err(HarvestError::Nothing("second server"));
        }
        let mut owned = vec![false; servers];
        for &server in tenants.iter().flat_map(|tenant| &tenant.servers) {
            match owned.get_mut(server as usize) {
                Some(is) if !*is => *is = true,
                _ => return range("a server", f64::from(server)),
            }
        }
        if let Some(nobody) = owned.iter().position(|is| !is) {
            return range("a server of no tenant", nobody as f64);
        }
        let mut rows = Vec::with_capacity(traces.cpu.len());
        for row in traces.cpu.chunks(traces.slots) {
            rows.extend(whole(row).ok_or(HarvestError::Nothing("reading of a tenant"))?.values);
        }
        let loads = Loads::Recorded { rows, slots: traces.slots, slot_hours: traces.slot_s / 3600.0 };
        let mut world = Self::of(center.clone(), tenants, rack_of, balance, loads);
        world.know_peaks(&Scaling::none());
        Ok(world)
    }

    fn of(center: Center, tenants: Vec<Tenant>, rack_of: Vec<u32>, balance: Vec<f64>, loads: Loads) -> Self {
        let mut tenant_of = vec![0; rack_of.len()];
        for (number, tenant) in tenants.iter().enumerate() {
            tenant.servers.iter().for_each(|&server| tenant_of[server as usize] = number as u32);
        }
        let mut racks = vec![Vec::new(); rack_of.iter().max().map_or(0, |last| *last as usize + 1)];
        for (server, &rack) in rack_of.iter().enumerate() {
            racks[rack as usize].push(server as u32);
        }
        let mut first = std::collections::HashMap::new();
        let heads = (tenants.iter().enumerate())
            .map(|(number, tenant)| *first.entry(tenant.environment).or_insert(number as u32))
            .collect();
        Self { tenants, rack_of, racks, tenant_of, heads, balance, loads, center }
    }

    /// What a synthetic tenant was made to be; nobody said so of a recorded one.
    pub fn pattern(&self, tenant: usize) -> Option<Pattern> {
        match &self.loads {
            Loads::Drawn(loads) => Some(loads[tenant].pattern),
            Loads::Recorded { .. } => None,
        }
    }

    /// Utilisation of a tenant's average server at an hour, before scaling; the last one after the end.
    pub fn load(&self, tenant: usize, hour: f64) -> f64 {
        match &self.loads {
            Loads::Drawn(loads) => loads[tenant].at(hour),
            Loads::Recorded { rows, slots, slot_hours } => {
                rows[tenant * slots + ((hour / slot_hours) as usize).min(slots - 1)]
            }
        }
    }

    /// Hours that are history, and what is simulated follows: a week, or the first half of what was recorded.
    pub fn history_hours(&self) -> f64 {
        match &self.loads {
            Loads::Drawn(_) => HISTORY_HOURS,
            Loads::Recorded { slots, slot_hours, .. } => (slots / 2) as f64 * slot_hours,
        }
    }

    /// Refuses to simulate more days than were recorded after history.
    pub fn check_days(&self, days: f64) -> Result<(), HarvestError> {
        let Loads::Recorded { slots, slot_hours, .. } = &self.loads else { return Ok(()) };
        let most = (slots - slots / 2) as f64 * slot_hours / 24.0;
        if days > most * (1.0 + 1e-9) {
            return Err(HarvestError::Long { days, most });
        }
        Ok(())
    }

    /// Slots of history of a length of about `slot_hours`, and their length: recorded ones are as they are.
    pub fn history_slots(&self, slot_hours: f64) -> (usize, f64) {
        let hours = match &self.loads {
            Loads::Drawn(_) => slot_hours,
            Loads::Recorded { slot_hours, .. } => *slot_hours,
        };
        (((self.history_hours() / hours).round() as usize).max(1), hours)
    }

    /// Traces of all tenants over so many slots, scaled, by rows.
    pub fn traces(&self, slots: usize, slot_hours: f64, scaling: &Scaling) -> Vec<f64> {
        (0..self.tenants.len())
            .flat_map(|tenant| (0..slots).map(move |slot| (tenant, (slot as f64 + 0.01) * slot_hours)))
            .map(|(tenant, hour)| scaling.of(self.load(tenant, hour)))
            .collect()
    }

    /// Makes peaks those of history, which is what placement knows.
    pub fn know_peaks(&mut self, scaling: &Scaling) {
        let (slots, hours) = self.history_slots(1.0);
        let before = self.traces(slots, hours, scaling);
        for (tenant, trace) in self.tenants.iter_mut().zip(before.chunks(slots)) {
            tenant.peak = trace.iter().copied().fold(0.0, f64::max);
        }
    }

    /// Hours over which means are taken.
    fn span_hours(&self) -> f64 {
        match &self.loads {
            Loads::Drawn(_) => HISTORY_HOURS,
            Loads::Recorded { slots, slot_hours, .. } => *slots as f64 * slot_hours,
        }
    }

    /// Mean utilisation over time and servers under a scaling.
    pub fn mean(&self, scaling: &Scaling) -> f64 {
        let looks = if matches!(self.loads, Loads::Drawn(_)) { LOOKS } else { 10 * LOOKS };
        let apart = self.span_hours() / looks as f64;
        let loads = self.tenants.iter().enumerate().map(|(number, tenant)| {
            let sum: f64 = (0..looks).map(|at| scaling.of(self.load(number, at as f64 * apart))).sum();
            sum / looks as f64 * tenant.servers.len() as f64
        });
        loads.sum::<f64>() / self.rack_of.len() as f64
    }
}

/// How utilisation is scaled to a mean: by a factor, saturating at 1, or by a root.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    factor: f64,
    root: bool,
}

impl Scaling {
    /// Utilisation as it is.
    pub fn none() -> Self {
        Self { factor: 1.0, root: false }
    }

    /// The scaling under which a world has a mean utilisation; as it is without one.
    pub fn to_mean(world: &World, mean: Option<f64>, root: bool) -> Result<Self, HarvestError> {
        let Some(mean) = mean else { return Ok(Self::none()) };
        if !(mean > 0.0 && mean < 1.0) {
            return Err(HarvestError::Range { what: "utilisation", found: mean, range: "above 0, below 1" });
        }
        let found = |factor: f64| world.mean(&Self { factor, root });
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
        Ok(Self { factor: (low * high).sqrt(), root })
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
    fn scaling_meets_its_mean_both_ways_and_none_leaves_it() {
        let world = World::synthetic(&Center { servers: 500, tenants: 60, ..Center::default() });
        for root in [false, true] {
            for mean in [0.2, 0.5, 0.7] {
                let found = world.mean(&Scaling::to_mean(&world, Some(mean), root).unwrap());
                assert!((found - mean).abs() < 1e-3, "{root} {mean}: {found}");
            }
        }
        let found = world.mean(&Scaling::to_mean(&world, None, false).unwrap());
        assert!((found - world.mean(&Scaling::none())).abs() < 1e-12);
        assert!(Scaling::to_mean(&world, Some(1.5), false).is_err());
    }

    /// Two tenants of two servers, four hours of two slots each.
    fn recorded(change: impl Fn(&mut Inventory)) -> Result<World, HarvestError> {
        let tenant = |first: u32| Tenant {
            environment: first,
            reimages: 1.0,
            peak: 0.0,
            space: 2.0,
            servers: vec![first, first + 1],
        };
        let mut found = Inventory {
            tenants: vec![tenant(0), tenant(2)],
            rack_of: vec![0, 0, 1, 1],
            balance: vec![1.0, 1.2, 0.8, 1.0],
        };
        change(&mut found);
        let mut cpu: Vec<f64> = (0..16).map(|at| f64::from(at) / 32.0).collect();
        cpu[3] = f64::NAN;
        World::recorded(&Center::default(), found, Traces { cpu: &cpu, slots: 8, slot_s: 1800.0 })
    }

    #[test]
    fn what_was_recorded_is_read_back_slot_by_slot_and_its_first_half_is_history() {
        let world = recorded(|_| ()).unwrap();
        let loads: Vec<f64> = (0..8).map(|at| world.load(0, f64::from(at) * 0.5) * 32.0).collect();
        assert_eq!(loads, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert!((world.load(1, 99.0) - 15.0 / 32.0).abs() < 1e-12);
        assert!((world.history_hours() - 2.0).abs() < 1e-12);
        assert!((world.tenants[1].peak - 11.0 / 32.0).abs() < 1e-12, "history alone is known");
        assert!((world.mean(&Scaling::none()) - 7.5 / 32.0).abs() < 1e-3);
        assert_eq!((world.heads[1], &world.racks[1][..]), (1, &[2, 3][..]));
        assert!(world.check_days(2.0 / 24.0).is_ok());
        assert_eq!(world.check_days(0.1).unwrap_err().code(), "harvest-long");
    }

    #[test]
    fn peaks_that_are_known_are_those_under_a_scaling() {
        let mut world = recorded(|_| ()).unwrap();
        world.know_peaks(&Scaling { factor: 2.0, root: false });
        let peaks: Vec<f64> = world.tenants.iter().map(|tenant| tenant.peak * 32.0).collect();
        // The last of history's four slots, twice.
        assert_eq!(peaks, [6.0, 22.0]);
    }

    #[test]
    fn an_inventory_that_does_not_fit_is_refused() {
        let check = |change: &dyn Fn(&mut Inventory), code: &str| {
            assert_eq!(recorded(change).err().unwrap().code(), code);
        };
        check(&|found| found.tenants[1].servers = vec![1, 2, 3], "harvest-range");
        check(&|found| found.tenants[1].servers = vec![2, 4], "harvest-range");
        check(&|found| found.tenants[1].servers = vec![2], "harvest-range");
        check(&|found| found.tenants.truncate(1), "harvest-shape");
        check(&|found| found.balance.truncate(1), "harvest-nothing");
    }
}
