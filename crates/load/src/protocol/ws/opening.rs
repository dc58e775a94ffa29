//! The upgrade of a connection to WebSocket (RFC 6455, 4.1).

use base64::prelude::{Engine as _, BASE64_STANDARD};
use hindmost_plan::{Messages, Plan};
use hindmost_random::mix;
use ring::digest::{digest, SHA1_FOR_LEGACY_USE_ONLY};

use super::super::{quote, Opening, Refusal};

/// Constant by which a server proves that it read the key (RFC 6455, 1.3).
const GUID: &[u8; 36] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The start of a successful answer.
const SWITCHING: &[u8] = b"HTTP/1.1 101";

pub type Key = [u8; 24];
pub type Accept = [u8; 28];

/// Return the opening request for `path`, up to the key.
pub fn request(path: &str, messages: &Messages, plan: &Plan) -> Vec<u8> {
    let host = messages.host.as_deref().unwrap_or(&plan.target.address);
    let mut lines = vec![format!("GET {path} HTTP/1.1"), format!("Host: {host}")];
    lines.extend(messages.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.extend(
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"].map(str::to_owned),
    );
    lines.push("Sec-WebSocket-Key: ".to_owned());
    lines.join("\r\n").into_bytes()
}

/// Return a key unique to the connection: 16 bytes in base64.
pub fn key(seed: u64, number: u64) -> Key {
    let mut nonce = [0; 16];
    for (place, word) in nonce.chunks_exact_mut(8).zip([mix(seed ^ number), mix(!seed ^ number)]) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    let mut key = [0; 24];
    let written = BASE64_STANDARD.encode_slice(nonce, &mut key);
    debug_assert_eq!(written, Ok(key.len()));
    key
}

/// Return the server's expected answer to a key.
pub fn accept_for(key: &Key) -> Accept {
    let mut joined = [0; 60];
    joined[..key.len()].copy_from_slice(key);
    joined[key.len()..].copy_from_slice(GUID);
    let mut accept = [0; 28];
    let written =
        BASE64_STANDARD.encode_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, &joined).as_ref(), &mut accept);
    debug_assert_eq!(written, Ok(accept.len()));
    accept
}

/// Parse the server's answer to the opening.
///
/// # Errors
/// [`Refusal`] if the server opens no WebSocket, or one with unrequested extensions.
pub fn parse_answer(accept: &Accept, bytes: &[u8]) -> Result<Opening, Refusal> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let known = bytes.len() >= SWITCHING.len() && !bytes.starts_with(SWITCHING) && bytes.contains(&b'\n');
        return if known { Err(no_websocket(bytes)) } else { Ok(Opening::More) };
    };
    if !bytes.starts_with(SWITCHING) {
        return Err(no_websocket(bytes));
    }
    let value = |name: &str| {
        bytes[..end].split(|&b| b == b'\n').skip(1).find_map(|line| {
            let colon = line.iter().position(|&b| b == b':')?;
            line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
        })
    };
    if value("sec-websocket-accept") != Some(&accept[..]) {
        return Err(Refusal::Protocol("its Sec-WebSocket-Accept does not match our key".to_owned()));
    }
    if value("sec-websocket-extensions").is_some_and(|asked| !asked.is_empty()) {
        return Err(Refusal::Protocol(
            "it uses extensions that were not requested (Sec-WebSocket-Extensions)".to_owned(),
        ));
    }
    Ok(Opening::Done(end + 4))
}

/// Build the refusal for an ordinary HTTP reply, or for another protocol.
fn no_websocket(bytes: &[u8]) -> Refusal {
    if !bytes.starts_with(b"HTTP/") {
        return Refusal::Protocol(quote("it does not speak WebSocket, but answers", bytes));
    }
    let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
    Refusal::Request(String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_value_matches_the_rfc() {
        // RFC 6455, 1.3.
        assert_eq!(&accept_for(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
