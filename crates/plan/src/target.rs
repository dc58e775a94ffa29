//! Where the server listens, what it speaks, and how the connection to it is secured.

use std::net::IpAddr;

use hindmost_wire::Protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{refuse, PlanError};
use crate::{Io, Load, Login, Plan, Workload};

/// The server under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The protocol spoken.
    pub protocol: Protocol,
    /// `HOST:PORT`, `[ADDRESS]:PORT` for IPv6, or `unix:/PATH` for a Unix socket.
    pub address: String,
    /// Who the client is, where the server asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    /// All servers where there are several, the first of which is `address`: connections lead to them in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// Which of several servers a request goes to.
    #[serde(default)]
    pub sharding: Sharding,
    /// How connections are secured; absent: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Addresses of this host that connections are made from, in turn; empty: the kernel chooses. Each has some 28,000
    /// ports towards one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<IpAddr>,
}

/// Which of several servers a request goes to. One that dies is not replaced: its requests are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharding {
    /// The next one, whatever is asked.
    #[default]
    RoundRobin,
    /// By its key on a circle of MD5, as libmemcached's weighted ketama does with equal weights.
    Ketama,
    /// By its key's one-at-a-time hash, as libmemcached does unless told otherwise.
    Modulo,
}

/// More servers than anybody shards over from one client.
const MOST_ENDPOINTS: usize = 1_000;

impl Target {
    /// Where servers listen: one, or all.
    pub fn servers(&self) -> &[String] {
        if self.endpoints.is_empty() {
            std::slice::from_ref(&self.address)
        } else {
            &self.endpoints
        }
    }
}

/// How connections are secured. Files are PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificates of those who may have signed the server's, or the server's own; absent: those that this host trusts.
    #[serde(default)]
    pub ca: Option<String>,
    /// The client's certificate, and those that lead to its CA.
    #[serde(default)]
    pub certificate: Option<String>,
    /// The private key of the client's certificate.
    #[serde(default)]
    pub key: Option<String>,
    /// The name that the server is asked for and its certificate must hold; absent: the target's host.
    #[serde(default)]
    pub sni: Option<String>,
    /// Connections that are made again take up an earlier session, where the server lets them.
    #[serde(default = "yes")]
    pub resumption: bool,
    /// The server's certificate is verified.
    #[serde(default = "yes")]
    pub verify: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Self { ca: None, certificate: None, key: None, sni: None, resumption: true, verify: true }
    }
}

fn yes() -> bool {
    true
}

impl Plan {
    /// Checks what the types cannot.
    pub(crate) fn check_target(&self) -> Result<(), PlanError> {
        let target = &self.target;
        let unix = target.servers().iter().find_map(|address| address.strip_prefix("unix:"));
        if unix.is_some_and(|path| !path.starts_with('/')) {
            let must = "`unix:` and an absolute path";
            return Err(refuse("target.address", format!("`{}`", target.address), must));
        }
        if unix.is_some() && !target.source.is_empty() {
            return Err(refuse("target.source", "given", "left out for a Unix socket"));
        }
        if let Some(twice) = repeated(&target.source) {
            return Err(refuse("target.source", format!("{twice} twice"), "a list of different addresses"));
        }
        if target.login.is_some() && !target.protocol.logs_in() {
            let must = format!("left out: {} does not ask who the client is", target.protocol.entry().name);
            return Err(refuse("target.login", "given", must));
        }
        self.check_endpoints()?;
        let Some(tls) = &target.tls else { return Ok(()) };
        if self.io == Io::IoUring {
            return Err(refuse("io", "io_uring", "epoll where connections are secured by TLS"));
        }
        match (&tls.certificate, &tls.key) {
            (Some(_), None) => Err(refuse("target.tls.key", "missing", "the file of the certificate's key")),
            (None, Some(_)) => {
                Err(refuse("target.tls.certificate", "missing", "the file of the key's certificate"))
            }
            _ if unix.is_some() && tls.sni.is_none() => {
                let must = "the name in the server's certificate, since a Unix socket has none";
                Err(refuse("target.tls.sni", "missing", must))
            }
            _ => Ok(()),
        }
    }
}

impl Plan {
    fn check_endpoints(&self) -> Result<(), PlanError> {
        let Target { endpoints, address, sharding, .. } = &self.target;
        if endpoints.is_empty() {
            return Ok(());
        }
        if endpoints.len() > MOST_ENDPOINTS || endpoints.first() != Some(address) {
            let value = format!("a list of {}", endpoints.len());
            let must = format!("a list of {MOST_ENDPOINTS} servers at most that begins with target.address");
            return Err(refuse("target.endpoints", value, must));
        }
        if let Some(twice) = repeated(endpoints) {
            return Err(refuse("target.endpoints", format!("{twice} twice"), "a list of different servers"));
        }
        let (each, servers) = (self.connections / self.threads.len() as u32, endpoints.len() as u32);
        if each < servers {
            let must = format!("at least one for each of {servers} servers in every thread");
            return Err(refuse("connections", self.connections, must));
        }
        if matches!(self.load, Load::Closed { .. }) {
            return Err(refuse("load.loop", "closed", "open where there are several servers"));
        }
        if self.in_flight.is_some() {
            return Err(refuse("in_flight", "given", "left out where there are several servers"));
        }
        match self.workload {
            Workload::KeyValue(_) => Ok(()),
            _ if *sharding == Sharding::RoundRobin => Ok(()),
            _ => {
                let name = if *sharding == Sharding::Ketama { "ketama" } else { "modulo" };
                Err(refuse("target.sharding", name, "round-robin for requests without keys"))
            }
        }
    }
}

fn repeated<T: PartialEq>(all: &[T]) -> Option<&T> {
    all.iter().enumerate().find(|(at, one)| all[..*at].contains(one)).map(|(_, one)| one)
}
