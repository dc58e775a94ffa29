//! Settings of the classification.

use serde::{Deserialize, Serialize};

use crate::error::HarvestError;

/// Limits that define the patterns, and the number of classes per pattern.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A trace is constant if its standard deviation is below this.
    pub constant_below: f64,
    /// Least share of the variance that a period must explain.
    pub periodic_share: f64,
    /// Least number of cycles in the window for a period.
    pub least_cycles: usize,
    /// Least confidence in a period.
    pub confidence: f64,
    /// Seconds per slot; None if the time scale is unknown, so that days and weeks have no meaning.
    pub slot_s: Option<f64>,
    /// Traces with a larger share of missing slots are not classified.
    pub most_missing: f64,
    /// Most classes of each pattern; the defaults are the paper's for DC-9.
    pub classes: [usize; 3],
    /// Whether to check both halves of the window: a pattern that one half lacks is unpredictable.
    pub stability: bool,
    /// Seed of the clusters' starting centres.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            constant_below: 0.03,
            periodic_share: 0.3,
            least_cycles: 4,
            confidence: 0.95,
            slot_s: None,
            most_missing: 0.25,
            classes: [13, 5, 5],
            stability: false,
            seed: 1,
        }
    }
}

impl Settings {
    /// Return the least number of slots in which a period of `least_cycles` can be found.
    pub fn least_slots(&self) -> usize {
        8 * self.least_cycles.max(1)
    }

    pub(crate) fn check(&self) -> Result<(), HarvestError> {
        let share = |name, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(HarvestError::Range { name, value, range: "0 to 1" })
            }
        };
        share("constant_below", self.constant_below)?;
        share("periodic_share", self.periodic_share)?;
        share("most_missing", self.most_missing)?;
        share("confidence", self.confidence)?;
        if self.classes.contains(&0) {
            return Err(HarvestError::Range { name: "classes", value: 0.0, range: "1 and above" });
        }
        Ok(())
    }
}
