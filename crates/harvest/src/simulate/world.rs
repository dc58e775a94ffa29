//! A data center to simulate: its servers and tenants, and the utilisation by primary tenants, synthetic or recorded.

use serde::Deserialize;

use super::center::{draw_center, Center, Load, SyntheticCenter};
use crate::error::HarvestError;
use crate::grid::Tenant;
use crate::pattern::Pattern;
use crate::spectrum::fill_gaps;

/// Hours of history before the simulated time of a synthetic data center. Placement and classes use the history.
const HISTORY_HOURS: f64 = 7.0 * 24.0;
/// Points in time at which the mean utilisation is sampled, over a week or all of the recorded time.
const SAMPLES: usize = 48;

/// Source of utilisation.
enum Loads {
    /// A formula for each tenant.
    Synthetic(Vec<Load>),
    /// Traces without gaps, one row of slots per tenant.
    Recorded { rows: Vec<f64>, slots: usize, slot_hours: f64 },
}

/// Recorded tenants and servers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Tenants. Servers are numbered from 0, and each belongs to one tenant.
    pub tenants: Vec<Tenant>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// Load of each server as a multiple of its tenant's average.
    pub balance: Vec<f64>,
}

/// Traces of an inventory's tenants, one row each.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// Utilisation as a share; NaN if missing.
    pub cpu: &'a [f64],
    /// Slots per row.
    pub slots: usize,
    /// Length of a slot in seconds.
    pub slot_s: f64,
}

/// A data center to simulate.
pub struct World {
    /// Its tenants.
    pub tenants: Vec<Tenant>,
    /// Rack of each server.
    pub rack_of: Vec<u32>,
    /// Servers of each rack.
    pub racks: Vec<Vec<u32>>,
    /// Tenant of each server.
    pub tenant_of: Vec<u32>,
    /// First tenant of each tenant's environment; it decides the waves of the whole environment.
    pub heads: Vec<u32>,
    /// Load of each server as a multiple of its tenant's average.
    pub balance: Vec<f64>,
    loads: Loads,
    /// Parameters of reimages, and the seed. For a synthetic data center, all of its parameters.
    pub center: Center,
}

impl World {
    /// Create a synthetic data center.
    pub fn synthetic(center: &Center) -> Self {
        let SyntheticCenter { tenants, loads, rack_of, balance } = draw_center(center);
        Self::assemble(center.clone(), tenants, rack_of, balance, Loads::Synthetic(loads))
    }

