//! Refusal of documents that make no sense, with the field, the value and what would be right.

use crate::{
    CloneError, Component, Disturbance, Document, Law, LoadDependence, Lock, Order, Scope, When, SCHEMA,
};

type Checked = Result<(), CloneError>;

/// By value, because callers hand over numbers and texts of all sorts that they made for this.
#[allow(clippy::needless_pass_by_value)]
fn refuse(field: &str, value: impl ToString, must: impl Into<String>) -> CloneError {
    CloneError::Field { field: field.to_owned(), value: value.to_string(), must: must.into() }
}

/// Longer times are surely a typing error: a quarter of an hour.
const LONGEST_US: f64 = 1e9;
const MOST_THREADS: u32 = 1_024;
const MOST_INSTANCES: u32 = 1 << 20;
/// Weights are written with a few digits; what they lack of 1 may come from rounding.
const ROUNDING: f64 = 1e-6;

fn at_least(field: &str, value: f64, least: f64, most: f64) -> Checked {
    if value.is_finite() && value >= least && value <= most {
        return Ok(());
    }
    Err(refuse(field, value, format!("between {least} and {most}")))
}

fn time(field: &str, us: f64) -> Checked {
    at_least(field, us, 0.0, LONGEST_US)
}

/// A time that something is divided by, or the logarithm is taken of.
fn positive(field: &str, value: f64) -> Checked {
    if value.is_finite() && value > 0.0 && value <= LONGEST_US {
        return Ok(());
    }
    Err(refuse(field, value, format!("above 0 and at most {LONGEST_US}")))
}

fn share(field: &str, value: f64) -> Checked {
    at_least(field, value, 0.0, 1.0)
}

fn sums_to_one(field: &str, values: impl Iterator<Item = f64>) -> Checked {
    let sum: f64 = values.sum();
    if (sum - 1.0).abs() <= ROUNDING {
        return Ok(());
    }
    Err(refuse(field, format!("a sum of {sum}"), "a sum of 1"))
}

impl Document {
    /// Checks what the types cannot.
    pub(crate) fn check(&self) -> Checked {
        if self.schema != SCHEMA {
            return Err(refuse("schema", format!("`{}`", self.schema), format!("`{SCHEMA}`")));
        }
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return Err(refuse("threads", self.threads, format!("between 1 and {MOST_THREADS}")));
        }
        match (self.service.is_empty(), self.kinds.is_empty()) {
            (true, true) => return Err(refuse("service", "absent", "there, unless `kinds` are")),
            (false, false) => return Err(refuse("service", "there beside `kinds`", "one of the two alone")),
            (false, true) => mixture("service", &self.service)?,
            (true, false) => {
                for (place, kind) in self.kinds.iter().enumerate() {
                    share(&format!("kinds[{place}].share"), kind.share)?;
                    mixture(&format!("kinds[{place}].service"), &kind.service)?;
                }
                sums_to_one("kinds[].share", self.kinds.iter().map(|kind| kind.share))?;
            }
        }
        for (place, lock) in self.locks.iter().enumerate() {
            lock.check(&format!("locks[{place}]"))?;
            if self.locks[..place].iter().any(|earlier| earlier.name == lock.name) {
                let must = "a name that no other lock has";
                return Err(refuse(&format!("locks[{place}].name"), format!("`{}`", lock.name), must));
            }
        }
        for (place, disturbance) in self.disturbances.iter().enumerate() {
            disturbance.check(&format!("disturbances[{place}]"), &self.locks)?;
        }
        self.load.check()?;
        self.order.check()?;
        time("arrival_us", self.arrival_us)?;
        time("wake_us", self.wake_us)?;
        time("outside_us", self.outside_us)
    }

    /// Share and mixture of each kind of request; one with share 1 where there are no kinds.
    pub(crate) fn mixtures(&self) -> impl Iterator<Item = (f64, &[Component])> {
        let only = (!self.service.is_empty()).then_some((1.0, self.service.as_slice()));
        only.into_iter().chain(self.kinds.iter().map(|kind| (kind.share, kind.service.as_slice())))
    }
}

fn mixture(field: &str, components: &[Component]) -> Checked {
    if components.is_empty() {
        return Err(refuse(field, "empty", "at least one component"));
    }
    for (place, component) in components.iter().enumerate() {
        let weight = component.weight;
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(refuse(&format!("{field}[{place}].weight"), weight, "above 0 and at most 1"));
        }
        component.law.check(&format!("{field}[{place}].law"))?;
    }
    sums_to_one(&format!("{field}[].weight"), components.iter().map(|component| component.weight))
}

