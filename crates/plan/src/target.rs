//! Address, protocol and transport security of the server.

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
    /// Credentials, if the server requires them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    /// All servers if there are several, beginning with `address`. Connections are distributed over them in
    /// turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// How a request's server is chosen.
    #[serde(default)]
    pub sharding: Sharding,
    /// TLS of the connections; absent: no TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Local addresses that connections are made from, in turn; empty: the kernel chooses. Each address has
    /// about 28,000 ports towards one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<IpAddr>,
}

/// How a request's server is chosen. A server that dies is not replaced: its requests become errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharding {
    /// The next server in turn, whatever the request.
    #[default]
    RoundRobin,
    /// By the key's position on a circle of MD5 hashes, as libmemcached's weighted ketama does with equal
    /// weights.
    Ketama,
    /// By the key's one-at-a-time hash, libmemcached's default.
    Modulo,
}

/// More servers than one client would shard over in practice.
const MOST_ENDPOINTS: usize = 1_000;

impl Target {
    /// Return the addresses of all servers.
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
    /// CA certificates that may have signed the server's, or the server's own; absent: the CAs that this host
    /// trusts.
    #[serde(default)]
    pub ca: Option<String>,
    /// The client's certificate and its intermediate certificates.
    #[serde(default)]
    pub certificate: Option<String>,
    /// The private key of the client's certificate.
    #[serde(default)]
    pub key: Option<String>,
    /// The server name that is requested (SNI) and that the certificate must contain; absent: the target's
    /// host.
    #[serde(default)]
    pub sni: Option<String>,
    /// Whether new connections resume an earlier session if the server allows it.
    #[serde(default = "yes")]
    pub resumption: bool,
    /// Whether the server's certificate is verified.
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
    /// Check what the types cannot express.
    pub(crate) fn check_target(&self) -> Result<(), PlanError> {
        let target = &self.target;
        let unix = target.servers().iter().find_map(|address| address.strip_prefix("unix:"));
        if unix.is_some_and(|path| !path.starts_with('/')) {
            let must = "`unix:` and an absolute path";
            return Err(refuse("target.address", format!("`{}`", target.address), must));
        }
        if unix.is_some() && !target.source.is_empty() {
            return Err(refuse("target.source", "given", "omitted for a Unix socket"));
        }
        if let Some(twice) = find_duplicate(&target.source) {
            return Err(refuse("target.source", format!("{twice} twice"), "a list of different addresses"));
        }
        if target.login.is_some() && !target.protocol.logs_in() {
            let must = format!("omitted: {} has no login", target.protocol.entry().name);
            return Err(refuse("target.login", "given", must));
        }
        self.check_endpoints()?;
        let Some(tls) = &target.tls else { return Ok(()) };
        if self.io == Io::IoUring {
            return Err(refuse("io", "io_uring", "epoll with TLS"));
        }
        match (&tls.certificate, &tls.key) {
            (Some(_), None) => Err(refuse("target.tls.key", "missing", "the file of the certificate's key")),
            (None, Some(_)) => {
                Err(refuse("target.tls.certificate", "missing", "the file of the key's certificate"))
            }
            _ if unix.is_some() && tls.sni.is_none() => {
                let must = "the name in the server's certificate, because a Unix socket has no host name";
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
        if let Some(twice) = find_duplicate(endpoints) {
            return Err(refuse("target.endpoints", format!("{twice} twice"), "a list of different servers"));
        }
        let (each, servers) = (self.connections / self.threads.len() as u32, endpoints.len() as u32);
        if each < servers {
            let must = format!("at least one for each of {servers} servers in every thread");
            return Err(refuse("connections", self.connections, must));
        }
        if matches!(self.load, Load::Closed { .. }) {
            return Err(refuse("load.loop", "closed", "open with several servers"));
        }
        if self.in_flight.is_some() {
            return Err(refuse("in_flight", "given", "omitted with several servers"));
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

fn find_duplicate<T: PartialEq>(all: &[T]) -> Option<&T> {
    all.iter().enumerate().find(|(at, one)| all[..*at].contains(one)).map(|(_, one)| one)
}
