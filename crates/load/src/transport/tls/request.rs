//! Servers that start TLS only on request (PostgreSQL's SSLRequest): request, one byte, handshake.
//!
//! The answer is read alone, never with the bytes after it. Injected bytes are then parsed as a TLS record
//! and end the handshake, instead of being taken for the server's first message (CVE-2021-23222).

use super::problem::TlsProblem;

/// Return the bytes of a protocol's request, which the table stores as Latin-1.
pub fn bytes(request: &str) -> Vec<u8> {
    request.chars().map(|one| u8::try_from(one).unwrap_or(b'?')).collect()
}

/// Check the server's answer to the request.
pub fn check_answer(answer: u8) -> Result<(), TlsProblem> {
    match answer {
        b'S' => Ok(()),
        b'N' => Err(TlsProblem::Off),
        other => Err(TlsProblem::UnexpectedAnswer(other)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use hindmost_clock::Nanos;
    use hindmost_plan::Protocol;

    use super::*;
    use crate::engine::tests::fake::{Answer, Fake};
    use crate::engine::tests::MS;
    use crate::transport::tls::{Credentials, Tls};
    use crate::transport::Transport;

    #[test]
    fn a_request_blocked_by_a_full_socket_is_sent_once_there_is_space() {
        let tls = serde_json::from_value(serde_json::json!({"verify": false})).unwrap();
        let credentials = Credentials::load(&tls, "127.0.0.1:1", Protocol::Postgresql).unwrap();
        let mut fake = Fake::new(1, 0);
        fake.framing = |bytes| (bytes.len() >= 8).then(|| bytes.drain(..8).collect());
        fake.behaviour = Box::new(|_, _| Answer::after(MS / 10, b"N"));
        fake.full = 0..MS;
        let mut transport = Tls::new(fake, &[credentials], 1);
        let (mut ready, mut last) = (Vec::new(), ErrorKind::WouldBlock);
        transport.connect(0).unwrap();
        while last == ErrorKind::WouldBlock {
            transport.wait(Nanos(MS), true, &mut ready).unwrap();
            assert!(!ready.is_empty(), "the handshake hangs");
            last = transport.finish_connect(0).unwrap_err().kind();
        }
        let wire = &transport.inner.wire;
        assert_eq!(wire.len(), 1);
        assert!(wire[0].at_ns >= MS && wire[0].bytes == bytes(Protocol::Postgresql.entry().tls_request));
    }

    #[test]
    fn postgresqls_ssl_request_has_eight_bytes() {
        let request = bytes(Protocol::Postgresql.entry().tls_request);
        assert_eq!(request, [8_u32.to_be_bytes(), 80_877_103_u32.to_be_bytes()].concat());
    }

    #[test]
    fn a_server_grants_tls_denies_it_or_sends_another_byte() {
        for (answer, problem) in [
            (b'S', None),
            (b'N', Some(TlsProblem::Off)),
            (b'E', Some(TlsProblem::UnexpectedAnswer(b'E'))),
            (0x15, Some(TlsProblem::UnexpectedAnswer(0x15))),
        ] {
            assert_eq!(check_answer(answer).err(), problem);
        }
    }
}
