//! The number of machines of an analysis cluster: in closed form for independent anomalies (the dissertation's
//! section 6.3.4), and by simulation if a bad roll-out affects many servers at once.

mod batches;
mod erlang;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use batches::{Arrivals, Queue};
use erlang::{fewest, waits};

/// A query.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleQuery {
    /// Sizes of the production cluster.
    pub servers: Vec<u64>,
    /// Anomalies per server and day.
    pub anomalies: Vec<f64>,
    /// Durations of a diagnosis in seconds.
    pub diagnosis_s: Vec<f64>,
    /// Accepted probability of any wait.
    pub wait: f64,
    /// Fraction of anomalies caused by a roll-out.
    pub in_batches: f64,
    /// Fraction of the servers that a roll-out reaches.
    pub reached: f64,
    /// Duration of a roll-out in seconds.
    pub over_s: f64,
    /// Accepted 95th percentile of waits in seconds, if batches make it too expensive to avoid waits.
    pub patience_s: f64,
    /// Number of simulated days.
    pub days: f64,
    /// Random seed.
    pub seed: u64,
}

/// Machines for one size.
#[derive(Clone, Debug, Serialize)]
pub struct Machines {
    /// Size of the production cluster.
    pub servers: u64,
    /// Anomalies per server and day.
    pub anomalies: f64,
    /// Duration of a diagnosis in seconds.
    pub diagnosis_s: f64,
    /// Fewest machines in closed form.
    pub independent: u64,
    /// Probability of a wait with this number.
    pub waits: f64,
    /// Simulated probability of a wait with the same number if anomalies come in batches.
    pub waits_in_batches: f64,
    /// 95th percentile of that wait in seconds.
    pub p95_wait_s: f64,
    /// Fewest machines for which that percentile is accepted.
    pub in_batches: u64,
}

/// Answer the query for all combinations.
pub fn scale(asked: &ScaleQuery) -> Vec<Machines> {
    let mut all = Vec::new();
    for servers in &asked.servers {
        for anomalies in &asked.anomalies {
            all.extend(asked.diagnosis_s.iter().map(|seconds| (*servers, *anomalies, *seconds)));
        }
    }
    all.into_par_iter()
        .map(|(servers, anomalies, seconds)| size_cluster(asked, servers, anomalies, seconds))
        .collect()
}

fn size_cluster(asked: &ScaleQuery, servers: u64, anomalies: f64, diagnosis_s: f64) -> Machines {
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
    // The percentile falls with every additional machine: double, then bisect.
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

    fn query(in_batches: f64) -> ScaleQuery {
        ScaleQuery {
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
        let all = scale(&query(0.0));
        assert_eq!(all.iter().map(|one| one.independent).collect::<Vec<_>>(), [3, 6, 12, 36]);
        for one in all {
            assert!((one.waits - one.waits_in_batches).abs() < 0.02, "{one:?}");
        }
    }

    #[test]
    fn batches_make_many_wait_when_independent_anomalies_would_not() {
        for one in scale(&query(0.3)) {
            assert!(one.waits_in_batches > 2.0 * one.waits, "{one:?}");
        }
    }
}
