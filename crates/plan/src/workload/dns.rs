//! DNS queries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{Data, Order};
use super::files::{check_template, check_texts};
use super::request_checks::check_list;
use super::template::Escape;
use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// DNS queries. Names are templates with fields such as `{{int:1..1000}}` or `{{data.NAME}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// The queries, chosen by weight.
    pub queries: Vec<DnsQuery>,
    /// A file of queries, used instead of `queries`: one name and type per line, as dnsperf reads them. All are
    /// equally frequent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The order in which the queries of the file are sent.
    #[serde(skip_serializing_if = "is_random")]
    pub order: Order,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Whether recursion is desired (RD).
    pub recursion: bool,
    /// Largest accepted reply in bytes, announced by EDNS (RFC 6891); null: no EDNS, which means 512 bytes.
    pub edns_bytes: Option<u16>,
    /// The queries of the file, after it was read.
    #[serde(skip)]
    pub lines: Option<Arc<[DnsQuery]>>,
}

/// One query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DnsQuery {
    /// The name that is queried: a template.
    pub name: String,
    /// The record type.
    #[serde(rename = "type")]
    pub kind: DnsType,
    /// Relative frequency: its share of the sum of all weights.
    pub weight: f64,
    /// Name in results; queries of one name are counted together. Absent: the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

/// A record type: its name, such as `AAAA`, or `TYPE65` (RFC 3597).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DnsType(u16);

/// Record types by number (IANA, DNS parameters).
const TYPES: [(&str, u16); 53] = [
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("NULL", 10),
    ("PTR", 12),
    ("HINFO", 13),
    ("MX", 15),
    ("TXT", 16),
    ("RP", 17),
    ("AFSDB", 18),
    ("SIG", 24),
    ("KEY", 25),
    ("AAAA", 28),
    ("LOC", 29),
    ("SRV", 33),
    ("NAPTR", 35),
    ("KX", 36),
    ("CERT", 37),
    ("DNAME", 39),
    ("APL", 42),
    ("DS", 43),
    ("SSHFP", 44),
    ("IPSECKEY", 45),
    ("RRSIG", 46),
    ("NSEC", 47),
    ("DNSKEY", 48),
    ("DHCID", 49),
    ("NSEC3", 50),
    ("NSEC3PARAM", 51),
    ("TLSA", 52),
    ("SMIMEA", 53),
    ("HIP", 55),
    ("CDS", 59),
    ("CDNSKEY", 60),
    ("OPENPGPKEY", 61),
    ("CSYNC", 62),
    ("ZONEMD", 63),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("SPF", 99),
    ("NID", 104),
    ("L32", 105),
    ("L64", 106),
    ("LP", 107),
    ("EUI48", 108),
    ("EUI64", 109),
    ("TKEY", 249),
    ("IXFR", 251),
    ("ANY", 255),
    ("URI", 256),
    ("CAA", 257),
    ("DLV", 32769),
];

impl JsonSchema for DnsType {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DnsType".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A record type: its name, such as `AAAA`, or `TYPE65` (RFC 3597).",
            "type": "string",
        })
    }
}

/// The size of a reply that fits into a packet on any common path (DNS Flag Day 2020).
const USUAL_EDNS: u16 = 1232;
/// The longest datagram that is received.
const MOST_EDNS: u16 = 16_000;
/// Longest name in a message, including the length bytes of its labels, and longest label (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;

impl Default for Dns {
    fn default() -> Self {
        Self {
            queries: vec![DnsQuery::default()],
            file: None,
            order: Order::Random,
            data: None,
            recursion: true,
            edns_bytes: Some(USUAL_EDNS),
            lines: None,
        }
    }
}