    /// Create a data center from recorded traces. Reimages follow `center`, at each tenant's own rate.
    pub fn recorded(center: &Center, inventory: Inventory, traces: Traces) -> Result<Self, HarvestError> {
        let Inventory { tenants, rack_of, balance } = inventory;
        let servers = rack_of.len();
        let range =
            |name, value| Err(HarvestError::Range { name, value, range: "a server of exactly one tenant" });
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
                Some(owned) if !*owned => *owned = true,
                _ => return range("a server's number", f64::from(server)),
            }
        }
        if let Some(server) = owned.iter().position(|owned| !owned) {
            return range("a server without tenant", server as f64);
        }
        let mut rows = Vec::with_capacity(traces.cpu.len());
        for row in traces.cpu.chunks(traces.slots) {
            rows.extend(fill_gaps(row).ok_or(HarvestError::Nothing("reading of a tenant"))?.values);
        }
        let loads = Loads::Recorded { rows, slots: traces.slots, slot_hours: traces.slot_s / 3600.0 };
        let mut world = Self::assemble(center.clone(), tenants, rack_of, balance, loads);
        world.set_peaks_from_history(&Scaling::none());
        Ok(world)
    }

    fn assemble(
        center: Center,
        tenants: Vec<Tenant>,
        rack_of: Vec<u32>,
        balance: Vec<f64>,
        loads: Loads,
    ) -> Self {
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

    /// Return the pattern of a synthetic tenant; None for a recorded one.
    pub fn pattern(&self, tenant: usize) -> Option<Pattern> {
        match &self.loads {
            Loads::Synthetic(loads) => Some(loads[tenant].pattern),
            Loads::Recorded { .. } => None,
        }
    }

    /// Return the utilisation of a tenant's average server at an hour, before scaling. After the end of a trace,
    /// return its last value.
    pub fn load(&self, tenant: usize, hour: f64) -> f64 {
        match &self.loads {
            Loads::Synthetic(loads) => loads[tenant].utilisation_at(hour),
            Loads::Recorded { rows, slots, slot_hours } => {
                rows[tenant * slots + ((hour / slot_hours) as usize).min(slots - 1)]
            }
        }
    }

    /// Return the hours of history before the simulated time: a week, or the first half of the recorded time.
    pub fn history_hours(&self) -> f64 {
        match &self.loads {
            Loads::Synthetic(_) => HISTORY_HOURS,
            Loads::Recorded { slots, slot_hours, .. } => (slots / 2) as f64 * slot_hours,
        }
    }

    /// Refuse to simulate more days than were recorded after the history.
    pub fn check_days(&self, days: f64) -> Result<(), HarvestError> {
        let Loads::Recorded { slots, slot_hours, .. } = &self.loads else { return Ok(()) };
        let most = (slots - slots / 2) as f64 * slot_hours / 24.0;
        if days > most * (1.0 + 1e-9) {
            return Err(HarvestError::Long { days, most });
        }
        Ok(())
    }

    /// Return the number of history slots and their length in hours. Recorded slots keep their length; synthetic ones
    /// have `slot_hours`.
    pub fn history_slots(&self, slot_hours: f64) -> (usize, f64) {
        let hours = match &self.loads {
            Loads::Synthetic(_) => slot_hours,
            Loads::Recorded { slot_hours, .. } => *slot_hours,
        };
        (((self.history_hours() / hours).round() as usize).max(1), hours)
    }

    /// Return the scaled traces of all tenants, one row of `slots` each.
    pub fn traces(&self, slots: usize, slot_hours: f64, scaling: &Scaling) -> Vec<f64> {
        (0..self.tenants.len())
            .flat_map(|tenant| (0..slots).map(move |slot| (tenant, (slot as f64 + 0.01) * slot_hours)))
            .map(|(tenant, hour)| scaling.apply(self.load(tenant, hour)))
            .collect()
    }

    /// Set each tenant's peak to the peak of its history: placement must not know the future.
    pub fn set_peaks_from_history(&mut self, scaling: &Scaling) {
        let (slots, hours) = self.history_slots(1.0);
        let history = self.traces(slots, hours, scaling);
        for (tenant, trace) in self.tenants.iter_mut().zip(history.chunks(slots)) {
            tenant.peak = trace.iter().copied().fold(0.0, f64::max);
        }
    }

    /// Return the hours over which means are computed.
    fn span_hours(&self) -> f64 {
        match &self.loads {
            Loads::Synthetic(_) => HISTORY_HOURS,
            Loads::Recorded { slots, slot_hours, .. } => *slots as f64 * slot_hours,
        }
    }

    /// Return the mean utilisation over time and servers after scaling.
    pub fn mean(&self, scaling: &Scaling) -> f64 {
        let samples = if matches!(self.loads, Loads::Synthetic(_)) { SAMPLES } else { 10 * SAMPLES };
        let step_hours = self.span_hours() / samples as f64;
        let loads = self.tenants.iter().enumerate().map(|(number, tenant)| {
            let sum: f64 =
                (0..samples).map(|at| scaling.apply(self.load(number, at as f64 * step_hours))).sum();
            sum / samples as f64 * tenant.servers.len() as f64
        });
        loads.sum::<f64>() / self.rack_of.len() as f64
    }
}

/// Scaling of utilisation to a mean: by a factor, saturating at 1, or by a root.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    factor: f64,
    root: bool,
}

impl Scaling {
    /// Leave utilisation unchanged.
    pub fn none() -> Self {
        Self { factor: 1.0, root: false }
    }

