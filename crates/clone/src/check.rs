//! Validation of documents. An error has the field, the value and the allowed values.

use crate::{
    CloneError, Component, Disturbance, Document, Law, LoadDependence, Lock, Order, Scope, When, SCHEMA,
};

type CheckResult = Result<(), CloneError>;

/// By value, because callers pass numbers and texts that they created for this call.
#[allow(clippy::needless_pass_by_value)]
fn refuse(field: &str, value: impl ToString, must: impl Into<String>) -> CloneError {
    CloneError::Field { field: field.to_owned(), value: value.to_string(), must: must.into() }
}

/// Longest allowed time, about 17 minutes: longer ones are probably typing errors.
const MAX_US: f64 = 1e9;
const MAX_THREADS: u32 = 1_024;
const MAX_CLIENTS: u32 = 1 << 20;
/// Tolerance for sums of weights, which are written with a few digits.
const ROUNDING: f64 = 1e-6;

fn in_range(field: &str, value: f64, least: f64, most: f64) -> CheckResult {
    if value.is_finite() && value >= least && value <= most {
        return Ok(());
    }
    Err(refuse(field, value, format!("between {least} and {most}")))
}

fn time(field: &str, us: f64) -> CheckResult {
    in_range(field, us, 0.0, MAX_US)
}

/// Check a time that is used as a divisor or in a logarithm.
fn positive(field: &str, value: f64) -> CheckResult {
    if value.is_finite() && value > 0.0 && value <= MAX_US {
        return Ok(());
    }
    Err(refuse(field, value, format!("above 0 and at most {MAX_US}")))
}

fn share(field: &str, value: f64) -> CheckResult {
    in_range(field, value, 0.0, 1.0)
}

fn sums_to_one(field: &str, values: impl Iterator<Item = f64>) -> CheckResult {
    let sum: f64 = values.sum();
    if (sum - 1.0).abs() <= ROUNDING {
        return Ok(());
    }
    Err(refuse(field, format!("a sum of {sum}"), "a sum of 1"))
}

impl Document {
    /// Check what the types cannot express.
    pub(crate) fn check(&self) -> CheckResult {
        if self.schema != SCHEMA {
            return Err(refuse("schema", format!("`{}`", self.schema), format!("`{SCHEMA}`")));
        }
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return Err(refuse("threads", self.threads, format!("between 1 and {MAX_THREADS}")));
        }
        match (self.service.is_empty(), self.kinds.is_empty()) {
            (true, true) => return Err(refuse("service", "absent", "present, unless `kinds` is")),
            (false, false) => {
                return Err(refuse("service", "present together with `kinds`", "only one of the two"))
            }
            (false, true) => mixture("service", &self.service)?,
            (true, false) => {
                for (index, kind) in self.kinds.iter().enumerate() {
                    share(&format!("kinds[{index}].share"), kind.share)?;
                    mixture(&format!("kinds[{index}].service"), &kind.service)?;
                }
                sums_to_one("kinds[].share", self.kinds.iter().map(|kind| kind.share))?;
            }
        }
        for (index, lock) in self.locks.iter().enumerate() {
            lock.check(&format!("locks[{index}]"))?;
            if self.locks[..index].iter().any(|earlier| earlier.name == lock.name) {
                let must = "a unique name";
                return Err(refuse(&format!("locks[{index}].name"), format!("`{}`", lock.name), must));
            }
        }
        for (index, disturbance) in self.disturbances.iter().enumerate() {
            disturbance.check(&format!("disturbances[{index}]"), &self.locks)?;
        }
        self.load.check()?;
        self.order.check()?;
        time("arrival_us", self.arrival_us)?;
        time("wake_us", self.wake_us)?;
        time("outside_us", self.outside_us)
    }

    /// Return share and mixture of each kind of request; without kinds, one mixture with share 1.
    pub(crate) fn mixtures(&self) -> impl Iterator<Item = (f64, &[Component])> {
        let only = (!self.service.is_empty()).then_some((1.0, self.service.as_slice()));
        only.into_iter().chain(self.kinds.iter().map(|kind| (kind.share, kind.service.as_slice())))
    }
}

fn mixture(field: &str, components: &[Component]) -> CheckResult {
    if components.is_empty() {
        return Err(refuse(field, "empty", "at least one component"));
    }
    for (index, component) in components.iter().enumerate() {
        let weight = component.weight;
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(refuse(&format!("{field}[{index}].weight"), weight, "above 0 and at most 1"));
        }
        component.law.check(&format!("{field}[{index}].law"))?;
    }
    sums_to_one(&format!("{field}[].weight"), components.iter().map(|component| component.weight))
}