impl Default for DnsQuery {
    /// A name that every resolver knows (RFC 6761, 6.3).
    fn default() -> Self {
        Self { name: "localhost".to_owned(), kind: DnsType(1), weight: 1.0, called: None }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_random(order: &Order) -> bool {
    *order == Order::Random
}

impl DnsType {
    /// Return the number of the type.
    pub const fn number(self) -> u16 {
        self.0
    }

    fn name(self) -> String {
        let known = TYPES.iter().find(|(_, number)| *number == self.0);
        known.map_or_else(|| format!("TYPE{}", self.0), |(name, _)| (*name).to_owned())
    }
}

impl TryFrom<String> for DnsType {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let upper = text.to_ascii_uppercase();
        let known = TYPES.iter().find(|(name, _)| *name == upper).map(|&(_, number)| number);
        // A zone transfer (252) needs TCP.
        let numbered =
            || upper.strip_prefix("TYPE")?.parse().ok().filter(|&number| number > 0 && number != 252);
        known.or_else(numbered).map(Self).ok_or_else(|| {
            let names: Vec<&str> = TYPES.iter().map(|&(name, _)| name).collect();
            format!("the type {text:?} is neither `TYPE` with a number nor one of {}", names.join(", "))
        })
    }
}

impl From<DnsType> for String {
    fn from(of: DnsType) -> Self {
        of.name()
    }
}

impl Dns {
    /// Return the queries of the file, or of the list.
    pub fn all(&self) -> &[DnsQuery] {
        self.lines.as_deref().unwrap_or(&self.queries)
    }

    /// Whether the queries are sent one after another.
    pub fn in_turn(&self) -> bool {
        self.lines.is_some() && self.order == Order::Sequential
    }

    /// Return the names and weights of all queries.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        let kind = |one: &DnsQuery| one.called.clone().unwrap_or_else(|| one.kind.name());
        self.all().iter().map(|one| WeightedKind { kind: kind(one), weight: one.weight }).collect()
    }

    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        for (at, one) in self.queries.iter().enumerate() {
            let field = format!("workload.queries[{at}].name");
            check_template(field.clone(), &one.name, self.data.as_ref())?;
            check_texts(&field, &one.name, self.data.as_ref(), Escape::Raw, false, check_name)?;
        }
        if let Some(file) = &self.file {
            let lines = read(file).map_err(|why| {
                let value = format!("{}, which cannot be used: {why}", file.display());
                refuse("workload.file", value, "a file with a name and a type in each line")
            })?;
            self.lines = Some(lines.into());
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        check_list("workload.queries", &self.weighted_kinds())?;
        for (at, one) in self.queries.iter().enumerate().filter(|(_, one)| !one.name.contains("{{")) {
            if let Err(must) = check_name(&one.name) {
                return Err(refuse(format!("workload.queries[{at}].name"), format!("{:?}", one.name), must));
            }
        }
        match self.edns_bytes {
            Some(bytes) if !(512..=MOST_EDNS).contains(&bytes) => {
                Err(refuse("workload.edns_bytes", bytes, format!("null, or between 512 and {MOST_EDNS}")))
            }
            _ => Ok(()),
        }
    }
}

/// Check that the labels of a name fit (RFC 1035, 5.1: `\.` is a dot within a label, `\DDD` a byte).
fn check_name(name: &str) -> Result<(), String> {
    if name == "." {
        return Ok(());
    }
    let (mut label, mut whole) = (0, 1);
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'.' {
            check_label(label)?;
            (label, whole) = (0, whole + label + 1);
            continue;
        }
        label += 1;
        if byte == b'\\' {
            let digits = after.iter().take(3).take_while(|digit| digit.is_ascii_digit());
            let (count, number) = digits.fold((0, 0), |(n, all), &d| (n + 1, 10 * all + u32::from(d - b'0')));
            rest = match (count, number) {
                (3, 0..=255) => &after[3..],
                (0, _) if !after.is_empty() => &after[1..],
                _ => {
                    return Err(
                        "a name whose escapes are `\\DDD`, a byte up to 255, or `\\` and a character".into()
                    )
                }
            };
        }
    }
    if label > 0 || whole == 1 {
        check_label(label)?;
        whole += label + 1;
    }
    if whole > LONGEST_NAME {
        return Err(format!(
            "a name of at most {LONGEST_NAME} bytes including label lengths; it has {whole}"
        ));
    }
    Ok(())
}

fn check_label(bytes: usize) -> Result<(), String> {
    match bytes {
        1..=LONGEST_LABEL => Ok(()),
        _ => Err(format!("a name with labels of 1 to {LONGEST_LABEL} bytes; one has {bytes}")),
    }
}

fn read(file: &Path) -> Result<Vec<DnsQuery>, String> {
    parse(&hindmost_sys::file::read_regular_text(file).map_err(|e| e.to_string())?)
}

