use std::net::{SocketAddr, ToSocketAddrs};

use serde::{Deserialize, Serialize};

use crate::SynthError;

/// The document that says what a server does. Every field may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Host and port to listen on; port 0 takes a free one.
    pub address: String,
    /// Server threads, each one FCFS queue over its own connections.
    pub threads: usize,
    /// CPUs to pin to: thread `i` goes to `cpus[i % len]`. Absent: not pinned.
    pub cpus: Option<Vec<usize>>,
    /// Service time of each get, set or delete.
    pub service: ServiceTime,
    /// What a thread does while no request waits.
    pub idle: Idle,
    /// Seed of the service times; thread `i` draws from stream `i`. Same seed, same times.
    pub seed: u64,
    /// Bound on keys, values and their bookkeeping together, in MiB. Nothing is ever evicted: a set
    /// beyond the bound is answered `SERVER_ERROR out of memory storing object`.
    pub memory_mib: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:0".to_owned(),
            threads: 1,
            cpus: None,
            service: ServiceTime::Zero,
            idle: Idle::Block,
            seed: 1,
            memory_mib: 512,
        }
    }
}

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServiceTime {
    /// As fast as it goes: replies of a batch are written together.
    #[default]
    Zero,
    /// The same time for every request (the D of M/D/1).
    Deterministic {
        /// Service time in microseconds.
        mean_us: f64,
    },
    /// Exponentially distributed, drawn independently (the second M of M/M/1).
    Exponential {
        /// Mean service time in microseconds.
        mean_us: f64,
    },
}

/// What a thread does while no request waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Sleep in the kernel: costs no CPU, but a request that finds the server idle first waits for
    /// the wake-up.
    #[default]
    Block,
    /// Poll without pause: no wake-up delay, one CPU always busy.
    Spin,
}

const MAX_THREADS: usize = 1_024;
const MAX_MEAN_US: f64 = 1e7;
const MAX_MEMORY_MIB: usize = 1 << 20;

impl ServerConfig {
    /// Refuses what makes no sense, naming field and value.
    pub fn validate(&self) -> Result<(), SynthError> {
        let refuse = |field, value: String, wanted| Err(SynthError::Config { field, value, wanted });
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return refuse("threads", self.threads.to_string(), "1 to 1024 threads are possible");
        }
        if self.cpus.as_ref().is_some_and(Vec::is_empty) {
            return refuse("cpus", "[]".to_owned(), "name at least one CPU, or leave it out");
        }
        if !(1..=MAX_MEMORY_MIB).contains(&self.memory_mib) {
            return refuse("memory_mib", self.memory_mib.to_string(), "1 to 1048576 MiB are possible");
        }
        match self.service {
            ServiceTime::Zero => Ok(()),
            ServiceTime::Deterministic { mean_us } | ServiceTime::Exponential { mean_us } => {
                if mean_us.is_finite() && mean_us > 0.0 && mean_us <= MAX_MEAN_US {
                    return Ok(());
                }
                refuse("service.mean_us", mean_us.to_string(), "above 0 and at most 10000000 (10 s)")
            }
        }
    }

    pub(crate) fn socket_address(&self) -> Result<SocketAddr, SynthError> {
        let bad = |_| SynthError::Config {
            field: "address",
            value: format!("{:?}", self.address),
            wanted: "a host and a port that resolve here, such as 127.0.0.1:0",
        };
        let mut found = self.address.to_socket_addrs().map_err(bad)?;
        found.next().ok_or_else(|| bad(std::io::ErrorKind::NotFound.into()))
    }

    pub(crate) fn cpu_of(&self, thread: usize) -> Option<usize> {
        self.cpus.as_ref().map(|cpus| cpus[thread % cpus.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_may_leave_out_everything() {
        assert_eq!(serde_json::from_str::<ServerConfig>("{}").unwrap(), ServerConfig::default());
    }

    #[test]
    fn service_times_are_tagged_by_kind() {
        let text = r#"{"service": {"kind": "exponential", "mean_us": 200}, "idle": "spin", "cpus": [0, 1]}"#;
        let config: ServerConfig = serde_json::from_str(text).unwrap();
        assert_eq!(config.service, ServiceTime::Exponential { mean_us: 200.0 });
        assert_eq!(config.idle, Idle::Spin);
        assert_eq!((config.cpu_of(2), config.cpu_of(3)), (Some(0), Some(1)));
    }

    #[test]
    fn unknown_fields_are_refused() {
        for text in [
            r#"{"thread": 2}"#,
            r#"{"service": {"kind": "deterministic", "mean_us": 1, "sigma": 2}}"#,
            r#"{"service": {"kind": "lognormal"}}"#,
        ] {
            assert!(serde_json::from_str::<ServerConfig>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_field_and_value() {
        let base = ServerConfig::default;
        for (config, field) in [
            (ServerConfig { threads: 0, ..base() }, "threads = 0 "),
            (ServerConfig { threads: 100_000, ..base() }, "threads = 100000 "),
            (ServerConfig { cpus: Some(vec![]), ..base() }, "cpus = [] "),
            (ServerConfig { memory_mib: 0, ..base() }, "memory_mib = 0 "),
            (
                ServerConfig { service: ServiceTime::Deterministic { mean_us: -3.0 }, ..base() },
                "service.mean_us = -3 ",
            ),
            (
                ServerConfig { service: ServiceTime::Exponential { mean_us: f64::NAN }, ..base() },
                "service.mean_us = NaN ",
            ),
        ] {
            let message = config.validate().unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
        let lost = ServerConfig { address: "nowhere".to_owned(), ..base() };
        assert!(lost.socket_address().unwrap_err().to_string().starts_with("address = \"nowhere\""));
    }
}