impl Law {
    fn check(&self, field: &str) -> Checked {
        let of = |name: &str| format!("{field}.{name}");
        match self {
            Self::Deterministic { us } => time(&of("us"), *us),
            Self::Exponential { mean_us } => positive(&of("mean_us"), *mean_us),
            Self::Uniform { low_us, high_us } => {
                time(&of("low_us"), *low_us)?;
                at_least(&of("high_us"), *high_us, *low_us, LONGEST_US)
            }
            Self::Lognormal { median_us, mean_us, sigma_log, at_most_us } => {
                match (median_us, mean_us) {
                    (Some(median), None) => positive(&of("median_us"), *median)?,
                    (None, Some(mean)) => positive(&of("mean_us"), *mean)?,
                    (None, None) => {
                        return Err(refuse(&of("median_us"), "absent", "there, unless `mean_us` is"))
                    }
                    (Some(median), Some(_)) => {
                        return Err(refuse(&of("median_us"), format!("{median} beside `mean_us`"), "alone"))
                    }
                }
                at_least(&of("sigma_log"), *sigma_log, 0.0, 10.0)?;
                at_most_us.map_or(Ok(()), |us| positive(&of("at_most_us"), us))
            }
            Self::Gamma { mean_us, shape } => {
                positive(&of("mean_us"), *mean_us)?;
                at_least(&of("shape"), *shape, 1e-3, 1e6)
            }
            Self::Geometric { mean_us, step_us } => {
                positive(&of("step_us"), *step_us)?;
                at_least(&of("mean_us"), *mean_us, *step_us, LONGEST_US)
            }
            Self::Pareto { least_us, shape, at_most_us } => {
                positive(&of("least_us"), *least_us)?;
                if !(shape.is_finite() && *shape > 1.0) {
                    return Err(refuse(&of("shape"), shape, "above 1: otherwise there is no mean"));
                }
                at_most_us.map_or(Ok(()), |us| at_least(&of("at_most_us"), us, *least_us, LONGEST_US))
            }
            Self::Empirical { points } => empirical(&of("points"), points),
        }
    }
}

/// The ends are written as 0 and 1, and mean exactly that.
#[allow(clippy::float_cmp)]
fn empirical(field: &str, points: &[(f64, f64)]) -> Checked {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err(refuse(field, "empty", "at least two points"));
    };
    if points.len() < 2 || first.0 != 0.0 || last.0 != 1.0 {
        let ends = format!("{} points from p = {} to {}", points.len(), first.0, last.0);
        return Err(refuse(field, ends, "at least two points, from p = 0 to 1"));
    }
    for (place, &(_, us)) in points.iter().enumerate() {
        time(&format!("{field}[{place}][1]"), us)?;
    }
    for (place, pair) in points.windows(2).enumerate() {
        if !(pair[1].0 >= pair[0].0 && pair[1].1 >= pair[0].1) {
            let value = format!("[{}, {}] after [{}, {}]", pair[1].0, pair[1].1, pair[0].0, pair[0].1);
            return Err(refuse(&format!("{field}[{}]", place + 1), value, "no lower than the point before"));
        }
    }
    Ok(())
}

impl Lock {
    fn check(&self, field: &str) -> Checked {
        let of = |name: &str| format!("{field}.{name}");
        self.hold.check(&of("hold"))?;
        share(&of("share"), self.share)?;
        if !(1..=MOST_INSTANCES).contains(&self.instances) {
            return Err(refuse(&of("instances"), self.instances, format!("between 1 and {MOST_INSTANCES}")));
        }
        if let Some(first) = self.first {
            share(&of("first"), first)?;
            if self.instances == 1 && first < 1.0 {
                return Err(refuse(&of("first"), first, "1, or absent, where the array has one lock"));
            }
        }
        self.spin_us.map_or(Ok(()), |us| time(&of("spin_us"), us))?;
        time(&of("wake_us"), self.wake_us)
    }
}

impl Disturbance {
    fn check(&self, field: &str, locks: &[Lock]) -> Checked {
        let of = |name: &str| format!("{field}.{name}");
        self.length.check(&of("length"))?;
        let by_chance = matches!(self.when, When::Chance { .. });
        if by_chance != (self.scope == Scope::Request) {
            let (value, must) = if by_chance {
                ("chance", "poisson, periodic or once, unless the scope is request")
            } else {
                ("by the clock", "chance, because the scope is request")
            };
            return Err(refuse(&of("when.kind"), value, must));
        }
        if let Some(lock) = &self.while_holding {
            if !by_chance {
                return Err(refuse(
                    &of("while_holding"),
                    format!("`{lock}`"),
                    "absent, unless the scope is request",
                ));
            }
            if !locks.iter().any(|known| known.name == *lock) {
                let known: Vec<&str> = locks.iter().map(|lock| lock.name.as_str()).collect();
                let must = format!("the name of a lock of this document ({})", known.join(", "));
                return Err(refuse(&of("while_holding"), format!("`{lock}`"), must));
            }
        }
        match &self.when {
            When::Chance { probability } => share(&of("when.probability"), *probability),
            When::Poisson { per_second } => positive(&of("when.per_second"), *per_second),
            When::Periodic { every_us, first_us } => {
                positive(&of("when.every_us"), *every_us)?;
                time(&of("when.first_us"), *first_us)
            }
            When::Once { at_us } => {
                for (place, &us) in at_us.iter().enumerate() {
                    time(&format!("{}[{place}]", of("when.at_us")), us)?;
                }
                match at_us.windows(2).position(|pair| pair[1] < pair[0]) {
                    None => Ok(()),
                    Some(place) => {
                        let name = format!("{}[{}]", of("when.at_us"), place + 1);
                        Err(refuse(&name, at_us[place + 1], "no earlier than the one before"))
                    }
                }
            }
        }
    }
}

impl LoadDependence {
    fn check(&self) -> Checked {
        for (field, slope) in [
            ("load.time", self.time),
            ("load.spread", self.spread),
            ("load.chance", self.chance),
            ("load.busy", self.busy),
        ] {
            at_least(field, slope, -0.9, 100.0)?;
        }
        positive("load.over_us", self.over_us)
    }
}

impl Order {
    fn check(&self) -> Checked {
        at_least("order.autocorrelation", self.autocorrelation, -0.999, 0.999)?;
        for (place, regime) in self.regimes.iter().enumerate() {
            positive(&format!("order.regimes[{place}].factor"), regime.factor)?;
            at_least(&format!("order.regimes[{place}].mean_requests"), regime.mean_requests, 1.0, 1e12)?;
        }
        Ok(())
    }
}