    /// Find the scaling that gives a world a mean utilisation. Without a mean, leave utilisation unchanged.
    pub fn to_mean(world: &World, mean: Option<f64>, root: bool) -> Result<Self, HarvestError> {
        let Some(mean) = mean else { return Ok(Self::none()) };
        if !(mean > 0.0 && mean < 1.0) {
            return Err(HarvestError::Range { name: "utilisation", value: mean, range: "above 0, below 1" });
        }
        let scaled_mean = |factor: f64| world.mean(&Self { factor, root });
        let (mut low, mut high) = (0.001_f64, 1000.0_f64);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            // A higher power lowers a share; a higher factor raises it.
            if (scaled_mean(middle) < mean) == root {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Self { factor: (low * high).sqrt(), root })
    }

    /// Scale a utilisation.
    pub fn apply(&self, load: f64) -> f64 {
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
    fn both_scalings_reach_the_mean_and_none_changes_nothing() {
        let world = World::synthetic(&Center { servers: 500, tenants: 60, ..Center::default() });
        for root in [false, true] {
            for mean in [0.2, 0.5, 0.7] {
                let scaled = world.mean(&Scaling::to_mean(&world, Some(mean), root).unwrap());
                assert!((scaled - mean).abs() < 1e-3, "{root} {mean}: {scaled}");
            }
        }
        let scaled = world.mean(&Scaling::to_mean(&world, None, false).unwrap());
        assert!((scaled - world.mean(&Scaling::none())).abs() < 1e-12);
        assert!(Scaling::to_mean(&world, Some(1.5), false).is_err());
    }

    /// Return a world of two tenants with two servers each, and four hours of two slots each.
    fn small_world(change: impl Fn(&mut Inventory)) -> Result<World, HarvestError> {
        let tenant = |first: u32| Tenant {
            environment: first,
            reimages: 1.0,
            peak: 0.0,
            space: 2.0,
            servers: vec![first, first + 1],
        };
        let mut inventory = Inventory {
            tenants: vec![tenant(0), tenant(2)],
            rack_of: vec![0, 0, 1, 1],
            balance: vec![1.0, 1.2, 0.8, 1.0],
        };
        change(&mut inventory);
        let mut cpu: Vec<f64> = (0..16).map(|at| f64::from(at) / 32.0).collect();
        cpu[3] = f64::NAN;
        World::recorded(&Center::default(), inventory, Traces { cpu: &cpu, slots: 8, slot_s: 1800.0 })
    }

    #[test]
    fn recorded_loads_are_returned_by_slot_and_the_first_half_is_history() {
        let world = small_world(|_| ()).unwrap();
        let loads: Vec<f64> = (0..8).map(|at| world.load(0, f64::from(at) * 0.5) * 32.0).collect();
        assert_eq!(loads, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert!((world.load(1, 99.0) - 15.0 / 32.0).abs() < 1e-12);
        assert!((world.history_hours() - 2.0).abs() < 1e-12);
        assert!((world.tenants[1].peak - 11.0 / 32.0).abs() < 1e-12, "the peak comes from the history alone");
        assert!((world.mean(&Scaling::none()) - 7.5 / 32.0).abs() < 1e-3);
        assert_eq!((world.heads[1], &world.racks[1][..]), (1, &[2, 3][..]));
        assert!(world.check_days(2.0 / 24.0).is_ok());
        assert_eq!(world.check_days(0.1).unwrap_err().code(), "harvest-long");
    }

    #[test]
    fn peaks_of_the_history_are_scaled() {
        let mut world = small_world(|_| ()).unwrap();
        world.set_peaks_from_history(&Scaling { factor: 2.0, root: false });
        let peaks: Vec<f64> = world.tenants.iter().map(|tenant| tenant.peak * 32.0).collect();
        // Twice the last of the history's four slots.
        assert_eq!(peaks, [6.0, 22.0]);
    }

    #[test]
    fn an_inventory_that_does_not_fit_is_refused() {
        let check = |change: &dyn Fn(&mut Inventory), code: &str| {
            assert_eq!(small_world(change).err().unwrap().code(), code);
        };
        check(&|inventory| inventory.tenants[1].servers = vec![1, 2, 3], "harvest-range");
        check(&|inventory| inventory.tenants[1].servers = vec![2, 4], "harvest-range");
        check(&|inventory| inventory.tenants[1].servers = vec![2], "harvest-range");
        check(&|inventory| inventory.tenants.truncate(1), "harvest-shape");
        check(&|inventory| inventory.balance.truncate(1), "harvest-nothing");
    }
}
