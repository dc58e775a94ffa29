use serde::{Deserialize, Serialize};

use crate::{Arrivals, SimulateError};

/// The load of a program and its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Load; absent if the arrivals define the rate.
    pub load: Option<Load>,
    /// The arrival process.
    pub arrivals: Arrivals,
    /// Number of requests that count.
    pub requests: u64,
    /// Number of requests before them that do not count, because the server starts empty.
    pub warmup: u64,
    /// Number of parts, with equal numbers of requests, that have separate statistics: their scatter shows the
    /// uncertainty.
    pub sections: u32,
    /// Random seed.
    pub seed: u64,
    /// Quantile levels to report, in (0, 1).
    pub quantiles: Vec<f64>,
    /// Allow rates above the capacity: the backlog of a finite number of requests is finite.
    pub backlog: bool,
    /// Simulate event by event even if the recursion applies.
    pub event_by_event: bool,
}

/// The arrival rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Rate in requests/s.
    RatePerS(f64),
    /// Fraction of the capacity.
    Utilisation(f64),
}

/// More requests take hours.
const MOST_REQUESTS: u64 = 10_000_000_000;
const MOST_RATE: f64 = 1e9;
const MOST_QUANTILES: usize = 1_000;
const MOST_SECTIONS: u32 = 1_000;
const MOST_CLIENTS: u32 = 1 << 20;

/// Takes values and not references, because callers pass temporary numbers and strings of several types.
#[allow(clippy::needless_pass_by_value)]
fn refuse(field: &str, value: impl ToString, must: impl Into<String>) -> SimulateError {
    SimulateError::Field { field: field.to_owned(), value: value.to_string(), must: must.into() }
}

impl Design {
    /// Return the number of requests, including warm-up.
    pub fn total(&self) -> u64 {
        self.warmup + self.requests
    }

    /// Check what the types cannot express.
    pub(crate) fn check(&self) -> Result<(), SimulateError> {
        for (field, value, least) in [("requests", self.requests, 1), ("warmup", self.warmup, 0)] {
            if !(least..=MOST_REQUESTS).contains(&value) {
                return Err(refuse(field, value, format!("between {least} and {MOST_REQUESTS}")));
            }
        }
        if !(1..=MOST_SECTIONS).contains(&self.sections) || u64::from(self.sections) > self.requests {
            let most = self.requests.min(MOST_SECTIONS.into());
            return Err(refuse("sections", self.sections, format!("between 1 and {most}")));
        }
        if self.quantiles.len() > MOST_QUANTILES {
            return Err(refuse("quantiles", self.quantiles.len(), format!("at most {MOST_QUANTILES}")));
        }
        if let Some(&wrong) = self.quantiles.iter().find(|&&q| !(q > 0.0 && q < 1.0)) {
            return Err(refuse("quantiles", wrong, "above 0 and below 1"));
        }
        self.check_arrivals()?;
        match self.load {
            Some(Load::RatePerS(rate)) if !(rate > 0.0 && rate <= MOST_RATE) => {
                Err(refuse("rate_per_s", rate, format!("above 0 and at most {MOST_RATE}")))
            }
            Some(Load::Utilisation(share)) if !(share > 0.0 && (share < 1.0 || self.backlog)) => {
                Err(refuse("utilisation", share, "above 0 and below 1: a fraction of the capacity"))
            }
            Some(_) if self.arrivals.have_own_rate() => {
                Err(refuse("load", "there", "absent, because the trace or the closed loop defines the rate"))
            }
            None if !self.arrivals.have_own_rate() => {
                Err(refuse("load", "absent", "a rate or a utilisation"))
            }
            _ => Ok(()),
        }
    }

    fn check_arrivals(&self) -> Result<(), SimulateError> {
        match &self.arrivals {
            Arrivals::Law(law) => law
                .check()
                .map_err(|wrong| refuse(&format!("arrivals.{}", wrong.field), wrong.value, wrong.must)),
            Arrivals::Times(times_us) => {
                if times_us.len() as u64 != self.total() {
                    let must = format!("{} (warm-up and requests)", self.total());
                    return Err(refuse("times_us", format!("{} times", times_us.len()), must));
                }
                let falls = |pair: &[f64]| !(pair[1] >= pair[0] && pair[1].is_finite());
                if let Some(place) = times_us.windows(2).position(falls) {
                    let field = format!("times_us[{}]", place + 1);
                    return Err(refuse(&field, times_us[place + 1], "at least the time before it"));
                }
                if !(times_us[0].is_finite() && times_us[0] >= 0.0) {
                    return Err(refuse("times_us[0]", times_us[0], "at least 0"));
                }
                Ok(())
            }
            Arrivals::Closed { clients, think_us } => {
                if !(1..=MOST_CLIENTS).contains(clients) {
                    return Err(refuse("clients", clients, format!("between 1 and {MOST_CLIENTS}")));
                }
                if !(think_us.is_finite() && *think_us >= 0.0) {
                    return Err(refuse("think_us", think_us, "at least 0"));
                }
                Ok(())
            }
        }
    }

    /// Return the rate; `None` in a closed loop, where it depends on the replies.
    pub(crate) fn rate_per_s(&self, capacity_per_s: f64) -> Result<Option<f64>, SimulateError> {
        let rate = match (&self.arrivals, self.load) {
            (Arrivals::Closed { .. }, _) => return Ok(None),
            (Arrivals::Times(times_us), _) => {
                let span = times_us[times_us.len() - 1] - times_us[0];
                if span <= 0.0 {
                    return if self.backlog {
                        Ok(None)
                    } else {
                        Err(refuse("times_us", "a single moment", "a span of time"))
                    };
                }
                (times_us.len() - 1) as f64 / span * 1e6
            }
            (_, Some(Load::RatePerS(rate))) => rate,
            (_, Some(Load::Utilisation(share))) if capacity_per_s.is_finite() => share * capacity_per_s,
            (_, load) => {
                let share = if let Some(Load::Utilisation(share)) = load { share } else { f64::NAN };
                return Err(refuse(
                    "utilisation",
                    share,
                    "a rate, because this document has no service time",
                ));
            }
        };
        if rate >= capacity_per_s && !self.backlog {
            return Err(SimulateError::AboveCapacity { rate_per_s: rate, capacity_per_s });
        }
        Ok(Some(rate))
    }
}
