//! How many machines an analysis cluster needs: in closed form, where anomalies are independent (the dissertation's
//! section 6.3.4), and by simulation, where a bad roll-out makes many servers sick at once.

mod batches;
mod erlang;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use batches::{Arrivals, Queue};
use erlang::{fewest, waits};

/// What is asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleAsked {
    /// Sizes of the production cluster.
    pub servers: Vec<u64>,
    /// Anomalies a server and day.
    pub anomalies: Vec<f64>,
    /// Seconds that each diagnosis keeps a machine.
    pub diagnosis_s: Vec<f64>,
    /// Probability of any wait that is accepted.
    pub wait: f64,
    /// Share of anomalies that come with a roll-out.
    pub in_batches: f64,
    /// Share of the servers that a roll-out reaches.
    pub reached: f64,
    /// Seconds over which it does.
    pub over_s: f64,
    /// A 95th percentile of waits that is accepted where batches make a probability of no wait too dear.
    pub patience_s: f64,
    /// Simulated days.
    pub days: f64,
    /// Of all draws.
    pub seed: u64,
}

/// Machines for one size.
#[derive(Clone, Debug, Serialize)]
pub struct Machines {
    /// Of the production cluster.
    pub servers: u64,
    /// A server and day.
    pub anomalies: f64,
    /// Seconds a diagnosis.
    pub diagnosis_s: f64,
    /// Fewest in closed form.
    pub independent: u64,
    /// Probability of a wait with so many.
    pub waits: f64,
    /// The same probability with as many where anomalies come in batches, simulated.
    pub waits_in_batches: f64,
    /// 95th percentile of the wait then, seconds.
    pub p95_wait_s: f64,
    /// Fewest for which that percentile is within the patience.
    pub in_batches: u64,
}

/// Answers all combinations.
pub fn scale(asked: &ScaleAsked) -> Vec<Machines> {
    let mut all = Vec::new();
    for servers in &asked.servers {
        for anomalies in &asked.anomalies {
            all.extend(asked.diagnosis_s.iter().map(|seconds| (*servers, *anomalies, *seconds)));
        }
    }
    all.into_par_iter().map(|(servers, anomalies, seconds)| one(asked, servers, anomalies, seconds)).collect()
}

fn one(asked: &ScaleAsked, servers: u64, anomalies: f64, diagnosis_s: f64) -> Machines {
    let load = servers as f64 * anomalies * diagnosis_s / 86_400.0;
    let independent = fewest(load, asked.wait);
    let arrivals = Arrivals {
        a_day: servers as f64 * anomalies,
        in_batches: asked.in_batches,
        batch: (servers as f64 * asked.reached).ceil().max(1.0),
        over_s: asked.over_s,
        days: asked.days,
    };
    let moments = arrivals.draw(asked.seed, servers as u32);
    let queue = |machines| Queue::run(&moments, machines, diagnosis_s, asked.seed);
    let as_many = queue(independent);
    // The percentile falls with every machine more: doubling, then halving.
    let (mut low, mut high) = (0, independent);
    while queue(high).p95_wait_s > asked.patience_s {
        (low, high) = (high, 2 * high);
    }
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if middle as f64 > load && queue(middle).p95_wait_s <= asked.patience_s {
            high = middle;
        } else {
            low = middle;
        }
    }
    Machines {
        servers,
        anomalies,
        diagnosis_s,
        independent,
        waits: waits(independent, load),
        waits_in_batches: as_many.waits,
        p95_wait_s: as_many.p95_wait_s,
        in_batches: high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(in_batches: f64) -> ScaleAsked {
        ScaleAsked {
            servers: vec![1000],
            anomalies: vec![1.0, 10.0],
            diagnosis_s: vec![60.0, 240.0],
            wait: 0.1,
            in_batches,
            reached: 0.1,
            over_s: 600.0,
            patience_s: 600.0,
            days: 30.0,
            seed: 1,
        }
    }

    #[test]
    fn without_batches_the_simulation_agrees_with_the_closed_form() {
        let all = scale(&asked(0.0));
        assert_eq!(all.iter().map(|one| one.independent).collect::<Vec<_>>(), [3, 6, 12, 36]);
        for one in all {
            assert!((one.waits - one.waits_in_batches).abs() < 0.02, "{one:?}");
        }
    }

    #[test]
    fn batches_make_many_wait_where_independent_ones_would_not() {
        for one in scale(&asked(0.3)) {
            assert!(one.waits_in_batches > 2.0 * one.waits, "{one:?}");
        }
    }
}
