//! Templates with fields, such as `/users/{{int:1..1000}}`: parsing and its errors.

use std::fmt::Write;

use super::nearest::nearest;

/// Opening delimiter of a field.
const OPENS: &str = "{{";
const CLOSES: &str = "}}";
/// Longest text of one field, in bytes.
const MOST_BYTES: u32 = 1 << 20;
/// Names of fields, for messages.
const FIELDS: [&str; 7] = ["int", "hex", "uuid", "string", "sequence", "choice", "data"];
const ESCAPES: [&str; 3] = ["url", "json", "raw"];

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Fixed text.
    Literal(String),
    /// A field, which has another text in each request.
    Field(Field, Option<Escape>),
}

impl TemplatePart {
    /// Return the column of a field, unless its values are percent-encoded, which is safe anywhere.
    pub(super) fn bare_column(&self, usual: Escape) -> Option<usize> {
        match self {
            Self::Field(Field::Column(at), escape) if escape.unwrap_or(usual) != Escape::Url => Some(*at),
            _ => None,
        }
    }

    /// Return the number of texts that the field chooses from.
    pub(super) fn choices(&self) -> usize {
        match self {
            Self::Field(Field::Choice(texts), _) => texts.len(),
            _ => 1,
        }
    }

    /// Return the longest text of this part, where `value` returns the columns of a row and choices take index
    /// `choice`.
    pub(super) fn longest<'v>(
        &self,
        choice: usize,
        value: impl Fn(usize) -> &'v str,
        usual: Escape,
    ) -> String {
        let (field, escape) = match self {
            Self::Literal(text) => return text.clone(),
            Self::Field(field, escape) => (field, escape.unwrap_or(usual)),
        };
        match field {
            Field::Int(low, high) => {
                let (low, high) = (low.to_string(), high.to_string());
                if low.len() > high.len() {
                    low
                } else {
                    high
                }
            }
            Field::Hex(digits) | Field::Letters(_, digits) => "0".repeat(*digits as usize),
            Field::Uuid => "0".repeat(36),
            Field::Sequence(_) => u64::MAX.to_string(),
            Field::Choice(texts) => escape.apply(&texts[choice.min(texts.len() - 1)]),
            Field::Column(at) => escape.apply(value(*at)),
        }
    }
}

/// A field of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// `{{int:1..1000}}`: a uniform whole number, both ends included.
    Int(i64, i64),
    /// `{{hex:16}}`: this many hexadecimal digits.
    Hex(u32),
    /// `{{uuid}}`: a random UUID (RFC 9562, version 4).
    Uuid,
    /// `{{string:8}}`, `{{string:8..64}}`: this many letters and digits.
    Letters(u32, u32),
    /// `{{sequence}}`, `{{sequence:100}}`: the number of the request, counted from 0 or the given start. It is
    /// unique in a run except for retries.
    Sequence(u64),
    /// `{{choice:red|green|blue}}`: one of these, with equal probability.
    Choice(Vec<String>),
    /// `{{data.NAME}}`: this column, counted from 0, in the request's row of the data file.
    Column(usize),
}

/// How a field's text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// `{{data.NAME|url}}`: percent-encoded, as in paths (RFC 3986, 2.1).
    Url,
    /// `{{data.NAME|json}}`: escaped as in a JSON string.
    Json,
    /// `{{data.NAME|raw}}`: unchanged.
    Raw,
}

impl Escape {
    /// Return `text` with this escaping.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Raw => text.to_owned(),
            Self::Json => {
                let quoted = serde_json::Value::from(text).to_string();
                quoted[1..quoted.len() - 1].to_owned()
            }
            // "Unreserved" in RFC 3986, 2.3.
            Self::Url => text.bytes().fold(String::new(), |mut out, byte| {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    out.push(byte.into());
                } else {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "%{byte:02X}");
                }
                out
            }),
        }
    }
}

/// Parse a template. `{{{{` stands for two braces that open no field.
///
/// # Errors
/// The error states what is wrong and what is expected.
pub fn parts(text: &str, columns: Option<&[String]>) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPENS) {
        literal.push_str(&rest[..at]);
        rest = &rest[at + OPENS.len()..];
        if let Some(after) = rest.strip_prefix(OPENS) {
            literal.push_str(OPENS);
            rest = after;
            continue;
        }
        let end = rest.find(CLOSES).ok_or_else(|| {
            let start: String = rest.chars().take(20).collect();
            format!("closed: the field `{{{{{start}` has no `}}}}` (write `{{{{{{{{` for two braces)")
        })?;
        if !literal.is_empty() {
            parts.push(TemplatePart::Literal(std::mem::take(&mut literal)));
        }
        let (field, escape) = read(rest[..end].trim(), columns)?;
        parts.push(TemplatePart::Field(field, escape));
        rest = &rest[end + CLOSES.len()..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(TemplatePart::Literal(literal));
    }
    Ok(parts)
}

