//! Names of requests, from their first bytes: method and path, command, or first word of an SQL statement.

use crate::framing::{Framing, LengthField};

/// First bytes of a request, padded with zeros (`struct head`).
pub type Head = [u8; 64];

const SQL: [&str; 22] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CALL", "BEGIN", "START", "COMMIT", "ROLLBACK", "SET",
    "SHOW", "COPY", "EXECUTE", "PREPARE", "EXPLAIN", "CREATE", "ALTER", "DROP", "TRUNCATE", "VACUUM",
    "ANALYZE",
];

/// Return the name of a request; it is empty if the bytes do not contain it.
pub fn request_name(framing: Framing, head: &Head) -> String {
    let name = match framing {
        Framing::Exchange => None,
        Framing::Memcached => first_word(head),
        Framing::Http => method_and_path(head),
        Framing::Redis => command(head).map(|name| name.to_ascii_uppercase()),
        Framing::Length(field) => statement(head, field),
    };
    name.unwrap_or_default()
}

/// Split bytes at the first space or end of line.
fn split_word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(u8::is_ascii_whitespace)?;
    (end > 0).then(|| (&bytes[..end], &bytes[end + 1..]))
}

fn first_word(bytes: &[u8]) -> Option<String> {
    split_word(bytes).map(|(word, _)| text(word))
}

/// Return `GET /path` without the query. A path that does not fit ends with an ellipsis.
fn method_and_path(head: &Head) -> Option<String> {
    let (method, rest) = split_word(head.trim_ascii_start())?;
    let method = text(method);
    match rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'?') {
        Some(end) => Some(format!("{method} {}", text(&rest[..end]))),
        None if !rest.contains(&0) => Some(format!("{method} {}…", text(rest))),
        None => None,
    }
}

/// Return the first element of an array, or the first word of a line.
fn command(head: &Head) -> Option<String> {
    if head[0] != b'*' {
        return first_word(head);
    }
    let name = head.split(|byte| *byte == b'\n').nth(2)?;
    first_word(name)
}

/// Return the first word after the length field that begins an SQL statement.
fn statement(head: &Head, field: LengthField) -> Option<String> {
    let body = head.get((field.offset + field.width) as usize..)?;
    let mut words =
        body.split(|byte| !byte.is_ascii_alphabetic()).map(|word| text(word).to_ascii_uppercase());
    words.find(|word| SQL.contains(&word.as_str()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(framing: Framing, start: &[u8]) -> String {
        let mut head: Head = [0; 64];
        let length = start.len().min(64);
        head[..length].copy_from_slice(&start[..length]);
        request_name(framing, &head)
    }

    #[test]
    fn requests_are_named_by_their_protocol() {
        let sql = Framing::Length(LengthField { offset: 1, width: 4, little: false, more: -4 });
        for (framing, start, expected) in [
            (Framing::Http, "GET /users/7?a=b HTTP/1.1\r\n", "GET /users/7"),
            (Framing::Http, "\r\nPOST / HTTP/1.1\r\n", "POST /"),
            (Framing::Memcached, "get key\r\n", "get"),
            (Framing::Memcached, "version\r\n", "version"),
            (Framing::Redis, "*2\r\n$3\r\nget\r\n$1\r\na\r\n", "GET"),
            (Framing::Redis, "ping\r\n", "PING"),
            (sql, "Q\0\0\0\x19select 1 from updates\0", "SELECT"),
            (sql, "P\0\0\0\x19S_1\0UPDATE a SET b = 1\0", "UPDATE"),
            (sql, "X\0\0\0\x04", ""),
            (Framing::Exchange, "GET / HTTP/1.1\r\n", ""),
        ] {
            assert_eq!(name(framing, start.as_bytes()), expected, "{start:?}");
        }
    }

    #[test]
    fn a_name_that_is_cut_is_not_taken_for_a_whole_one() {
        for (framing, start) in [
            (Framing::Http, "GE"),
            (Framing::Http, "GET /us"),
            (Framing::Memcached, "ge"),
            (Framing::Redis, "*2\r\n$3\r\nGE"),
        ] {
            assert_eq!(name(framing, start.as_bytes()), "", "{start:?}");
        }
        let long = format!("GET /{}", "a".repeat(100));
        assert_eq!(name(Framing::Http, long.as_bytes()), format!("{}…", &long[..64]));
    }
}
