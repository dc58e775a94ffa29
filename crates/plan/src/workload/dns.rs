//! Questions of DNS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{Data, Order};
use super::files::check_template;
use super::listed::Listed;
use super::refusals::check_list;
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

macro_rules! types {
    ($( $name:ident = $number:literal ),+ $(,)?) => {
        /// Types of records by number (IANA, DNS parameters).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "UPPERCASE")]
        #[allow(missing_docs)]
        pub enum DnsType {
            #[default]
            $( $name = $number ),+
        }

        impl DnsType {
            const ALL: &[(&str, Self)] = &[$( (stringify!($name), Self::$name) ),+];
        }
    };
}

types! {
    A = 1, Ns = 2, Cname = 5, Soa = 6, Ptr = 12, Hinfo = 13, Mx = 15, Txt = 16, Aaaa = 28, Srv = 33, Naptr = 35,
    Ds = 43, Dnskey = 48, Tlsa = 52, Svcb = 64, Https = 65, Any = 255, Caa = 257,
}

/// A reply that fits into a packet on any usual way (DNS Flag Day 2020).
const USUAL_EDNS: u16 = 1232;
/// The longest datagram that is taken.
const MOST_EDNS: u16 = 16_000;
/// The longest name in text (RFC 1035, 2.3.4, less its root and the length in front), and the longest label.
const LONGEST_NAME: usize = 253;
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
        Self { name: "localhost".to_owned(), kind: DnsType::A, weight: 1.0, called: None }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_random(order: &Order) -> bool {
    *order == Order::Random
}

impl DnsType {
    /// Its number.
    pub const fn number(self) -> u16 {
        self as u16
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, kind)| kind)
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
        let kind = |one: &DnsQuery| one.called.clone().unwrap_or_else(|| one.kind.name().to_uppercase());
        self.all().iter().map(|one| Listed { kind: kind(one), weight: one.weight }).collect()
    }

    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        for (at, one) in self.queries.iter().enumerate() {
            check_template(format!("workload.queries[{at}].name"), &one.name, self.data.as_ref())?;
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
        for (at, one) in self.queries.iter().enumerate() {
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

/// A name without fields has labels that fit.
fn check_name(name: &str) -> Result<(), String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.contains("{{") || name.is_empty() {
        return Ok(());
    }
    if name.len() > LONGEST_NAME {
        return Err(format!("at most {LONGEST_NAME} bytes long"));
    }
    match name.split('.').find(|label| label.is_empty() || label.len() > LONGEST_LABEL) {
        Some(label) => Err(format!("of labels of 1 to {LONGEST_LABEL} bytes, and one has {}", label.len())),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<Vec<DnsQuery>, String> {
    parse(&hindmost_sys::file::read_regular_text(file).map_err(|e| e.to_string())?)
}

/// Lines of a name and a type; empty ones and comments, behind `;` or `#`, are passed over.
fn parse(text: &str) -> Result<Vec<DnsQuery>, String> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: String| format!("line {}: {why}", at + 1);
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong(format!("{line:?} is not a name and a type")));
        };
        let known = || {
            let names: Vec<String> = DnsType::ALL.iter().map(|(name, _)| name.to_uppercase()).collect();
            wrong(format!("the type {kind:?} is none of {}", names.join(", ")))
        };
        let kind = DnsType::named(kind).ok_or_else(known)?;
        check_name(name).map_err(|must| wrong(format!("the name {name:?} must be {must}")))?;
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
        let unknown = serde_json::from_value::<Dns>(json!({"queries": [{"type": "AAA"}]})).unwrap_err();
        assert!(unknown.to_string().contains("`AAAA`"), "{unknown}");
    }
}
