//! Servers that speak TLS only where they are asked to (PostgreSQL's SSLRequest): request, one byte, handshake.
//!
//! The answer is read alone, never with what stands behind it: whatever somebody puts there is no TLS record, and ends
//! the handshake in place of being taken for the server's first words (CVE-2021-23222).

use super::TlsProblem;

/// The bytes of a protocol's request, which its table has as Latin-1.
pub fn bytes(request: &str) -> Vec<u8> {
    request.chars().map(|one| u8::try_from(one).unwrap_or(b'?')).collect()
}

/// What the server's answer comes to.
pub fn granted(answer: u8) -> Result<(), TlsProblem> {
    match answer {
        b'S' => Ok(()),
        b'N' => Err(TlsProblem::Off),
        other => Err(TlsProblem::Unasked(other)),
    }
}

#[cfg(test)]
mod tests {
    use hindmost_plan::Protocol;

    use super::*;

    #[test]
    fn postgresqls_request_is_eight_bytes_with_the_code_of_its_manual() {
        let request = bytes(Protocol::Postgresql.entry().tls_request);
        assert_eq!(request, [8_u32.to_be_bytes(), 80_877_103_u32.to_be_bytes()].concat());
    }

    #[test]
    fn a_server_grants_tls_denies_it_or_says_something_else() {
        for (answer, problem) in [
            (b'S', None),
            (b'N', Some(TlsProblem::Off)),
            (b'E', Some(TlsProblem::Unasked(b'E'))),
            (0x15, Some(TlsProblem::Unasked(0x15))),
        ] {
            assert_eq!(granted(answer).err(), problem);
        }
    }
}
