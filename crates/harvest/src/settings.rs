//! What counts as which pattern, and how classes are made.

use serde::{Deserialize, Serialize};

use crate::error::HarvestError;

/// What counts as which pattern, and into how many classes each is split.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A standard deviation below it is roughly constant.
    pub constant_below: f64,
    /// Share of the variance that a period must explain.
    pub periodic_share: f64,
    /// Cycles that must be seen before a period is believed.
    pub least_cycles: usize,
    /// Least confidence in a period.
    pub confidence: f64,
    /// Seconds of a slot; None where days and weeks mean nothing.
    pub slot_s: Option<f64>,
    /// Traces with more gaps are left out.
    pub most_missing: f64,
    /// Classes of each pattern, at most; as the paper had them for DC-9.
    pub classes: [usize; 3],
    /// Whether halves of the window are looked at, too: a pattern that one of them lacks is unpredictable.
    pub stability: bool,
    /// Of the clusters' beginnings.
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
    /// Slots below which no period of `least_cycles` could be told.
    pub fn least_slots(&self) -> usize {
        8 * self.least_cycles.max(1)
    }

    pub(crate) fn check(&self) -> Result<(), HarvestError> {
        let share = |what, found: f64| {
            if (0.0..=1.0).contains(&found) {
                Ok(())
            } else {
                Err(HarvestError::Range { what, found, range: "0 to 1" })
            }
        };
        share("constant_below", self.constant_below)?;
        share("periodic_share", self.periodic_share)?;
        share("most_missing", self.most_missing)?;
        share("confidence", self.confidence)?;
        if self.classes.contains(&0) {
            return Err(HarvestError::Range { what: "classes", found: 0.0, range: "1 and above" });
        }
        Ok(())
    }
}
