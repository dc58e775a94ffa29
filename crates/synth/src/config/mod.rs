//! The settings of a server: where it listens, which protocol it speaks, and which clone document it runs.

mod service;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use hindmost_clone::{Document, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SynthError;
pub use service::ServiceTime;

/// The document that says what a server does. Every field may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Host and port to listen on; port 0 takes a free one.
    pub address: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// How it spends its time: a clone document, which brings its own number of threads.
    pub clone: Option<Document>,
    /// Without `clone`: server threads, each one FCFS queue over its own connections.
    pub threads: u32,
    /// Without `clone`: service time of each request.
    pub service: ServiceTime,
    /// CPUs to pin to: thread `i` goes to `cpus[i % len]`. Absent: not pinned.
    pub cpus: Option<Vec<usize>>,
    /// What a thread does while no request waits.
    pub idle: Idle,
    /// What a service time is a time of.
    pub occupy: Occupy,
    /// Seed of all that is drawn. Same seed, same requests.
    pub seed: u64,
    /// Bound on keys, values and their bookkeeping together, in MiB. Nothing is ever evicted: a set
    /// beyond the bound is answered `SERVER_ERROR out of memory storing object`.
    pub memory_mib: usize,
    /// File that the truth about each request is written to at the end (CSV).
    pub log: Option<PathBuf>,
    /// Most requests that the log keeps, 64 bytes of memory each and thread.
    pub log_requests: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:0".to_owned(),
            protocol: Protocol::Memcached,
            clone: None,
            threads: 1,
            service: ServiceTime::Zero,
            cpus: None,
            idle: Idle::Block,
            occupy: Occupy::Wall,
            seed: 1,
            memory_mib: 512,
            log: None,
            log_requests: 1_000_000,
        }
    }
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The text protocol of memcached, with a store behind it.
    #[default]
    Memcached,
    /// HTTP/1.1: every path is there, and holds two letters.
    Http,
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

/// What a service time is a time of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occupy {
    /// Of the wall clock: what the host takes away from the thread in the middle of a service, it takes from the work.
    #[default]
    Wall,
    /// Of the thread's CPU time: the service ends when the thread has had that much of a CPU, as real work does.
    Cpu,
}

const MAX_THREADS: u32 = 1_024;
const MAX_MEMORY_MIB: usize = 1 << 20;
const MAX_LOG: usize = 100_000_000;

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
        if !(1..=MAX_LOG).contains(&self.log_requests) {
            return refuse("log_requests", self.log_requests.to_string(), "1 to 100000000 are possible");
        }
        self.service.validate()
    }

    /// What the server does, ready to be drawn from.
    pub(crate) fn program(&self) -> Result<Program, SynthError> {
        let document = self.clone.clone().unwrap_or_else(|| self.service.document(self.threads));
        Ok(Program::new(&document)?)
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
    fn the_short_form_is_a_document() {
        let config = |service| ServerConfig { service, threads: 3, ..ServerConfig::default() };
        let program = config(ServiceTime::Exponential { mean_us: 200.0 }).program().unwrap();
        assert_eq!(program.threads, 3);
        assert!((program.mean_busy_ns() - 2e5).abs() < 1e-6);
        assert!(!program.takes_no_time());
        assert!(config(ServiceTime::Zero).program().unwrap().takes_no_time());
    }

    #[test]
    fn unknown_fields_are_refused() {
        for text in [
            r#"{"thread": 2}"#,
            r#"{"service": {"kind": "deterministic", "mean_us": 1, "sigma": 2}}"#,
            r#"{"service": {"kind": "lognormal"}}"#,
            r#"{"clone": {"schema": "hindmost.clone/1"}}"#,
        ] {
            assert!(serde_json::from_str::<ServerConfig>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_field_and_value() {
        let base = ServerConfig::default;
        for (config, field) in [
            (ServerConfig { threads: 0, ..base() }, ("threads", "0")),
            (ServerConfig { threads: 100_000, ..base() }, ("threads", "100000")),
            (ServerConfig { cpus: Some(vec![]), ..base() }, ("cpus", "[]")),
            (ServerConfig { memory_mib: 0, ..base() }, ("memory_mib", "0")),
            (ServerConfig { log_requests: 0, ..base() }, ("log_requests", "0")),
            (
                ServerConfig { service: ServiceTime::Deterministic { mean_us: -3.0 }, ..base() },
                ("service.mean_us", "-3"),
            ),
            (
                ServerConfig { service: ServiceTime::Exponential { mean_us: f64::NAN }, ..base() },
                ("service.mean_us", "NaN"),
            ),
        ] {
            match config.validate().unwrap_err() {
                SynthError::Config { field: told, value, .. } => assert_eq!((told, value.as_str()), field),
                other => panic!("{other}"),
            }
        }
        let lost = ServerConfig { address: "nowhere".to_owned(), ..base() };
        assert!(matches!(lost.socket_address(), Err(SynthError::Config { field: "address", .. })));
    }
}