impl Law {
    fn check(&self, field: &str) -> CheckResult {
        let path = |name: &str| format!("{field}.{name}");
        match self {
            Self::Deterministic { us } => time(&path("us"), *us),
            Self::Exponential { mean_us } => positive(&path("mean_us"), *mean_us),
            Self::Uniform { low_us, high_us } => {
                time(&path("low_us"), *low_us)?;
                in_range(&path("high_us"), *high_us, *low_us, MAX_US)
            }
            Self::Lognormal { median_us, mean_us, sigma_log, at_most_us } => {
                match (median_us, mean_us) {
                    (Some(median), None) => positive(&path("median_us"), *median)?,
                    (None, Some(mean)) => positive(&path("mean_us"), *mean)?,
                    (None, None) => {
                        return Err(refuse(&path("median_us"), "absent", "present, unless `mean_us` is"))
                    }
                    (Some(median), Some(_)) => {
                        return Err(refuse(
                            &path("median_us"),
                            format!("{median} together with `mean_us`"),
                            "only one of the two",
                        ))
                    }
                }
                in_range(&path("sigma_log"), *sigma_log, 0.0, 10.0)?;
                at_most_us.map_or(Ok(()), |us| positive(&path("at_most_us"), us))
            }
            Self::Gamma { mean_us, shape } => {
                positive(&path("mean_us"), *mean_us)?;
                in_range(&path("shape"), *shape, 1e-3, 1e6)
            }
            Self::Geometric { mean_us, step_us } => {
                positive(&path("step_us"), *step_us)?;
                in_range(&path("mean_us"), *mean_us, *step_us, MAX_US)
            }
            Self::Pareto { least_us, shape, at_most_us } => {
                positive(&path("least_us"), *least_us)?;
                if !(shape.is_finite() && *shape > 1.0) {
                    return Err(refuse(&path("shape"), shape, "above 1, so that the mean is finite"));
                }
                at_most_us.map_or(Ok(()), |us| in_range(&path("at_most_us"), us, *least_us, MAX_US))
            }
            Self::Empirical { points } => empirical(&path("points"), points),
        }
    }
}

/// The ends are written as 0 and 1, so they can be compared exactly.
#[allow(clippy::float_cmp)]
fn empirical(field: &str, points: &[(f64, f64)]) -> CheckResult {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err(refuse(field, "empty", "at least two points"));
    };
    if points.len() < 2 || first.0 != 0.0 || last.0 != 1.0 {
        let ends = format!("{} points from p = {} to {}", points.len(), first.0, last.0);
        return Err(refuse(field, ends, "at least two points, from p = 0 to 1"));
    }
    for (index, &(_, us)) in points.iter().enumerate() {
        time(&format!("{field}[{index}][1]"), us)?;
    }
    for (index, pair) in points.windows(2).enumerate() {
        if !(pair[1].0 >= pair[0].0 && pair[1].1 >= pair[0].1) {
            let value = format!("[{}, {}] after [{}, {}]", pair[1].0, pair[1].1, pair[0].0, pair[0].1);
            return Err(refuse(
                &format!("{field}[{}]", index + 1),
                value,
                "at least as high as the point before",
            ));
        }
    }
    Ok(())
}

impl Lock {
    fn check(&self, field: &str) -> CheckResult {
        let path = |name: &str| format!("{field}.{name}");
        self.hold.check(&path("hold"))?;
        share(&path("share"), self.share)?;
        if !(1..=MAX_CLIENTS).contains(&self.instances) {
            return Err(refuse(&path("instances"), self.instances, format!("between 1 and {MAX_CLIENTS}")));
        }
        if let Some(first) = self.first {
            share(&path("first"), first)?;
            if self.instances == 1 && first < 1.0 {
                return Err(refuse(&path("first"), first, "1 or absent for an array of one lock"));
            }
        }
        self.spin_us.map_or(Ok(()), |us| time(&path("spin_us"), us))?;
        time(&path("wake_us"), self.wake_us)
    }
}

impl Disturbance {
    fn check(&self, field: &str, locks: &[Lock]) -> CheckResult {
        let path = |name: &str| format!("{field}.{name}");
        self.length.check(&path("length"))?;
        let by_chance = matches!(self.when, When::Chance { .. });
        if by_chance != (self.scope == Scope::Request) {
            let (value, must) = if by_chance {
                ("chance", "poisson, periodic or once, unless the scope is request")
            } else {
                ("by the clock", "chance, because the scope is request")
            };
            return Err(refuse(&path("when.kind"), value, must));
        }
        if let Some(lock) = &self.while_holding {
            if !by_chance {
                return Err(refuse(
                    &path("while_holding"),
                    format!("`{lock}`"),
                    "absent, unless the scope is request",
                ));
            }
            if !locks.iter().any(|other| other.name == *lock) {
                let names: Vec<&str> = locks.iter().map(|lock| lock.name.as_str()).collect();
                let must = format!("the name of a lock of this document ({})", names.join(", "));
                return Err(refuse(&path("while_holding"), format!("`{lock}`"), must));
            }
        }
        match &self.when {
            When::Chance { probability } => share(&path("when.probability"), *probability),
            When::Poisson { per_second } => positive(&path("when.per_second"), *per_second),
            When::Periodic { every_us, first_us } => {
                positive(&path("when.every_us"), *every_us)?;
                time(&path("when.first_us"), *first_us)
            }
            When::Once { at_us } => {
                for (index, &us) in at_us.iter().enumerate() {
                    time(&format!("{}[{index}]", path("when.at_us")), us)?;
                }
                match at_us.windows(2).position(|pair| pair[1] < pair[0]) {
                    None => Ok(()),
                    Some(index) => {
                        let name = format!("{}[{}]", path("when.at_us"), index + 1);
                        Err(refuse(&name, at_us[index + 1], "no earlier than the time before"))
                    }
                }
            }
        }
    }
}

impl LoadDependence {
    fn check(&self) -> CheckResult {
        for (field, slope) in [
            ("load.time", self.time),
            ("load.spread", self.spread),
            ("load.chance", self.chance),
            ("load.busy", self.busy),
        ] {
            in_range(field, slope, -0.9, 100.0)?;
        }
        positive("load.over_us", self.over_us)
    }
}

impl Order {
    fn check(&self) -> CheckResult {
        in_range("order.autocorrelation", self.autocorrelation, -0.999, 0.999)?;
        for (index, regime) in self.regimes.iter().enumerate() {
            positive(&format!("order.regimes[{index}].factor"), regime.factor)?;
            in_range(&format!("order.regimes[{index}].mean_requests"), regime.mean_requests, 1.0, 1e12)?;
        }
        Ok(())
    }
}
