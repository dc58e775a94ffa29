//! The configuration of a server: its address, its protocol and the clone document that it runs.

mod service;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use hindmost_clone::{Document, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SynthError;
pub use service::ServiceTime;

/// The configuration of a server. All fields are optional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Host and port to listen on; port 0 chooses a free one.
    pub address: String,
    /// Protocol to speak.
    pub protocol: Protocol,
    /// The server's behaviour: a clone document, which sets the number of threads.
    pub clone: Option<Document>,
    /// Without `clone`: number of server threads, each with a FCFS queue for its own connections.
    pub threads: u32,
    /// Without `clone`: service time of each request.
    pub service: ServiceTime,
    /// CPUs to pin to: thread `i` runs on `cpus[i % len]`. Absent: no pinning.
    pub cpus: Option<Vec<usize>>,
    /// What a thread does when no request waits.
    pub idle: Idle,
    /// The clock that measures service times.
    pub occupy: Occupy,
    /// Seed of all random draws. Equal seeds give equal requests.
    pub seed: u64,
    /// Limit of keys, values and their bookkeeping together, in MiB. Nothing is evicted: a set beyond the limit gets
    /// `SERVER_ERROR out of memory storing object`.
    pub memory_mib: usize,
    /// CSV file for the log of all requests, written when the server stops.
    pub log: Option<PathBuf>,
    /// Most requests in the log; each uses 64 bytes of memory per thread.
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

/// The protocol of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The text protocol of memcached, with a store.
    #[default]
    Memcached,
    /// HTTP/1.1: every path exists and returns two letters.
    Http,
}

/// What a thread does when no request waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Sleep in the kernel. This uses no CPU, but a request that finds the server idle waits for the wake-up.
    #[default]
    Block,
    /// Poll continuously: no wake-up delay, but one CPU is always busy.
    Spin,
}

/// The clock that measures service times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occupy {
    /// The wall clock: interference during a service does not prolong it.
    #[default]
    Wall,
    /// The thread's CPU clock: a service ends after the thread has used that much CPU time, like real work.
    Cpu,
}

const MAX_THREADS: u32 = 1_024;
const MAX_MEMORY_MIB: usize = 1 << 20;
const MAX_LOG: usize = 100_000_000;

impl ServerConfig {
    /// Check all fields. The error names the field and the value.
    pub fn validate(&self) -> Result<(), SynthError> {
        let refuse = |field, value: String, wanted| Err(SynthError::Config { field, value, wanted });
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return refuse("threads", self.threads.to_string(), "must be 1 to 1024");
        }
        if self.cpus.as_ref().is_some_and(Vec::is_empty) {
            return refuse("cpus", "[]".to_owned(), "must name at least one CPU or be omitted");
        }
        if !(1..=MAX_MEMORY_MIB).contains(&self.memory_mib) {
            return refuse("memory_mib", self.memory_mib.to_string(), "must be 1 to 1048576");
        }
        if !(1..=MAX_LOG).contains(&self.log_requests) {
            return refuse("log_requests", self.log_requests.to_string(), "must be 1 to 100000000");
        }
        self.service.validate()
    }

    /// Return the program that requests draw their behaviour from.
    pub(crate) fn program(&self) -> Result<Program, SynthError> {
        let document = self.clone.clone().unwrap_or_else(|| self.service.document(self.threads));
        Ok(Program::new(&document)?)
    }

    pub(crate) fn socket_address(&self) -> Result<SocketAddr, SynthError> {
        let unresolved = |_| SynthError::Config {
            field: "address",
            value: format!("{:?}", self.address),
            wanted: "must be a host and port that resolve on this machine, for example 127.0.0.1:0",
        };
        let mut addresses = self.address.to_socket_addrs().map_err(unresolved)?;
        addresses.next().ok_or_else(|| unresolved(std::io::ErrorKind::NotFound.into()))
    }

    pub(crate) fn cpu_of(&self, thread: usize) -> Option<usize> {
        self.cpus.as_ref().map(|cpus| cpus[thread % cpus.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_optional() {
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
    fn the_short_form_becomes_a_document() {
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
    fn invalid_fields_are_refused_with_name_and_value() {
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
                SynthError::Config { field: name, value, .. } => assert_eq!((name, value.as_str()), field),
                other => panic!("{other}"),
            }
        }
        let unresolved = ServerConfig { address: "nowhere".to_owned(), ..base() };
        assert!(matches!(unresolved.socket_address(), Err(SynthError::Config { field: "address", .. })));
    }
}
