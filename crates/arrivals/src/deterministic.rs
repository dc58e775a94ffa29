use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::ArrivalLaw;
use crate::process::PartSpec;
use crate::{Cumulants, Process, TraceError};

/// Equal gaps (C^2 = 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deterministic {}

impl ArrivalLaw for Deterministic {
    /// Parts are interleaved, so that all workers together keep the gap of the whole.
    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        let (index, of) = (u64::from(spec.part.index), u64::from(spec.part.of.max(1)));
        Ok(Box::new(Equal { gap: spec.gap, next: index + 1, step: of }))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        Some(Cumulants([1.0, 0.0, 0.0, 0.0]))
    }

    // A part has a single gap, with which clock readings cannot be compared.
    fn part_dispersion(&self) -> Option<f64> {
        Some(0.0)
    }
}

struct Equal {
    gap: f64,
    next: u64,
    step: u64,
}

impl Process for Equal {
    #[inline]
    fn next(&mut self) -> f64 {
        // A product instead of a sum, so that rounding does not accumulate.
        let at = (self.next as f64 * self.gap).round();
        self.next += self.step;
        at
    }
}

#[cfg(test)]
mod tests {
    use hindmost_clock::Rate;

    use crate::{Law, Part, Seeds};

    #[test]
    fn interleaved_parts_keep_the_gap_of_the_whole() {
        let rate = Rate::per_second(3e6).unwrap();
        let law: Law = serde_json::from_str(r#""deterministic""#).unwrap();
        let mut scheduled_times: Vec<u64> = (0..3)
            .flat_map(|index| {
                let seeds = Seeds { seed: 1, client: 0, thread: index };
                let mut part = law.part(rate, Part { index, of: 3 }, seeds).unwrap();
                (0..1000).map(move |_| part.next_scheduled().0)
            })
            .collect();
        scheduled_times.sort_unstable();
        assert_eq!(scheduled_times.last(), Some(&1_000_000));
        assert!(scheduled_times.windows(2).all(|w| (333..=334).contains(&(w[1] - w[0]))));
    }
}
