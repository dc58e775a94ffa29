//! Templates, compiled once. Their output depends only on the seed and the request's number, so a resent
//! request has the same bytes. Writing does not allocate.

use std::io::Write;
use std::sync::Arc;

use hindmost_plan::{parts, Data, Escape, Field, TemplatePart};

use super::values::Values;

const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// Random words reserved for each field. Each field has its own purposes.
const WORDS: u32 = 1 << 17;

/// A text with fields.
#[derive(Clone, Debug, Default)]
pub struct Template {
    pieces: Vec<Piece>,
    /// Number of fields so far, over all templates of a request.
    fields: u32,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(Vec<u8>),
    Int { low: i64, span: u64, purpose: u32 },
    Hex { digits: u32, purpose: u32 },
    Uuid { purpose: u32 },
    Letters { low: u32, high: u32, purpose: u32 },
    Sequence { first: u64 },
    Choice { texts: Arc<[Vec<u8>]>, purpose: u32 },
    Column { values: Arc<[Vec<u8>]> },
}

impl Template {
    /// Create an empty template whose fields follow those of `other`, so that the fields of a request are
    /// independent.
    #[must_use]
    pub fn after(other: &Self) -> Self {
        Self { pieces: Vec::new(), fields: other.fields }
    }

    /// Add constant bytes.
    pub fn literal(&mut self, bytes: &[u8]) {
        if let Some(Piece::Literal(last)) = self.pieces.last_mut() {
            last.extend_from_slice(bytes);
        } else if !bytes.is_empty() {
            self.pieces.push(Piece::Literal(bytes.to_vec()));
        }
    }

    /// Add the text of a template. `usual` is the default escape of its fields. A malformed template, which
    /// the plan check has refused, is added literally.
    pub fn text(&mut self, text: &str, data: Option<&Data>, usual: Escape) {
        let rows = data.and_then(|data| data.rows.as_ref());
        let Ok(parts) = parts(text, rows.map(|rows| &rows.columns[..])) else {
            return self.literal(text.as_bytes());
        };
        for part in parts {
            let (field, escape) = match part {
                TemplatePart::Literal(words) => {
                    self.literal(words.as_bytes());
                    continue;
                }
                TemplatePart::Field(field, escape) => (field, escape.unwrap_or(usual)),
            };
            // 0 and 1 are reserved for the request itself.
            let purpose = self.fields.wrapping_mul(WORDS).wrapping_add(2);
            self.fields += 1;
            self.pieces.push(match field {
                Field::Int(low, high) => Piece::Int { low, span: high.abs_diff(low), purpose },
                Field::Hex(digits) => Piece::Hex { digits, purpose },
                Field::Uuid => Piece::Uuid { purpose },
                Field::Letters(low, high) => Piece::Letters { low, high, purpose },
                Field::Sequence(first) => Piece::Sequence { first },
                Field::Choice(texts) => Piece::Choice {
                    texts: texts.iter().map(|one| escape.apply(one).into_bytes()).collect(),
                    purpose,
                },
                Field::Column(at) => {
                    let values =
                        rows.map(|rows| rows.column(at).map(|one| escape.apply(one).into_bytes()).collect());
                    Piece::Column { values: values.unwrap_or_default() }
                }
            });
        }
    }

    /// Return the bytes of every request, if they are constant.
    pub fn constant(&self) -> Option<&[u8]> {
        match &self.pieces[..] {
            [] => Some(b""),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Append the text of the request with `values`.
    #[inline]
    pub fn write(&self, values: Values, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                other => other.write(values, out),
            }
        }
    }

    /// Return the number of bytes that [`Template::write`] appends.
    pub fn length(&self, values: Values) -> usize {
        self.pieces.iter().map(|piece| piece.length(values)).sum()
    }

    /// Return an upper bound on the number of bytes.
    pub fn largest(&self) -> usize {
        self.pieces.iter().map(Piece::largest).sum()
    }
}

