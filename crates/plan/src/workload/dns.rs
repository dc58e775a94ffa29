//! Questions of DNS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{Data, Order};
use super::files::{check_template, check_texts};
use super::listed::Listed;
use super::refusals::check_list;
use super::template::Escape;
use crate::error::{refuse, PlanError};

/// Questions of DNS. Names are templates, with fields such as `{{int:1..1000}}` or `{{data.NAME}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dns {
    /// What is asked, each as often as its weight says.
    pub queries: Vec<DnsQuery>,
    /// A file of questions in place of these: a name and a type a line, as dnsperf reads them. All are asked equally often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// In which order those of the file are asked.
    #[serde(skip_serializing_if = "is_random")]
    pub order: Order,
    /// Where fields such as `{{data.NAME}}` find their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Recursion is wanted (RD).
    pub recursion: bool,
    /// The longest reply that is taken, told by EDNS (RFC 6891); null for none of it, which means 512 bytes.
    pub edns_bytes: Option<u16>,
    /// The questions of the file, once it is read.
    #[serde(skip)]
    pub lines: Option<Arc<[DnsQuery]>>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DnsQuery {
    /// The name that is asked for: a template.
    pub name: String,
    /// The type of record.
    #[serde(rename = "type")]
    pub kind: DnsType,
    /// How often it is asked, as a share of the sum of all weights.
    pub weight: f64,
    /// What results call it; questions of one name here are counted together. Absent: the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

/// A type of record: its name, such as `AAAA`, or `TYPE65` (RFC 3597).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DnsType(u16);

/// Types of records by number (IANA, DNS parameters).
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
            "description": "A type of record: its name, such as `AAAA`, or `TYPE65` (RFC 3597).",
            "type": "string",
        })
    }
}

/// A reply that fits into a packet on any usual way (DNS Flag Day 2020).
const USUAL_EDNS: u16 = 1232;
/// The longest datagram that is taken.
const MOST_EDNS: u16 = 16_000;
/// The longest name in a message, with the lengths of its labels, and the longest label (RFC 1035, 2.3.4).
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
    /// Its number.
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
        // A transfer of a zone is no question of a datagram.
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
    /// All questions: those of the file, or of the list.
    pub fn all(&self) -> &[DnsQuery] {
        self.lines.as_deref().unwrap_or(&self.queries)
    }

    /// Whether they are asked one after another.
    pub fn in_turn(&self) -> bool {
        self.lines.is_some() && self.order == Order::Sequential
    }

    /// The same as a list of weights and kinds.
    pub fn listed(&self) -> Vec<Listed> {
        let kind = |one: &DnsQuery| one.called.clone().unwrap_or_else(|| one.kind.name());
        self.all().iter().map(|one| Listed { kind: kind(one), weight: one.weight }).collect()
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
        check_list("workload.queries", &self.listed())?;
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

/// A name in text has labels that fit (RFC 1035, 5.1: `\.` is a dot within a label, `\DDD` a byte).
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
            "a name of at most {LONGEST_NAME} bytes with the lengths of its labels, and it has {whole}"
        ));
    }
    Ok(())
}

fn check_label(bytes: usize) -> Result<(), String> {
    match bytes {
        1..=LONGEST_LABEL => Ok(()),
        _ => Err(format!("a name of labels of 1 to {LONGEST_LABEL} bytes, and one has {bytes}")),
    }
}

fn read(file: &Path) -> Result<Vec<DnsQuery>, String> {
    parse(&hindmost_sys::file::read_regular_text(file).map_err(|e| e.to_string())?)
}

/// Lines of a name and a type; empty ones and comments, behind `;` or `#` that no `\\` escapes, are passed over.
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
        return Err("it has no question".to_owned());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_as_dnsperf_reads_it_is_a_list_of_questions() {
        let found = parse("; queries\nwww.example A\n\nexample. mx # mail\n").unwrap();
        let of: Vec<_> = found.iter().map(|one| (&one.name[..], one.kind.number())).collect();
        assert_eq!(of, [("www.example", 1), ("example.", 15)]);
        let dns = Dns { lines: Some(found.into()), ..Dns::default() };
        assert_eq!(dns.listed().iter().map(|one| &one.kind[..]).collect::<Vec<_>>(), ["A", "MX"]);
    }

    #[test]
    fn a_line_that_is_no_question_is_told_by_its_number() {
        for (text, place) in [("a A\nb\n", "line 2: \"b\""), ("a B\n", "line 1"), ("a..b A\n", "\"a..b\"")] {
            let refused = parse(text).unwrap_err();
            assert!(refused.contains(place), "{refused}");
        }
        assert!(parse("# nothing\n").is_err());
    }

    #[test]
    fn questions_that_cannot_be_asked_are_refused_with_their_place() {
        let long = "x".repeat(64);
        for (workload, field) in [
            (json!({"queries": [{"name": long}]}), "workload.queries[0].name"),
            (json!({"queries": [{"weight": 0.0}]}), "workload.queries"),
            (json!({"edns_bytes": 100}), "workload.edns_bytes"),
        ] {
            let dns: Dns = serde_json::from_value(workload).unwrap();
            assert_eq!(dns.check().unwrap_err().told().0, field);
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
    fn names_are_counted_as_they_are_sent() {
        let long = |label: usize, of: usize| vec!["a".repeat(label); of].join(".");
        for name in [".", "a", "a.", "a\\.b.c", "\\001\\255", &long(63, 1), &long(62, 4), "a\\;b"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "..", ".a", "a..b", "a\\", "a\\25", "a\\256", &long(64, 1), &long(63, 4)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_cell_that_makes_no_name_is_told_by_file_line_and_column() {
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
            let told = dns.read_files().map_err(|refused| refused.told().1.to_owned());
            assert_eq!(told.is_ok(), is_name, "{cell}");
            assert!(told.err().is_none_or(|told| told.contains("names.csv, line 3, column name")), "{cell}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
