//! A grid of nine cells of tenants: three columns by rate of reimages, three rows by peak utilisation.
//!
//! ```text
//!                    infrequent  intermediate  frequent     all columns have the same space,
//!   low peak             0            1            2        and so have the cells of a column;
//!   medium peak          3            4            5        rows of two columns may differ
//!   high peak            6            7            8
//! ```

use serde::Deserialize;

use crate::error::HarvestError;

/// Number of cells.
pub const CELLS: usize = 9;

/// A primary tenant as placement sees it.
#[derive(Clone, Debug, Deserialize)]
pub struct Tenant {
    /// Environment number. Servers of one environment are likely to be re-deployed together.
    pub environment: u32,
    /// Mean reimages per server and month.
    pub reimages: f64,
    /// Peak utilisation.
    pub peak: f64,
    /// Space that may be harvested, in any unit.
    pub space: f64,
    /// Numbers of its servers.
    pub servers: Vec<u32>,
}

/// The cell of each tenant.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Cell by tenant; a tenant is never split.
    pub cell_of: Vec<u8>,
    /// Tenants of each cell, in input order.
    pub tenants_in: [Vec<u32>; CELLS],
}

impl Grid {
    /// Assign tenants to cells. Tenants with equal rates or peaks keep their input order.
    pub fn new(tenants: &[Tenant]) -> Result<Self, HarvestError> {
        for tenant in tenants {
            let numbers =
                [("reimages", tenant.reimages), ("peak utilisation", tenant.peak), ("space", tenant.space)];
            if let Some((name, value)) = numbers.into_iter().find(|(_, x)| !x.is_finite() || *x < 0.0) {
                return Err(HarvestError::Range { name, value, range: "0 and above" });
            }
        }
        let all: Vec<u32> = (0..tenants.len() as u32).collect();
        let mut cell_of = vec![0; tenants.len()];
        for (column, own) in thirds(tenants, all, |tenant| tenant.reimages).into_iter().enumerate() {
            for (row, own) in thirds(tenants, own, |tenant| tenant.peak).into_iter().enumerate() {
                for tenant in own {
                    cell_of[tenant as usize] = (3 * row + column) as u8;
                }
            }
        }
        let mut tenants_in: [Vec<u32>; CELLS] = Default::default();
        for (tenant, &cell) in cell_of.iter().enumerate() {
            tenants_in[cell as usize].push(tenant as u32);
        }
        Ok(Self { cell_of, tenants_in })
    }
}

/// Split tenants into three parts of about the same space, in order of `key`. The middle of a tenant's space
/// decides its part.
fn thirds(tenants: &[Tenant], mut all: Vec<u32>, key: fn(&Tenant) -> f64) -> [Vec<u32>; 3] {
    all.sort_by(|&a, &b| key(&tenants[a as usize]).total_cmp(&key(&tenants[b as usize])));
    let total: f64 = all.iter().map(|&at| tenants[at as usize].space).sum();
    let mut parts: [Vec<u32>; 3] = Default::default();
    let mut before = 0.0;
    for at in all {
        let space = tenants[at as usize].space;
        let middle = if total > 0.0 { (before + space / 2.0) * 3.0 / total } else { 0.0 };
        parts[(middle as usize).min(2)].push(at);
        before += space;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn tenants(n: u32) -> Vec<Tenant> {
        (0..n)
            .map(|i| Tenant {
                environment: i,
                reimages: f64::from(i * 7 % n),
                peak: f64::from(i * 5 % n) / f64::from(n),
                space: 1.0,
                servers: vec![i],
            })
            .collect()
    }

    #[test]
    fn cells_have_the_same_space_and_keep_the_order_of_rates_and_peaks() {
        let tenants = tenants(90);
        let grid = Grid::new(&tenants).unwrap();
        assert!(grid.tenants_in.iter().all(|own| own.len() == 10), "{:?}", grid.cell_of);
        for (a, one) in tenants.iter().enumerate() {
            for (b, other) in tenants.iter().enumerate() {
                let (cell, next) = (grid.cell_of[a], grid.cell_of[b]);
                assert!(cell % 3 >= next % 3 || one.reimages < other.reimages);
                assert!(cell % 3 != next % 3 || cell / 3 >= next / 3 || one.peak < other.peak);
            }
        }
    }

    #[test]
    fn a_large_tenant_is_not_split_and_few_tenants_leave_cells_empty() {
        let mut uneven = tenants(10);
        uneven[3].space = 100.0;
        let grid = Grid::new(&uneven).unwrap();
        assert_eq!(grid.tenants_in.iter().flatten().filter(|&&at| at == 3).count(), 1);
        let few = Grid::new(&tenants(3)).unwrap();
        assert_eq!(few.tenants_in.iter().filter(|own| own.is_empty()).count(), 6);
        assert_eq!(Grid::new(&[]).unwrap().cell_of.len(), 0);
        uneven[0].reimages = f64::NAN;
        assert_eq!(Grid::new(&uneven).unwrap_err().code(), "harvest-range");
    }
}