impl Piece {
    fn write(&self, values: Values, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Int { .. } | Self::Sequence { .. } => {
                // Writing to a Vec cannot fail.
                let _ = write!(out, "{}", self.number(values));
            }
            Self::Hex { digits, purpose } => hex(values, *purpose, *digits, out),
            Self::Uuid { purpose } => {
                let (high, low) = (values.random_word(*purpose), values.random_word(purpose.wrapping_add(1)));
                let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
                let _ = write!(
                    out,
                    "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
                    high >> 32,
                    high >> 16 & 0xffff,
                    high & 0xfff,
                    low >> 48,
                    low & 0xffff_ffff_ffff
                );
            }
            Self::Letters { low, high, purpose } => {
                let count = letters(values, *low, *high, *purpose);
                spread(values, purpose.wrapping_add(1), count, 6, LETTERS, out);
            }
            Self::Choice { texts, purpose } => {
                out.extend_from_slice(&texts[values.below(*purpose, texts.len())]);
            }
            Self::Column { values: column } => {
                if let Some(value) = column.get(values.row) {
                    out.extend_from_slice(value);
                }
            }
        }
    }

    fn number(&self, values: Values) -> i128 {
        match self {
            Self::Int { low, span, purpose } => {
                // Map 64 random bits to the range by multiplication (Lemire 2019). The range has span + 1
                // numbers, which may be 2^64.
                let step = (u128::from(values.random_word(*purpose)) * (u128::from(*span) + 1)) >> 64;
                i128::from(*low) + step as i128
            }
            Self::Sequence { first } => i128::from(*first) + i128::from(values.item),
            _ => 0,
        }
    }

    fn length(&self, values: Values) -> usize {
        match self {
            Self::Literal(bytes) => bytes.len(),
            Self::Int { .. } | Self::Sequence { .. } => {
                let number = self.number(values);
                usize::from(number < 0) + number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1
            }
            Self::Hex { digits, .. } => *digits as usize,
            Self::Uuid { .. } => 36,
            Self::Letters { low, high, purpose } => letters(values, *low, *high, *purpose) as usize,
            Self::Choice { texts, purpose } => texts[values.below(*purpose, texts.len())].len(),
            Self::Column { values: column } => column.get(values.row).map_or(0, Vec::len),
        }
    }

    fn largest(&self) -> usize {
        match self {
            Self::Literal(bytes) => bytes.len(),
            Self::Int { .. } | Self::Sequence { .. } => 21,
            Self::Hex { digits: high, .. } | Self::Letters { high, .. } => *high as usize,
            Self::Uuid { .. } => 36,
            Self::Choice { texts: all, .. } | Self::Column { values: all } => {
                all.iter().map(Vec::len).max().unwrap_or(0)
            }
        }
    }
}

fn letters(values: Values, low: u32, high: u32, purpose: u32) -> u32 {
    if low == high {
        return low;
    }
    low + values.below(purpose, (high - low) as usize + 1) as u32
}

fn hex(values: Values, purpose: u32, digits: u32, out: &mut Vec<u8>) {
    spread(values, purpose, digits, 4, DIGITS, out);
}

