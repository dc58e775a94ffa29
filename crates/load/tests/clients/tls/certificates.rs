use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::common::Folder;

/// Files of a CA (`ca.pem`) and the certificates it issued: for a server (`server.pem`, `server.key`) and a
/// client (`client.pem`, `client.key`).
pub struct Certificates(Folder);

impl Certificates {
    /// Create a server certificate for `names`, valid for a day.
    pub fn issue(names: &[&str]) -> Self {
        Self::until(names, SystemTime::now() + Duration::from_secs(86_400))
    }

    /// Create an expired server certificate.
    pub fn issue_expired(names: &[&str]) -> Self {
        Self::until(names, SystemTime::now() - Duration::from_secs(60))
    }

    /// Create a self-signed server certificate that is also a CA, as `openssl req -x509` does.
    pub fn own_ca(names: &[&str]) -> Self {
        let made = Self(Folder::new());
        let names: Vec<String> = names.iter().map(|&one| one.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        made.write("server.pem", &params.self_signed(&key).unwrap().pem());
        made.write("server.key", &key.serialize_pem());
        made
    }

    fn until(names: &[&str], until: SystemTime) -> Self {
        let made = Self(Folder::new());
        let now = SystemTime::now();
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "a CA for tests");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        made.write("ca.pem", &authority.self_signed(&key).unwrap().pem());
        let issuer = Issuer::new(authority, key);
        for (name, holds) in [("server", names), ("client", &["a client"][..])] {
            let names: Vec<String> = holds.iter().map(|&one| one.to_owned()).collect();
            let mut params = CertificateParams::new(names).unwrap();
            params.not_before = (now - Duration::from_secs(3_600)).into();
            params.not_after = until.into();
            let key = KeyPair::generate().unwrap();
            made.write(&format!("{name}.pem"), &params.signed_by(&key, &issuer).unwrap().pem());
            made.write(&format!("{name}.key"), &key.serialize_pem());
        }
        made
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}
