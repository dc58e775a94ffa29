use std::path::Path;

use super::certificates::Certificates;
use crate::common::ServerProcess;

impl ServerProcess {
    /// Start nginx with TLS and additional `directives`.
    pub fn nginx_tls(keepalive: u32, certificates: &Certificates, directives: &str) -> Option<Self> {
        let (certificate, key) = (certificates.file("server.pem"), certificates.file("server.key"));
        let files = format!("ssl_certificate {certificate}; ssl_certificate_key {key};");
        Self::nginx_with(keepalive, "ssl", &format!("{files} {directives}"))
    }

    pub fn memcached_tls(certificates: &Certificates) -> Option<Self> {
        let files = |folder: &Path| {
            // memcached drops root privileges before it reads its files.
            for name in ["server.pem", "server.key"] {
                let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
                std::fs::copy(certificates.file(name), folder.join(name)).unwrap();
                std::fs::set_permissions(folder.join(name), readable).unwrap();
            }
            let at = |name: &str| folder.join(name).display().to_string();
            format!("ssl_chain_cert={},ssl_key={}", at("server.pem"), at("server.key"))
        };
        Self::start("memcached", |port, folder| {
            ["-Z", "-o", &files(folder), "-p", port, "-U", "0", "-l", "127.0.0.1", "-u", "nobody", "-t", "1"]
                .map(str::to_owned)
                .to_vec()
        })
    }

    /// Start a Redis server that requires client certificates.
    pub fn redis_tls(certificates: &Certificates) -> Option<Self> {
        let (ca, certificate) = (certificates.file("ca.pem"), certificates.file("server.pem"));
        let key = certificates.file("server.key");
        Self::start("redis-server", |port, folder| {
            let folder = folder.to_str().unwrap();
            let tls = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
            let usual =
                ["--port", "0", "--tls-port", port, "--save", "", "--appendonly", "no", "--dir", folder];
            usual.iter().chain(&tls).map(|&one| one.to_owned()).collect()
        })
    }
}
