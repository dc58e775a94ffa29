//! Checks of HTTP replies beyond their status code, as text: `body contains TEXT`.

use crate::error::{refuse, PlanError};

/// Most checks of one request.
pub const MOST_REPLY_CHECKS: usize = 8;
/// Longest text of a check, in bytes.
const LONGEST: usize = 1000;
/// The forms of a check, for errors.
const FORMS: &str = "`body contains TEXT`, `header NAME: VALUE`, `size<=BYTES` or `size>=BYTES`";
/// Suffixes of a number of bytes.
const UNITS: [(&str, u64); 4] = [("Ki", 1 << 10), ("Mi", 1 << 20), ("k", 1_000), ("M", 1_000_000)];

/// What a reply must satisfy, in addition to an accepted status code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyCheck {
    /// The body contains this text.
    Body(String),
    /// A header of this name has this value.
    Header {
        /// Its name, in any case.
        name: String,
        /// Its whole value.
        value: String,
    },
    /// The body has at least and at most this many bytes.
    Size(u64, u64),
}

impl ReplyCheck {
    /// Read a check.
    ///
    /// # Errors
    /// Describes the expected text.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST || text.chars().any(char::is_control) {
            return Err(format!("a single line of at most {LONGEST} bytes"));
        }
        if let Some(wanted) = text.strip_prefix("body contains ").filter(|wanted| !wanted.is_empty()) {
            return Ok(Self::Body(wanted.to_owned()));
        }
        if let Some((name, value)) = text.strip_prefix("header ").and_then(|header| header.split_once(':')) {
            let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
            if !name.is_empty() && name.bytes().all(is_token) {
                return Ok(Self::Header { name, value });
            }
        }
        let size = text.strip_prefix("size").map(str::trim_start);
        if let Some(most) = size.and_then(|size| size.strip_prefix("<=")).and_then(parse_bytes) {
            return Ok(Self::Size(0, most));
        }
        if let Some(least) = size.and_then(|size| size.strip_prefix(">=")).and_then(parse_bytes) {
            return Ok(Self::Size(least, u64::MAX));
        }
        Err(FORMS.to_owned())
    }
}

/// Read a number of bytes such as `10k` or `4Ki`.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let with_unit = UNITS.iter().find_map(|&(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    let (digits, factor) = with_unit.unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Check that all of `checks` can be parsed.
pub(super) fn check_replies(field: &str, checks: &[String]) -> Result<(), PlanError> {
    if checks.len() > MOST_REPLY_CHECKS {
        let must = format!("a list of at most {MOST_REPLY_CHECKS}");
        return Err(refuse(field.to_owned(), format!("a list of {}", checks.len()), must));
    }
    for (at, text) in checks.iter().enumerate() {
        ReplyCheck::parse(text)
            .map_err(|must| refuse(format!("{field}[{at}]"), format!("{text:?}"), must))?;
    }
    Ok(())
}

/// Whether `byte` may occur in a token (RFC 9110, 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_read_as_written() {
        let header = |name: &str, value: &str| ReplyCheck::Header { name: name.into(), value: value.into() };
        for (text, check) in [
            ("body contains \"ok\": true ", ReplyCheck::Body("\"ok\": true ".to_owned())),
            ("header Content-Type: text/html; a=b", header("Content-Type", "text/html; a=b")),
            ("header X-Empty:", header("X-Empty", "")),
            ("size<=10k", ReplyCheck::Size(0, 10_000)),
            ("size <= 4Ki", ReplyCheck::Size(0, 4096)),
            ("size>=1", ReplyCheck::Size(1, u64::MAX)),
        ] {
            assert_eq!(ReplyCheck::parse(text), Ok(check), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "body",
            "body contains ",
            "header X",
            "header a b: c",
            "size<10",
            "size<=k",
            "size<=-1",
            "size<=10kk",
            "size>=99999999999999999999",
            "body contains a\nb",
        ] {
            assert!(ReplyCheck::parse(text).is_err(), "{text:?}");
        }
    }
}
