use std::io;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::law::Statement;
use crate::process::Making;
use crate::{Cumulants, Process, Refused};

/// Moments from a file, scaled to the rate; after the last it begins again, is refused, or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// One moment a line, rising; of a CSV file, in `column`. Empty lines and lines that begin with # are left out.
    pub file: PathBuf,
    /// Of the moments: s, ms, us or ns.
    #[serde(default = "seconds")]
    pub unit: String,
    /// Of a CSV file: which column, counted from 1.
    #[serde(default = "first")]
    pub column: usize,
    /// Where a run is longer: again (from its first moment, a mean gap after its last), refuse (no such run) or stop (the run ends with it).
    #[serde(default = "again")]
    pub end: String,
}

fn seconds() -> String {
    "s".into()
}

fn first() -> usize {
    1
}

fn again() -> String {
    "again".into()
}

const ENDS: [&str; 3] = ["again", "refuse", "stop"];

const UNITS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("the trace {file} cannot be read: {source}", file = .file.display())]
    Unreadable {
        /// The trace.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("the trace {file}, line {line}: {what}", file = .file.display())]
    Line {
        /// The trace.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// The moments of a trace, in mean gaps from its first one on.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    rising: Vec<f64>,
    /// What it says of its own rate, in arrivals a second.
    pub rate_per_s: f64,
}

impl Moments {
    /// How many.
    pub fn count(&self) -> usize {
        self.rising.len()
    }
}

impl Trace {
    /// Reads the file, all of it.
    ///
    /// # Errors
    /// [`TraceError`], which names file and line.
    pub fn read(&self) -> Result<Moments, TraceError> {
        let text = hindmost_sys::file::read_regular_text(&self.file)
            .map_err(|source| TraceError::Unreadable { file: self.file.clone(), source })?;
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<Moments, TraceError> {
        let wrong = |line: usize, what: String| TraceError::Line { file: self.file.clone(), line, what };
        let unit = UNITS.iter().find(|(name, _)| *name == self.unit).map_or(1.0, |(_, seconds)| *seconds);
        let mut at_s: Vec<f64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(field) = line.split([',', ';', '\t']).nth(self.column - 1) else {
                return Err(wrong(index + 1, format!("`{line}` has no column {}", self.column)));
            };
            let moment = match field.trim().parse::<f64>() {
                Ok(moment) if moment.is_finite() => moment * unit,
                // Names of columns.
                _ if at_s.is_empty() && index == 0 => continue,
                _ => return Err(wrong(index + 1, format!("`{}` is no number", field.trim()))),
            };
            if let Some(&before) = at_s.last() {
                if moment < before {
                    let what = format!("{moment} s goes backwards: {before} s stands before it");
                    return Err(wrong(index + 1, what));
                }
            }
            at_s.push(moment);
        }
        let count = at_s.len();
        let length = if count < 2 { 0.0 } else { at_s[count - 1] - at_s[0] };
        if length <= 0.0 {
            let what = format!("{count} moments in {length} s are too few for a rate");
            return Err(wrong(text.lines().count(), what));
        }
        let gap = length / (count - 1) as f64;
        let first = at_s[0];
        Ok(Moments { rising: at_s.iter().map(|at| (at - first) / gap).collect(), rate_per_s: 1.0 / gap })
    }
}

impl Statement for Trace {
    fn check(&self) -> Result<(), Refused> {
        if UNITS.iter().all(|(name, _)| *name != self.unit) {
            let must = "s, ms, us or ns".to_owned();
            return Err(Refused { field: "unit", value: self.unit.clone(), must });
        }
        if !ENDS.contains(&self.end.as_str()) {
            return Err(Refused {
                field: "end",
                value: self.end.clone(),
                must: "again, refuse or stop".to_owned(),
            });
        }
        Refused::outside("column", self.column as f64, 1.0, 1_000.0)
    }

    fn process(&self, making: &Making) -> Result<Box<dyn Process>, TraceError> {
        let (next, step) = (making.part.index as usize, making.part.of.max(1) as usize);
        let stops = self.end == "stop";
        Ok(Box::new(Replay { rising: self.read()?.rising, gap: making.gap, next, step, stops }))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        None
    }
}

struct Replay {
    rising: Vec<f64>,
    gap: f64,
    next: usize,
    step: usize,
    /// Nothing is due after the last.
    stops: bool,
}

impl Process for Replay {
    #[inline]
    fn next(&mut self) -> f64 {
        let count = self.rising.len();
        if self.stops && self.next >= count {
            return f64::INFINITY;
        }
        // A lap takes as long as all gaps and a mean one from its last moment to its first.
        let at = self.rising[self.next % count] + (self.next / count * count) as f64;
        self.next += self.step;
        at * self.gap
    }
}

#[cfg(test)]
mod tests {
    use hindmost_clock::Rate;

    use super::*;
    use crate::{Law, Part, Schedule, Seeds};

    fn trace(column: usize, unit: &str) -> Trace {
        Trace { file: "times.csv".into(), unit: unit.into(), column, end: again() }
    }

    #[test]
    fn a_trace_is_read_by_column_and_unit_past_names_and_remarks() {
        let plain = trace(1, "s").parse("10\n10.5\n\n# noon\n12\n").unwrap();
        assert_eq!((plain.rising.clone(), plain.rate_per_s), (vec![0.0, 0.5, 2.0], 1.0));
        let table = trace(2, "ms").parse("id,at\na,10000\nb,10500\nc,12000\n").unwrap();
        assert_eq!(table, plain);
    }

    #[test]
    fn what_is_no_trace_is_refused_by_file_and_line() {
        for (column, text, wrong) in [
            (1, "1\n3\n2\n", 3),
            (1, "1\n2\nthree\n", 3),
            (1, "1\n2\nNaN\n", 3),
            (2, "1,2\n3\n", 2),
            (1, "1\n", 1),
            (1, "1\n1\n", 2),
            (1, "", 0),
        ] {
            match trace(column, "s").parse(text).unwrap_err() {
                TraceError::Line { file, line, what } => {
                    assert_eq!((file, line), ("times.csv".into(), wrong), "{text:?}: {what}");
                }
                other @ TraceError::Unreadable { .. } => panic!("{text:?}: {other}"),
            }
        }
        assert_eq!(trace(1, "min").check().unwrap_err().field, "unit");
        let halts = Trace { end: "halt".into(), ..trace(1, "s") };
        let refused = halts.check().unwrap_err();
        assert_eq!((refused.field, refused.value.as_str()), ("end", "halt"));
        let gone = Trace { file: "/nowhere/times".into(), ..trace(1, "s") };
        assert!(matches!(gone.read(), Err(TraceError::Unreadable { file, .. }) if file == gone.file));
    }

    #[test]
    fn a_trace_is_scaled_to_the_rate_begins_again_and_is_shared_to_the_bit() {
        let file = std::env::temp_dir().join(format!("hindmost-trace-{}", std::process::id()));
        std::fs::write(&file, "5\n6\n6\n9\n").unwrap();
        let law = Law::Trace(Trace { file: file.clone(), ..trace(1, "s") });
        let rate = Rate::per_second(1e6).unwrap();
        let due = |part: Part, count: usize| -> Vec<u64> {
            let mut arrivals =
                law.part(rate, part, Seeds { seed: 1, instance: 0, thread: part.index }).unwrap();
            (0..count).map(|_| arrivals.next_due().0).collect()
        };
        // Mean gap 4/3 s becomes 1 us.
        assert_eq!(due(Part::WHOLE, 9), [0, 750, 750, 3_000, 4_000, 4_750, 4_750, 7_000, 8_000]);
        let mut parts: Vec<u64> = (0..3).flat_map(|index| due(Part { index, of: 3 }, 3)).collect();
        parts.sort_unstable();
        assert_eq!(parts, due(Part::WHOLE, 9));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn nothing_is_due_behind_a_trace_that_stops_whoever_has_its_last_moment_and_whatever_stretches_it() {
        let file = std::env::temp_dir().join(format!("hindmost-trace-stops-{}", std::process::id()));
        std::fs::write(&file, "5\n6\n6\n9\n").unwrap();
        let stops = Trace { file: file.clone(), end: "stop".into(), ..trace(1, "s") };
        stops.check().unwrap();
        let rate = Rate::per_second(1e6).unwrap();
        let schedule = Schedule { points: vec![[0.0, 1.0], [1e-6, 1.0]] };
        for schedule in [None, Some(&schedule)] {
            let mut due = Vec::new();
            for index in 0..3 {
                let seeds = Seeds { seed: 1, instance: 0, thread: index };
                let law = Law::Trace(stops.clone());
                let part = Part { index, of: 3 };
                let mut arrivals = law.scheduled(rate, part, seeds, schedule).unwrap();
                arrivals.measure_from(hindmost_clock::Nanos(0));
                due.extend((0..3).map(|_| arrivals.next_due().0));
            }
            due.sort_unstable();
            assert_eq!(due, [0, 750, 750, 3_000, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX]);
        }
        std::fs::remove_file(&file).unwrap();
    }
}