fn read(field: &str, columns: Option<&[String]>) -> Result<(Field, Option<Escape>), String> {
    if let Some(choices) = field.strip_prefix("choice:") {
        let choices: Vec<String> = choices.split('|').map(str::to_owned).collect();
        return Ok((Field::Choice(choices), None));
    }
    let (field, escape) = match field.split_once('|') {
        None => (field, None),
        Some((field, "url")) => (field, Some(Escape::Url)),
        Some((field, "json")) => (field, Some(Escape::Json)),
        Some((field, "raw")) => (field, Some(Escape::Raw)),
        Some((_, other)) => {
            return Err(format!(
                "made of known fields: `|{other}` is not an escape{}",
                nearest(other, &ESCAPES)
            ));
        }
    };
    if let Some(name) = field.strip_prefix("data.") {
        let columns = columns.ok_or_else(|| {
            format!("made of known fields: `{{{{data.{name}}}}}` needs the workload's `data`, a CSV file")
        })?;
        let at = columns.iter().position(|one| one == name).ok_or_else(|| {
            let near = nearest(name, &columns.iter().map(String::as_str).collect::<Vec<_>>());
            format!(
                "made of columns that the data file has: `{name}` is not one of its {}{near}",
                columns.len()
            )
        })?;
        return Ok((Field::Column(at), escape));
    }
    let (name, value) = field.split_once(':').map_or((field, None), |(name, value)| (name, Some(value)));
    let wanted =
        |form: &str| format!("made of known fields: `{{{{{field}}}}}` should be like `{{{{{form}}}}}`");
    let bytes = |text: &str| text.trim().parse().ok().filter(|n| (1..=MOST_BYTES).contains(n));
    let found = match (name, value) {
        ("int", Some(range)) => {
            let ends = range.split_once("..").and_then(|(low, high)| {
                Some((low.trim().parse::<i64>().ok()?, high.trim().parse::<i64>().ok()?))
            });
            let (low, high) = ends.filter(|(low, high)| low <= high).ok_or_else(|| wanted("int:1..1000"))?;
            Field::Int(low, high)
        }
        ("hex", Some(digits)) => Field::Hex(bytes(digits).ok_or_else(|| wanted("hex:16"))?),
        ("uuid", None) => Field::Uuid,
        ("string", Some(range)) => {
            let (low, high) = range.split_once("..").unwrap_or((range, range));
            let ends = bytes(low).zip(bytes(high)).filter(|(low, high)| low <= high);
            let (low, high) = ends.ok_or_else(|| wanted("string:8..64"))?;
            Field::Letters(low, high)
        }
        ("sequence", None) => Field::Sequence(0),
        ("sequence", Some(first)) => {
            Field::Sequence(first.trim().parse().map_err(|_| wanted("sequence:1000"))?)
        }
        ("int", None) => return Err(wanted("int:1..1000")),
        ("hex", None) => return Err(wanted("hex:16")),
        ("string", None) => return Err(wanted("string:8..64")),
        ("uuid", Some(_)) => return Err(wanted("uuid")),
        (other, _) => {
            return Err(format!(
                "made of known fields: `{{{{{other}}}}}` is not one of {}{}",
                FIELDS.join(", "),
                nearest(other, &FIELDS)
            ));
        }
    };
    Ok((found, escape))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[TemplatePart]) {
        let columns = ["name".to_owned(), "city".to_owned()];
        assert_eq!(parts(text, Some(&columns)).as_deref(), Ok(expected), "{text}");
    }

    fn literal(text: &str) -> TemplatePart {
        TemplatePart::Literal(text.to_owned())
    }

    #[test]
    fn every_field_is_parsed() {
        check("plain", &[literal("plain")]);
        check("", &[]);
        check(
            "/{{ int:-5..5 }}/x",
            &[literal("/"), TemplatePart::Field(Field::Int(-5, 5), None), literal("/x")],
        );
        check(
            "{{hex:4}}{{uuid}}",
            &[TemplatePart::Field(Field::Hex(4), None), TemplatePart::Field(Field::Uuid, None)],
        );
        check("{{string:3}}", &[TemplatePart::Field(Field::Letters(3, 3), None)]);
        check("{{string:3..9}}", &[TemplatePart::Field(Field::Letters(3, 9), None)]);
        check("{{sequence}}", &[TemplatePart::Field(Field::Sequence(0), None)]);
        check("{{sequence:7}}", &[TemplatePart::Field(Field::Sequence(7), None)]);
        check("{{choice:a|b}}", &[TemplatePart::Field(Field::Choice(vec!["a".into(), "b".into()]), None)]);
        check("{{data.city|url}}", &[TemplatePart::Field(Field::Column(1), Some(Escape::Url))]);
    }

    #[test]
    fn json_braces_are_literal_and_opening_braces_can_be_escaped() {
        check(r#"{"a":{"b":{}}}"#, &[literal(r#"{"a":{"b":{}}}"#)]);
        check("{{{{x}}", &[literal("{{x}}")]);
    }

    #[test]
    fn errors_state_what_is_expected() {
        for (text, told) in [
            ("{{int:5..1}}", "int:1..1000"),
            ("{{int}}", "int:1..1000"),
            ("{{itn:1..5}}", "did you mean int?"),
            ("{{hex:0}}", "hex:16"),
            ("{{string:9..3}}", "string:8..64"),
            ("{{string:9999999}}", "string:8..64"),
            ("{{uuid:4}}", "{{uuid}}"),
            ("{{sequence:x}}", "sequence:1000"),
            ("{{data.nmae}}", "did you mean name?"),
            ("{{data.name|jsn}}", "did you mean json?"),
            ("{{int:1..5", "has no `}}`"),
        ] {
            let columns = ["name".to_owned(), "city".to_owned()];
            let wrong = parts(text, Some(&columns)).unwrap_err();
            assert!(wrong.contains(told), "{text}: {wrong}");
        }
        assert!(parts("{{data.name}}", None).unwrap_err().contains("CSV"));
    }
}
