//! Checks for contradictions in a plan. An error names the field, its value and the expected value.

use hindmost_arrivals::{Law, ParameterError, Schedule};
use hindmost_clock::Rate;

use hindmost_wire::Protocol;

use crate::error::{refuse, PlanError};
use crate::{Http, HttpVersion, Load, Phases, Plan, Warmup, Workload, SCHEMA};

/// Highest rate that a plan may request, in requests/s: forty times what one core can send.
/// A higher rate is surely a typing error.
const MAX_RATE: f64 = 1e8;
/// One day, in seconds. Longer phases are surely a typing error.
const MAX_SECONDS: f64 = 86_400.0;

pub(crate) fn check_seconds(field: &'static str, value: f64, least: f64) -> Result<(), PlanError> {
    if value.is_finite() && value >= least && value <= MAX_SECONDS {
        return Ok(());
    }
    Err(refuse(field, value, format!("between {least} and {MAX_SECONDS} seconds")))
}

fn check_rate(value: f64) -> Result<(), PlanError> {
    match Rate::per_second(value) {
        Some(_) if value <= MAX_RATE => Ok(()),
        _ => Err(refuse(
            "load.rate_per_s",
            value,
            format!("a positive number of requests per second, at most {MAX_RATE:e}"),
        )),
    }
}

impl Plan {
    /// Check what the types cannot express.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.schema != SCHEMA {
            return Err(refuse("schema", format!("`{}`", self.schema), format!("`{SCHEMA}`")));
        }
        if self.client.index >= self.client.of {
            let must = format!("below client.of ({})", self.client.of);
            return Err(refuse("client.index", self.client.index, must));
        }
        match self.load {
            Load::Open { rate_per_s, .. } => check_rate(rate_per_s)?,
            Load::Closed { rate_per_s, .. } => rate_per_s.map_or(Ok(()), check_rate)?,
        }
        let named = |within: &str, wrong: ParameterError| PlanError::Field {
            field: format!("load.{within}.{}", wrong.field).into(),
            value: wrong.value,
            must: wrong.must,
        };
        self.load.arrivals().check().map_err(|wrong| named("arrivals", wrong))?;
        self.load.schedule().map_or(Ok(()), Schedule::check).map_err(|wrong| named("schedule", wrong))?;
        if self.threads.is_empty() || self.threads.len() > 1024 {
            return Err(refuse(
                "threads",
                format!("a list of {}", self.threads.len()),
                "a list of 1 to 1024",
            ));
        }
        let threads = self.threads.len() as u32;
        if self.connections < threads || self.connections > 100_000 {
            let must = format!("between the number of threads ({threads}) and 100000");
            return Err(refuse("connections", self.connections, must));
        }
        if self.max_outstanding < self.connections || self.max_outstanding > 1 << 24 {
            let must = format!("between connections ({}) and {}", self.connections, 1 << 24);
            return Err(refuse("max_outstanding", self.max_outstanding, must));
        }
        if let Some(most) = self.in_flight.filter(|most| !(1..=4096).contains(most)) {
            return Err(refuse("in_flight", most, "between 1 and 4096"));
        }
        if self.requests_per_connection == Some(0) {
            return Err(refuse("requests_per_connection", 0, "at least 1"));
        }
        if self.keep.samples > 10_000_000 || self.keep.worst > 1_000_000 {
            let value = format!("samples {} and worst {}", self.keep.samples, self.keep.worst);
            return Err(refuse("keep", value, "at most 10000000 samples and 1000000 worst"));
        }
        self.check_target()?;
        check_seconds("timeout_s", self.timeout_s, 0.001)?;
        self.phases.check()?;
        self.batching.check(self)?;
        if self.stream && !matches!(self.target.protocol, Protocol::Http | Protocol::Http2 | Protocol::Grpc) {
            let must = format!("omitted for a target that speaks {}", self.target.protocol.entry().name);
            return Err(refuse("stream", true, must));
        }
        crate::datagrams::check(self)?;
        self.check_workload()
    }

    fn check_workload(&self) -> Result<(), PlanError> {
        let (sent, spoken) = (self.workload.mix(), self.target.protocol.entry());
        if !self.target.protocol.takes(sent) {
            let takes: Vec<String> =
                self.target.protocol.mixes().map(|mix| format!("`{}`", mix.name)).collect();
            let must = format!("{} for a target that speaks {}", takes.join(" or "), spoken.name);
            return Err(refuse("workload.kind", sent.name, must));
        }
        if let (Protocol::Http2 | Protocol::Grpc, Workload::Http(http)) =
            (self.target.protocol, &self.workload)
        {
            self.check_http2(http)?;
        }
        if matches!(&self.workload, Workload::Http(http) if http.follow.is_some())
            && self.requests_until_close().is_some()
        {
            let must =
                "omitted: each connection carries a given number of requests, and redirections add some";
            return Err(refuse("workload.follow", "given", must));
        }
        if self.workload.session().is_some() {
            self.check_sessions()?;
        }
        self.workload.check()
    }

    /// Check that sessions arrive by a law: in an open loop, and not at the times of a trace.
    fn check_sessions(&self) -> Result<(), PlanError> {
        let must = match &self.load {
            Load::Closed { .. } => "omitted in a closed loop: sessions arrive at their scheduled times",
            Load::Open { arrivals: Law::Trace(_), .. } => {
                "omitted with a replayed trace, which has the times of requests and not of sessions"
            }
            Load::Open { .. } => return Ok(()),
        };
        Err(refuse("workload.session", "given", must))
    }

    /// Check the workload for what HTTP/2 does not support and what gRPC decides by itself.
    fn check_http2(&self, http: &Http) -> Result<(), PlanError> {
        if http.version == HttpVersion::One {
            let must = "omitted: the target speaks HTTP/2 (`http://` speaks 1.0)";
            return Err(refuse("workload.version", "1.0", must));
        }
        let accepts =
            http.accept != Http::default().accept || http.all().iter().any(|one| one.accept.is_some());
        if http.has_checks() {
            let must = "omitted: checks of replies are for HTTP/1 (`http://`, `https://`)";
            return Err(refuse("workload.checks", "given", must));
        }
        if http.follow.is_some() {
            let must = "omitted: redirections are followed in HTTP/1 only (`http://`, `https://`)";
            return Err(refuse("workload.follow", "given", must));
        }
        if self.target.protocol == Protocol::Grpc && accepts {
            let must = "omitted: the status of a call decides, and OK is the success";
            return Err(refuse("workload.accept", "given", must));
        }
        Ok(())
    }
}

