//! Regular expressions and JSON: batches of records are searched, or parsed, changed and written again.

use std::path::Path;

use rand_pcg::Pcg64;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::{json, Value};

use super::words::Words;
use crate::program::{Fault, Outcome, Program, Worker};
use crate::random::{self, below, choose, log_uniform, Purpose};

const KINDS: &[&str] = &["rewrite", "search", "replace"];
const SHARES: &[f64] = &[0.50, 0.40, 0.10];
const RECORDS: usize = 8_000;
/// Minimum and maximum number of records in a batch, by kind.
const BATCHES: [(f64, f64); 3] = [(2.0, 300.0), (20.0, 4_000.0), (10.0, 1_000.0)];

/// From a pattern found by its prefix to one that looks at every byte.
const PATTERNS: [&str; 5] = [
    r#""action":7\b"#,
    r#""user":"(ba|de|mo)[a-z]+""#,
    r"[a-z]+@[a-z]+\.example",
    r"\b([a-z]{2,6}) ([a-z]{2,6})\. ",
    r#"(?i)(retu|nole|wi[mn]a).{0,40}"took":[0-9]{5}"#,
];

struct Text {
    lines: Vec<u8>,
    /// Where each line begins, and where the last one ends.
    begins: Vec<usize>,
    patterns: Vec<Regex>,
}

struct Session<'a> {
    program: &'a Text,
    patterns: Vec<Regex>,
    written: Vec<u8>,
}

/// Write the records.
pub fn make(seed: u64, _: &Path) -> Result<Box<dyn Program>, Fault> {
    let mut random = random::generator_of_purpose(seed, Purpose::Build);
    let words = Words::new(&mut random, 5_000, 1.0);
    let (mut lines, mut begins) = (Vec::new(), vec![0]);
    for id in 0..RECORDS {
        let mut note = String::new();
        let length = log_uniform(&mut random, 3.0, 80.0) as usize;
        words.write(&mut random, length, &mut note);
        let user = words.draw(&mut random);
        let tags: Vec<&str> = (0..below(&mut random, 5)).map(|_| words.draw(&mut random)).collect();
        let record = json!({
            "id": id, "user": user, "mail": format!("{user}@{}.example", words.draw(&mut random)),
            "action": below(&mut random, 12), "note": note, "tags": tags,
            "took": below(&mut random, 90_000), "place": {"x": random::unit(&mut random), "y": id % 97},
        });
        serde_json::to_writer(&mut lines, &record)?;
        lines.push(b'\n');
        begins.push(lines.len());
    }
    let patterns = PATTERNS
        .iter()
        .map(|text| RegexBuilder::new(text).unicode(false).build())
        .collect::<Result<_, _>>()?;
    Ok(Box::new(Text { lines, begins, patterns }))
}

impl Program for Text {
    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault> {
        // A clone has its own caches, so that workers do not contend for them.
        Ok(Box::new(Session { program: self, patterns: self.patterns.clone(), written: Vec::new() }))
    }
}

impl Session<'_> {
    fn process(&mut self, kind: usize, random: &mut Pcg64) -> serde_json::Result<u64> {
        let program = self.program;
        let (min_records, max_records) = BATCHES[kind];
        let count = log_uniform(random, min_records, max_records) as usize;
        let first = below(random, RECORDS - count);
        let batch = &program.lines[program.begins[first]..program.begins[first + count]];
        let pattern = &self.patterns[below(random, PATTERNS.len())];
        Ok(match kind {
            0 => {
                self.written.clear();
                for line in batch.split_inclusive(|byte| *byte == b'\n') {
                    let mut record: Value = serde_json::from_slice(line)?;
                    record["took"] = json!(record["took"].as_u64().unwrap_or(0) / 1000);
                    record["seen"] = json!(true);
                    serde_json::to_writer(&mut self.written, &record)?;
                }
                self.written.len() as u64
            }
            1 => pattern.find_iter(batch).map(|found| found.start() as u64 + 1).fold(0, u64::wrapping_add),
            _ => pattern.replace_all(batch, &b"<$0>"[..]).len() as u64,
        })
    }
}

impl Worker for Session<'_> {
    fn serve(&mut self, random: &mut Pcg64) -> Outcome {
        let kind = choose(random, SHARES);
        let digest = self.process(kind, random).expect("records that were written here can be read");
        Outcome { kind, digest }
    }
}
