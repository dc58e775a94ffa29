//! What goes wrong with TLS, in words: whose certificate, which name, which CA, and why.

use std::io;

use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use thiserror::Error as Described;

/// Why a connection cannot be secured.
#[derive(Clone, Debug, Described, PartialEq, Eq)]
pub enum TlsProblem {
    /// A file is no use.
    #[error("the {what} file {path} cannot be used: {reason}")]
    File {
        /// What it should hold.
        what: &'static str,
        /// As it was given.
        path: String,
        /// Why.
        reason: String,
    },
    /// The two do not belong together.
    #[error("the key in {key} is not that of the certificate in {certificate}")]
    KeyOfAnother {
        /// The certificate's file.
        certificate: String,
        /// The key's.
        key: String,
    },
    /// Neither a host name nor an address.
    #[error("`{0}` is no name that a server's certificate can hold")]
    Name(String),
    /// Nobody is trusted here.
    #[error("this host has no certificates of CAs that it trusts")]
    NoRoots,
    /// The server's certificate cannot be verified.
    #[error("the certificate of `{name}` cannot be verified: {reason}")]
    Certificate {
        /// Who the server should be.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The server says something that is no TLS.
    #[error("the server does not speak TLS: it answered {0:?}")]
    Plain(String),
    /// The server has TLS, but not here or not now.
    #[error("the server does not speak TLS here: it answered `N` (no) to the request for it")]
    Off,
    /// The server has never heard of the request for TLS.
    #[error(
        "the server answered the request for TLS with byte {0:#04x}, and not with `S` (yes) or `N` (no)"
    )]
    Unasked(u8),
    /// The server hangs up instead of answering.
    #[error("the server closed the connection in the TLS handshake")]
    HungUp,
    /// The server says nothing.
    #[error("the server took the connection and said nothing in the TLS handshake")]
    Silent,
    /// No version of the protocol that both speak.
    #[error("the server speaks neither TLS 1.2 nor TLS 1.3 with a cipher of ours: {0}")]
    Version(String),
    /// The server refuses us.
    #[error("the server ended the TLS handshake: {0}")]
    Refused(String),
    /// A record longer than any may be.
    #[error("the server sent a TLS record that is too long")]
    TooLong,
    /// Anything else.
    #[error("TLS failed: {0}")]
    Session(String),
}

impl TlsProblem {
    /// A name that programs can rely on.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::KeyOfAnother { .. } | Self::Name(_) | Self::NoRoots => "tls-file",
            Self::Certificate { .. } => "tls-certificate",
            Self::Plain(_) | Self::Unasked(_) => "tls-plain",
            Self::Off => "tls-off",
            Self::Version(_) => "tls-version",
            Self::HungUp | Self::Silent | Self::Refused(_) => "tls-refused",
            Self::TooLong | Self::Session(_) => "tls",
        }
    }

    /// Why a connection ended that was secured.
    #[allow(clippy::needless_pass_by_value)] // as map_err hands it over
    pub(super) fn of_session(error: Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Refused(said(alert)),
            other => Self::Session(other.to_string()),
        }
    }

    /// A reset before the first word of the server ends the handshake: its alert is lost where it had not read everything.
    pub(super) fn of_silence(error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::HungUp.into(),
            _ => error,
        }
    }

    /// Why a handshake failed; `heard` are the server's last words, `trusted` those who may have signed.
    pub(super) fn of_handshake(error: &Error, heard: &[u8], name: &ServerName<'_>, trusted: &str) -> Self {
        match error {
            Error::InvalidCertificate(reason) => {
                Self::Certificate { name: name.to_str().into_owned(), reason: why(reason, trusted) }
            }
            Error::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => {
                Self::Version(said_by(error))
            }
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::Version(error.to_string()),
            Error::AlertReceived(alert) => Self::Refused(said(*alert)),
            // Records begin with a type from 20 to 24 (RFC 8446, 5.1).
            Error::InvalidMessage(_) if heard.first().is_some_and(|byte| !(20..=24).contains(byte)) => {
                let line = heard.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or(heard);
                Self::Plain(String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned())
            }
            other => Self::Session(other.to_string()),
        }
    }
}

impl From<TlsProblem> for io::Error {
    fn from(problem: TlsProblem) -> Self {
        Self::new(io::ErrorKind::InvalidData, problem)
    }
}

fn said_by(error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => said(*alert),
        other => other.to_string(),
    }
}

/// An alert in words.
fn said(alert: AlertDescription) -> String {
    let meaning = match alert {
        AlertDescription::CertificateRequired => "it asks for a client certificate",
        AlertDescription::BadCertificate => "it does not accept the client's certificate",
        AlertDescription::CertificateExpired => "the client's certificate has expired",
        AlertDescription::UnknownCA => "it does not know the CA of the client's certificate",
        AlertDescription::UnrecognisedName => "it does not serve a host of this name",
        AlertDescription::NoApplicationProtocol => "it does not speak this protocol over TLS",
        _ => return format!("its alert is {alert:?}"),
    };
    format!("{meaning} (its alert is {alert:?})")
}

fn why(reason: &CertificateError, trusted: &str) -> String {
    match reason {
        CertificateError::UnknownIssuer => format!("it was not issued by {trusted}"),
        CertificateError::BadSignature => {
            format!("it was not issued by {trusted}, where one of the same name has another key")
        }
        CertificateError::ExpiredContext { time, not_after } => {
            format!("it expired {} ago", ago(*not_after, *time))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!("it becomes valid in {}; is this host's clock right?", ago(*time, *not_before))
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "it holds no names (subjectAltName)".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|one| bare(one)).collect();
            format!("it is for {}", names.join(", "))
        }
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("it is a CA's own, and not {trusted}")
        }
        other => other.to_string(),
    }
}

/// `x` of `DnsName("x")` and `IpAddress(x)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

/// A span as people say it.
fn ago(from: UnixTime, to: UnixTime) -> String {
    let seconds = to.as_secs().saturating_sub(from.as_secs());
    match seconds {
        0..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