/// Append `count` characters of `signs`, each from `bits` random bits.
fn spread<const N: usize>(
    values: Values,
    purpose: u32,
    count: u32,
    bits: u32,
    signs: &[u8; N],
    out: &mut Vec<u8>,
) {
    let each = 64 / bits;
    for at in 0..count.div_ceil(each) {
        let mut word = values.random_word(purpose.wrapping_add(at));
        for _ in 0..(count - at * each).min(each) {
            out.push(signs[word as usize & (N - 1)]);
            word >>= bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_plan::WeightedKind;

    use super::super::values::List;
    use super::*;

    fn compile(text: &str) -> Template {
        let mut template = Template::default();
        template.text(text, None, Escape::Raw);
        template
    }

    fn list(seed: u64) -> List {
        List::new(seed, &[WeightedKind { kind: "a".into(), weight: 1.0 }], None)
    }

    fn render(template: &Template, seed: u64, item: u32) -> String {
        let mut out = Vec::new();
        let values = list(seed).values(item);
        template.write(values, &mut out);
        assert_eq!(out.len(), template.length(values));
        assert!(out.len() <= template.largest());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_repeated_request_has_the_same_bytes_and_other_requests_differ() {
        let all = compile(
            "{{int:-9..1000000}} {{hex:40}} {{uuid}} {{string:2..50}} {{sequence:7}} {{choice:a|bc}}",
        );
        assert_eq!(render(&all, 1, 5), render(&all, 1, 5));
        assert_ne!(render(&all, 1, 5), render(&all, 1, 6));
        assert_ne!(render(&all, 1, 5), render(&all, 2, 5));
    }

    #[test]
    fn fields_have_the_format_of_their_name() {
        for item in 0..500 {
            assert_eq!(render(&compile("{{sequence:7}}"), 1, item), (item + 7).to_string());
            let int: i64 = render(&compile("{{int:-3..12}}"), 1, item).parse().unwrap();
            assert!((-3..=12).contains(&int));
            let text = render(&compile("{{string:2..5}}"), 1, item);
            assert!((2..=5).contains(&text.len()) && text.bytes().all(|b| LETTERS.contains(&b)));
            let hex = render(&compile("{{hex:33}}"), 1, item);
            assert!(hex.len() == 33 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
            let uuid = render(&compile("{{uuid}}"), 1, item);
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!((&parts[..], &uuid[14..15]), (&[8, 4, 4, 4, 12][..], "4"));
            assert!("89ab".contains(&uuid[19..20]));
        }
        let whole = format!("{{{{int:{}..{}}}}}", i64::MIN, i64::MAX);
        assert!(render(&compile(&whole), 1, 3).parse::<i64>().is_ok());
    }

    /// Check that chi-squared is below its 0.9999 quantile with `n - 1` degrees of freedom (Wilson and
    /// Hilferty 1931).
    fn check_even(counts: &[u32]) {
        let (sum, n) = (counts.iter().sum::<u32>(), counts.len() as f64);
        let fair = f64::from(sum) / n;
        let chi: f64 = counts.iter().map(|&c| (f64::from(c) - fair).powi(2) / fair).sum();
        let df = n - 1.0;
        let limit = df * (1.0 - 2.0 / (9.0 * df) + 3.72 * (2.0 / (9.0 * df)).sqrt()).powi(3);
        assert!(chi < limit, "{chi} of {limit}: {counts:?}");
    }

    #[test]
    fn values_are_drawn_evenly_and_fields_independently() {
        let (int, two) = (compile("{{int:0..9}}"), compile("{{int:0..3}}{{choice:0|1|2|3}}"));
        let (mut tens, mut pairs, mut signs) = (vec![0; 10], vec![0; 16], vec![0; 64]);
        for item in 0..20_000 {
            tens[render(&int, 3, item).parse::<usize>().unwrap()] += 1;
            let pair = render(&two, 3, item).into_bytes();
            pairs[usize::from(pair[0] - b'0') * 4 + usize::from(pair[1] - b'0')] += 1;
            for byte in render(&compile("{{string:21}}"), 3, item).bytes() {
                signs[LETTERS.iter().position(|&one| one == byte).unwrap()] += 1;
            }
        }
        check_even(&tens);
        check_even(&pairs);
        check_even(&signs);
    }

    #[test]
    fn texts_are_escaped_for_their_context() {
        assert_eq!(Escape::Url.apply("a b/ü\"").as_bytes(), b"a%20b%2F%C3%BC%22");
        assert_eq!(Escape::Json.apply("a\"\n").as_bytes(), b"a\\\"\\n");
        assert_eq!(Escape::Raw.apply("a b").as_bytes(), b"a b");
    }

    #[test]
    fn a_text_without_fields_is_one_piece() {
        let mut template = compile("a");
        template.literal(b"b");
        assert_eq!(template.constant(), Some(&b"ab"[..]));
        assert_eq!(compile("{{uuid}}").constant(), None);
    }
}