/// Parse lines of a name and a type. Empty lines and comments, which begin with an unescaped `;` or `#`, are
/// skipped.
fn parse(text: &str) -> Result<Vec<DnsQuery>, String> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let begins = |at: &usize| !line[..*at].ends_with('\\');
        let comment = line.match_indices([';', '#']).map(|(at, _)| at).find(begins);
        let line = line[..comment.unwrap_or(line.len())].trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: String| format!("line {}: {why}", at + 1);
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong(format!("{line:?} is not a name and a type")));
        };
        let kind = kind.to_owned().try_into().map_err(wrong)?;
        check_name(name).map_err(|must| wrong(format!("{name:?} must be {must}")))?;
        all.push(DnsQuery { name: name.to_owned(), kind, ..DnsQuery::default() });
    }
    if all.is_empty() {
        return Err("it contains no query".to_owned());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dnsperf_file_is_a_list_of_queries() {
        let found = parse("; queries\nwww.example A\n\nexample. mx # mail\n").unwrap();
        let of: Vec<_> = found.iter().map(|one| (&one.name[..], one.kind.number())).collect();
        assert_eq!(of, [("www.example", 1), ("example.", 15)]);
        let dns = Dns { lines: Some(found.into()), ..Dns::default() };
        assert_eq!(dns.weighted_kinds().iter().map(|one| &one.kind[..]).collect::<Vec<_>>(), ["A", "MX"]);
    }

    #[test]
    fn the_error_names_the_line_of_an_invalid_query() {
        for (text, place) in [("a A\nb\n", "line 2: \"b\""), ("a B\n", "line 1"), ("a..b A\n", "\"a..b\"")] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(place), "{refused}");
        }
        assert!(parse("# nothing\n").is_err());
    }

    #[test]
    fn invalid_queries_are_refused_and_their_field_is_named() {
        let long = "x".repeat(64);
        for (workload, field) in [
            (json!({"queries": [{"name": long}]}), "workload.queries[0].name"),
            (json!({"queries": [{"weight": 0.0}]}), "workload.queries"),
            (json!({"edns_bytes": 100}), "workload.edns_bytes"),
        ] {
            let dns: Dns = serde_json::from_value(workload).unwrap();
            assert_eq!(dns.check().unwrap_err().field_and_value().0, field);
        }
        assert!(serde_json::from_value::<Dns>(json!({"queries": [{"type": "AAA"}]})).is_err());
    }

    #[test]
    fn types_have_names_or_numbers() {
        for (text, number, name) in
            [("aaaa", 28, "AAAA"), ("TYPE65", 65, "HTTPS"), ("type4711", 4711, "TYPE4711")]
        {
            let found = DnsType::try_from(text.to_owned()).unwrap();
            assert_eq!((found.number(), String::from(found)), (number, name.to_owned()));
        }
        for text in ["", "TYPE", "TYPE0", "TYPE65536", "AXFR", "TYPE252"] {
            assert!(DnsType::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_length_of_a_name_is_its_length_in_the_message() {
        let long = |label: usize, of: usize| vec!["a".repeat(label); of].join(".");
        for name in [".", "a", "a.", "a\\.b.c", "\\001\\255", &long(63, 1), &long(62, 4), "a\\;b"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "..", ".a", "a..b", "a\\", "a\\25", "a\\256", &long(64, 1), &long(63, 4)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_error_names_file_line_and_column_of_an_invalid_name() {
        let folder = std::env::temp_dir().join(format!("hindmost-dns-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("names.csv");
        for (cell, is_name) in [
            ("ab", true),
            ("a.b", true),
            ("\"\"", false),
            ("a..b", false),
            (&"y".repeat(70), false),
            (&"y".repeat(300), false),
        ] {
            std::fs::write(&file, format!("id,name\n1,ok\n2,{cell}\n")).unwrap();
            let queries = json!({
                "queries": [{"name": "{{data.name}}.example"}], "data": {"file": file},
            });
            let mut dns: Dns = serde_json::from_value(queries).unwrap();
            let error = dns.read_files().map_err(|refused| refused.field_and_value().1.to_owned());
            assert_eq!(error.is_ok(), is_name, "{cell}");
            assert!(
                error.err().is_none_or(|error| error.contains("names.csv, line 3, column name")),
                "{cell}"
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
