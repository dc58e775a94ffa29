use std::fmt;

use thiserror::Error;

/// Name of a series of intervals in a log, such as `latency/get`. It is not empty and has no comma, space or line
/// break, which have another meaning in the format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

/// The reason why a text is not a valid [`Tag`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TagError {
    /// Other readers treat an empty tag as a missing one.
    #[error("a tag of an .hlog interval cannot be empty")]
    Empty,
    /// A character that ends the tag or the line.
    #[error("tag {tag:?} contains {forbidden:?}, which is not allowed in an .hlog tag")]
    Forbidden {
        /// The text.
        tag: String,
        /// The first character that is not allowed.
        forbidden: char,
    },
}

impl Tag {
    /// Create the tag `name`.
    pub fn new(name: impl Into<String>) -> Result<Self, TagError> {
        let tag = name.into();
        if tag.is_empty() {
            return Err(TagError::Empty);
        }
        let forbidden = |c: &char| *c == ',' || c.is_whitespace() || c.is_control();
        match tag.chars().find(forbidden) {
            Some(forbidden) => Err(TagError::Forbidden { tag, forbidden }),
            None => Ok(Self(tag)),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_letters_of_any_script_are_allowed() {
        for name in ["latency/get", "send_delay", "größe=1"] {
            assert_eq!(Tag::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn characters_that_break_a_line_are_refused_and_named() {
        for (name, forbidden) in [("a,b", ','), ("a b", ' '), ("a\nb", '\n'), ("\ra", '\r'), ("a\0", '\0')] {
            let tag = name.to_owned();
            assert_eq!(Tag::new(name), Err(TagError::Forbidden { tag, forbidden }));
        }
        assert_eq!(Tag::new(""), Err(TagError::Empty));
    }
}