impl Phases {
    fn check(&self) -> Result<(), PlanError> {
        match self.warmup {
            Warmup::Fixed { seconds: s } => check_seconds("phases.warmup.fixed.seconds", s, 0.0)?,
            Warmup::Auto { min_s, max_s } => {
                check_seconds("phases.warmup.auto.min_s", min_s, 0.0)?;
                check_seconds("phases.warmup.auto.max_s", max_s, 0.0)?;
                if min_s > max_s {
                    return Err(refuse(
                        "phases.warmup.auto.min_s",
                        min_s,
                        format!("at most max_s ({max_s})"),
                    ));
                }
            }
        }
        check_seconds("phases.calibration_s", self.calibration_s, 0.0)?;
        check_seconds("phases.measure_s", self.measure_s, 0.01)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::{Codes, KeyValue};

    fn minimal_plan() -> Value {
        json!({
            "schema": SCHEMA, "seed": 1,
            "target": {"protocol": "memcached", "address": "127.0.0.1:11211"},
            "load": {"loop": "open", "rate_per_s": 1000.0}
        })
    }

    /// Assert that the minimal plan with one changed field is refused and that the error names `field`.
    fn check_refused(path: &[&str], value: Value, field: &str) {
        let mut plan = minimal_plan();
        let mut place = &mut plan;
        for key in path {
            place = &mut place[*key];
        }
        *place = value;
        let refused = Plan::from_json(&plan.to_string()).unwrap_err();
        let named = match &refused {
            PlanError::Field { field: told, .. } => told.contains(field),
            PlanError::Unreadable(said) => said.contains(field),
        };
        assert!(named, "`{refused}` does not name `{field}`");
    }

    #[test]
    fn a_minimal_plan_gets_the_defaults() {
        let plan = Plan::from_json(&minimal_plan().to_string()).unwrap();
        assert_eq!(plan.connections, 16);
        assert_eq!(plan.workload, Workload::KeyValue(KeyValue::default()));
        assert_eq!(Plan::from_json(&serde_json::to_string(&plan).unwrap()), Ok(plan));
    }

    #[test]
    fn invalid_values_are_refused_and_their_field_is_named() {
        for rate in [0.0, -5.0, 1e12] {
            check_refused(&["load", "rate_per_s"], json!(rate), "load.rate_per_s");
        }
        check_refused(&["load", "rate_per_s"], json!(null), "");
        check_refused(&["load", "arrivals"], json!({"kind": "gamma", "shape": -1}), "load.arrivals.shape");
        check_refused(&["load", "arrivals"], json!({"kind": "gamma", "shap": 1}), "shap");
        check_refused(&["load", "schedule"], json!({"points": [[0, 1]]}), "load.schedule.points");
        check_refused(&["schema"], json!("hindmost.plan/9"), "schema");
        check_refused(&["rtae"], json!(1), "rtae");
        check_refused(&["client"], json!({"index": 2, "of": 2}), "client.index");
        check_refused(&["threads"], json!([]), "threads");
        check_refused(&["connections"], json!(0), "connections");
        check_refused(&["timeout_s"], json!(0), "timeout_s");
        check_refused(
            &["phases"],
            json!({"warmup": {"auto": {"min_s": 5, "max_s": 1}}, "calibration_s": 0, "measure_s": 1}),
            "min_s",
        );
        check_refused(&["stream"], json!(true), "stream");
        check_refused(&["workload"], json!({"kind": "http"}), "workload.kind");
        check_refused(&["workload"], json!({"kind": "key-value", "get_ratio": 1.5}), "get_ratio");
        check_refused(&["workload"], json!({"kind": "key-value", "key_bytes": 2}), "key_bytes");
        check_refused(
            &["workload"],
            json!({"kind": "key-value", "value_bytes": {"uniform": [9, 3]}}),
            "value_bytes",
        );
        let zipf = json!({"kind": "key-value", "popularity": {"zipf": -1.0}});
        check_refused(&["workload"], zipf, "workload.popularity.zipf");
        let http = json!({"protocol": "http", "address": "127.0.0.1:80"});
        let mut second = minimal_plan();
        second["target"]["protocol"] = json!("http2");
        second["workload"] = json!({"kind": "http", "version": "1.0"});
        assert_eq!(Plan::from_json(&second.to_string()).unwrap_err().field_and_value().0, "workload.version");
        second["workload"] = json!({"kind": "http", "checks": ["size<=1"]});
        assert_eq!(Plan::from_json(&second.to_string()).unwrap_err().field_and_value().0, "workload.checks");
        for (protocol, version) in [("http2", "1.1"), ("http", "1.0")] {
            second["target"]["protocol"] = json!(protocol);
            second["workload"] = json!({"kind": "http", "follow": 3, "version": version});
            assert_eq!(
                Plan::from_json(&second.to_string()).unwrap_err().field_and_value().0,
                "workload.follow"
            );
        }
        second["target"]["protocol"] = json!("grpc");
        second["workload"] = json!({"kind": "http", "accept": [404]});
        assert_eq!(Plan::from_json(&second.to_string()).unwrap_err().field_and_value().0, "workload.accept");
        for accept in [json!([]), json!([100]), json!([99]), json!([600])] {
            let plan = json!({"workload": {"kind": "http", "accept": accept}, "target": http});
            let mut all = minimal_plan();
            all.as_object_mut().unwrap().extend(plan.as_object().unwrap().clone());
            let refused = Plan::from_json(&all.to_string()).unwrap_err();
            assert!(refused.to_string().contains("workload.accept"), "{refused}");
        }
    }

    #[test]
    fn codes_are_spelled_as_numbers_and_classes() {
        let accept: Vec<Codes> = serde_json::from_str(r#"["2xx",304]"#).unwrap();
        assert_eq!(accept, [Codes::Successful, Codes::One(304)]);
        assert_eq!(serde_json::to_string(&accept).unwrap(), r#"["2xx",304]"#);
    }
}
