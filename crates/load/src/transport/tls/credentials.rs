//! Certificates, keys and names, loaded before the first connection.

use std::sync::Arc;

use hindmost_plan::{Protocol, Tls};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, Error, InconsistentKeys, RootCertStore};

use super::problem::TlsProblem;
use super::request;
use super::tickets::Tickets;
use super::verifier::{AcceptAny, Verifier};

/// Everything that a client needs for TLS connections.
#[derive(Clone, Debug)]
pub struct Credentials {
    config: ClientConfig,
    name: ServerName<'static>,
    trusted: String,
    resumption: bool,
    request: Vec<u8>,
}

impl Credentials {
    /// Load the files of `tls` for a server of `protocol` at `address`.
    ///
    /// # Errors
    /// A file that cannot be used, or a key that does not match the certificate.
    pub fn load(tls: &Tls, address: &str, protocol: Protocol) -> Result<Self, TlsProblem> {
        let provider = Arc::new(ring::default_provider());
        let (verifier, trusted) = verifier(tls, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| TlsProblem::Session(e.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificates(certificate, "client certificate")?, private_key(key)?)
                .map_err(|e| mismatch(&e, certificate, key))?,
            _ => builder.with_no_client_auth(),
        };
        let spoken = protocol.entry();
        if !spoken.alpn.is_empty() {
            config.alpn_protocols = vec![spoken.alpn.into()];
        }
        let name = tls.sni.as_deref().unwrap_or_else(|| host(address));
        let name = ServerName::try_from(name.to_owned()).map_err(|_| TlsProblem::Name(name.to_owned()))?;
        let request = request::bytes(spoken.tls_request);
        Ok(Self { config, name, trusted, resumption: tls.resumption, request })
    }

    /// Return the configuration for a worker with `slots` connections, which share session tickets.
    pub(super) fn config(&self, slots: usize) -> Arc<ClientConfig> {
        let mut config = self.config.clone();
        config.resumption = if self.resumption {
            // A full handshake usually yields two tickets, and a ticket is used once.
            Resumption::store(Arc::new(Tickets::new(2 * slots)))
        } else {
            Resumption::disabled()
        };
        Arc::new(config)
    }

    /// Return the name that the server must prove.
    pub fn name(&self) -> &ServerName<'static> {
        &self.name
    }

    /// Return the bytes that request TLS before the handshake, or nothing.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Describe the trusted certificate authorities for messages.
    pub fn trusted_cas(&self) -> &str {
        &self.trusted
    }
}

/// Return the host of `HOST:PORT`, without an IPv6 address's brackets and zone.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.split('%').next().unwrap_or(host)
}

/// Create the verifier of the server's certificate. Also describe for messages which CAs it trusts.
fn verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<(Arc<dyn rustls::client::danger::ServerCertVerifier>, String), TlsProblem> {
    if !tls.verify {
        return Ok((Arc::new(AcceptAny(provider.clone())), "no CA (verification is off)".to_owned()));
    }
    let (trusted, called) = match &tls.ca {
        Some(path) => (certificates(path, "CA")?, format!("a CA in {path}")),
        None => (rustls_native_certs::load_native_certs().certs, "a CA that this host trusts".to_owned()),
    };
    let mut roots = RootCertStore::empty();
    let (_, unusable) = roots.add_parsable_certificates(trusted.iter().cloned());
    if roots.is_empty() {
        return Err(match &tls.ca {
            Some(path) => TlsProblem::File {
                what: "CA",
                path: path.clone(),
                reason: format!("none of its {unusable} certificates can be read"),
            },
            None => TlsProblem::NoRoots,
        });
    }
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|e| TlsProblem::Session(e.to_string()))?;
    Ok((Arc::new(Verifier::new(usual, trusted)), called))
}

fn read(path: &str, what: &'static str) -> Result<Vec<u8>, TlsProblem> {
    hindmost_sys::file::read_regular(path.as_ref()).map_err(|e| TlsProblem::File {
        what,
        path: path.to_owned(),
        reason: e.to_string(),
    })
}

fn certificates(path: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let text = read(path, what)?;
    let refused = |reason| TlsProblem::File { what, path: path.to_owned(), reason };
    let mut all = Vec::new();
    for one in CertificateDer::pem_slice_iter(&text) {
        all.push(one.map_err(|e| refused(format!("its certificate {}: {}", all.len() + 1, pem_reason(&e))))?);
    }
    if all.is_empty() {
        return Err(refused("it contains no `-----BEGIN CERTIFICATE-----`".to_owned()));
    }
    Ok(all)
}

fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, TlsProblem> {
    const WHAT: &str = "key";
    let text = read(path, WHAT)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|e| {
        let encrypted = text.windows(9).any(|piece| piece == b"ENCRYPTED");
        let reason = match e {
            pem::Error::NoItemsFound if encrypted => {
                format!("it is encrypted; openssl pkey -in {path} -out plain.key decrypts it")
            }
            pem::Error::NoItemsFound => "it contains no `-----BEGIN PRIVATE KEY-----`".to_owned(),
            other => pem_reason(&other),
        };
        TlsProblem::File { what: WHAT, path: path.to_owned(), reason }
    })
}

fn pem_reason(error: &pem::Error) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => format!("`{}` is missing", text(end_marker)),
        pem::Error::IllegalSectionStart { line } => format!("`{}` does not start a section", text(line)),
        pem::Error::Base64Decode(_) => "it contains invalid base64".to_owned(),
        other => other.to_string(),
    }
}

fn mismatch(error: &Error, certificate: &str, key: &str) -> TlsProblem {
    let (certificate, key) = (certificate.to_owned(), key.to_owned());
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            TlsProblem::KeyMismatch { certificate, key }
        }
        Error::InvalidCertificate(e) => {
            TlsProblem::File { what: "client certificate", path: certificate, reason: e.to_string() }
        }
        other => TlsProblem::File { what: "key", path: key, reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_host_whatever_its_spelling() {
        for (address, name) in
            [("a.example:443", "a.example"), ("127.0.0.1:1", "127.0.0.1"), ("[fe80::1%2]:1", "fe80::1")]
        {
            assert_eq!(host(address), name);
        }
    }
}
