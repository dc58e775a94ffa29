//! TLS problems and their texts: which certificate, name or CA is affected, and why.

use std::io;

use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use thiserror::Error as Described;

/// Why a TLS connection failed.
#[derive(Clone, Debug, Described, PartialEq, Eq)]
pub enum TlsProblem {
    /// A file cannot be used.
    #[error("the {what} file {path} cannot be used: {reason}")]
    File {
        /// Kind of the file.
        what: &'static str,
        /// The path as given.
        path: String,
        /// The cause.
        reason: String,
    },
    /// Key and certificate do not match.
    #[error("the key in {key} does not match the certificate in {certificate}")]
    KeyMismatch {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
    },
    /// The name is neither a host name nor an address.
    #[error("`{0}` is not a valid host name or address for a certificate")]
    Name(String),
    /// The host has no trusted CAs.
    #[error("this host has no trusted CA certificates")]
    NoRoots,
    /// The server's certificate cannot be verified.
    #[error("the certificate of `{name}` cannot be verified: {reason}")]
    Certificate {
        /// The expected name of the server.
        name: String,
        /// The cause.
        reason: String,
    },
    /// The server sent something other than TLS.
    #[error("the server does not speak TLS: it answered {0:?}")]
    Plain(String),
    /// The server supports TLS, but not here or not now.
    #[error("the server does not speak TLS here: it answered the request for TLS with `N` (no)")]
    Off,
    /// The server does not know the request for TLS.
    #[error("the server answered the request for TLS with byte {0:#04x} instead of `S` (yes) or `N` (no)")]
    UnexpectedAnswer(u8),
    /// The server closed the connection instead of answering.
    #[error("the server closed the connection during the TLS handshake")]
    HungUp,
    /// The server did not answer.
    #[error("the server accepted the connection but sent nothing in the TLS handshake")]
    Silent,
    /// No common protocol version or cipher.
    #[error("the server supports no common cipher with TLS 1.2 or TLS 1.3: {0}")]
    Version(String),
    /// The server refused the client.
    #[error("the server ended the TLS handshake: {0}")]
    Refused(String),
    /// A record exceeds the size limit.
    #[error("the server sent a TLS record that is too long")]
    TooLong,
    /// Any other problem.
    #[error("TLS failed: {0}")]
    Session(String),
}

impl TlsProblem {
    /// Return the stable code of the problem.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::KeyMismatch { .. } | Self::Name(_) | Self::NoRoots => "tls-file",
            Self::Certificate { .. } => "tls-certificate",
            Self::Plain(_) | Self::UnexpectedAnswer(_) => "tls-plain",
            Self::Off => "tls-off",
            Self::Version(_) => "tls-version",
            Self::HungUp | Self::Silent | Self::Refused(_) => "tls-refused",
            Self::TooLong | Self::Session(_) => "tls",
        }
    }

    /// Explain why an established TLS connection ended.
    #[allow(clippy::needless_pass_by_value)] // required by map_err
    pub(super) fn from_session_error(error: Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Refused(alert_text(alert)),
            other => Self::Session(other.to_string()),
        }
    }

    /// Treat a reset before the server's first message as the end of the handshake: its alert is lost if the
    /// server had not read everything.
    pub(super) fn from_io_error(error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::HungUp.into(),
            _ => error,
        }
    }

    /// Explain why a handshake failed. `heard`: the server's last bytes. `trusted`: description of the
    /// trusted CAs.
    pub(super) fn from_handshake_error(
        error: &Error,
        heard: &[u8],
        name: &ServerName<'_>,
        trusted: &str,
    ) -> Self {
        match error {
            Error::InvalidCertificate(reason) => Self::Certificate {
                name: name.to_str().into_owned(),
                reason: certificate_reason(reason, trusted),
            },
            Error::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => {
                Self::Version(error_text(error))
            }
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::Version(error.to_string()),
            Error::AlertReceived(alert) => Self::Refused(alert_text(*alert)),
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

fn error_text(error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => alert_text(*alert),
        other => other.to_string(),
    }
}

/// Describe an alert.
fn alert_text(alert: AlertDescription) -> String {
    let meaning = match alert {
        AlertDescription::CertificateRequired => "it requires a client certificate",
        AlertDescription::BadCertificate => "it does not accept the client's certificate",
        AlertDescription::CertificateExpired => "the client's certificate has expired",
        AlertDescription::UnknownCA => "it does not trust the CA of the client's certificate",
        AlertDescription::UnrecognisedName => "it does not serve a host of this name",
        AlertDescription::NoApplicationProtocol => "it does not speak this protocol over TLS",
        _ => return format!("alert {alert:?}"),
    };
    format!("{meaning} (alert {alert:?})")
}

fn certificate_reason(reason: &CertificateError, trusted: &str) -> String {
    match reason {
        CertificateError::UnknownIssuer => format!("it was not issued by {trusted}"),
        CertificateError::BadSignature => {
            format!("it was not issued by {trusted}; a CA of the same name has another key")
        }
        CertificateError::ExpiredContext { time, not_after } => {
            format!("it expired {} ago", format_duration(*not_after, *time))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!(
                "it becomes valid in {}; is this host's clock right?",
                format_duration(*time, *not_before)
            )
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "it contains no names (subjectAltName)".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|one| bare(one)).collect();
            format!("it is for {}", names.join(", "))
        }
        CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            format!("it is a CA certificate, but not {trusted}")
        }
        other => other.to_string(),
    }
}

/// Return `x` of `DnsName("x")` and `IpAddress(x)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

/// Format a duration for people.
fn format_duration(from: UnixTime, to: UnixTime) -> String {
    let seconds = to.as_secs().saturating_sub(from.as_secs());
    match seconds {
        0..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
