use std::io;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::law::ArrivalLaw;
use crate::process::PartSpec;
use crate::{Cumulants, ParameterError, Process};

/// Arrival times from a file, scaled to the rate. After the last time, the trace repeats, or the run is refused or
/// ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// File with one time per line, increasing; for a CSV file, in `column`. Empty lines and lines that start with #
    /// are skipped.
    pub file: PathBuf,
    /// Unit of the times: s, ms, us or ns.
    #[serde(default = "default_unit")]
    pub unit: String,
    /// Column of a CSV file, counted from 1.
    #[serde(default = "default_column")]
    pub column: usize,
    /// What happens if a run is longer than the trace: again (repeat it, one mean gap after its last time), refuse
    /// (reject the run) or stop (end the run).
    #[serde(default = "default_end")]
    pub end: String,
}

fn default_unit() -> String {
    "s".into()
}

fn default_column() -> usize {
    1
}

fn default_end() -> String {
    "again".into()
}

const ENDS: [&str; 3] = ["again", "refuse", "stop"];

const UNITS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];

/// An error of a trace.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read the trace {file}: {source}", file = .file.display())]
    Unreadable {
        /// Path of the trace.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("the trace {file}, line {line}: {what}", file = .file.display())]
    Line {
        /// Path of the trace.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        what: String,
    },
}

/// The arrival times of a trace, in mean gaps from the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceTimes {
    times: Vec<f64>,
    /// Rate of the trace itself, in arrivals per second.
    pub rate_per_s: f64,
}

impl TraceTimes {
    /// Return the number of times.
    pub fn count(&self) -> usize {
        self.times.len()
    }
}

impl Trace {
    /// Read the whole file.
    ///
    /// # Errors
    /// [`TraceError`] with file and line.
    pub fn read(&self) -> Result<TraceTimes, TraceError> {
        let text = hindmost_sys::file::read_regular_text(&self.file)
            .map_err(|source| TraceError::Unreadable { file: self.file.clone(), source })?;
        self.parse(&text)
    }

    fn parse(&self, text: &str) -> Result<TraceTimes, TraceError> {
        let line_error = |line: usize, what: String| TraceError::Line { file: self.file.clone(), line, what };
        let unit = UNITS.iter().find(|(name, _)| *name == self.unit).map_or(1.0, |(_, seconds)| *seconds);
        let mut first = None;
        let mut at_s: Vec<f64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.split([',', ';', '\t']).map(str::trim);
            let Some(field) = fields.clone().nth(self.column - 1) else {
                return Err(line_error(index + 1, format!("`{line}` has no column {}", self.column)));
            };
            let time = match FileTime::parse(field, unit) {
                Some(time) => time.since(first.get_or_insert(time)),
                None if index == 0 && fields.all(is_name) => continue,
                None => {
                    return Err(line_error(index + 1, format!("`{field}` is neither a number nor a date")))
                }
            };
            if let Some(&before) = at_s.last() {
                if time < before {
                    let what = format!("{time} s goes backwards: the line before has {before} s");
                    return Err(line_error(index + 1, what));
                }
            }
            at_s.push(time);
        }
        let count = at_s.len();
        let length = at_s.last().copied().unwrap_or_default();
        if length <= 0.0 {
            let what = format!("{count} times in {length} s do not give a rate");
            return Err(line_error(text.lines().count(), what));
        }
        let gap = length / (count - 1) as f64;
        Ok(TraceTimes { times: at_s.iter().map(|at| at / gap).collect(), rate_per_s: 1.0 / gap })
    }
}

/// A time as written in the file, with integer and fraction apart, so that nanoseconds since 1970 keep all digits.
#[derive(Clone, Copy)]
struct FileTime {
    whole: i128,
    rest: f64,
    unit_s: f64,
}

impl FileTime {
    /// Parse a number of units, or a date with time of day such as `2023-11-16 18:17:03.98`, with or without zone.
    fn parse(text: &str, unit_s: f64) -> Option<Self> {
        if let Some(time) = Self::parse_date(text) {
            return Some(time);
        }
        let digits = text.split('.').next().unwrap_or_default();
        if let (Ok(whole), Ok(rest)) =
            (digits.parse::<i128>(), format!("0{}", &text[digits.len()..]).parse::<f64>())
        {
            let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
            return (rest.is_finite() && !text.contains(['e', 'E'])).then_some(Self {
                whole,
                rest: sign * rest,
                unit_s,
            });
        }
        let number = text.parse::<f64>().ok().filter(|one| one.is_finite() && one.abs() < 1e30)?;
        Some(Self { whole: number.trunc() as i128, rest: number.fract(), unit_s })
    }

    /// Parse a date by RFC 3339, 5.6, with a blank or `T` before the time.
    fn parse_date(text: &str) -> Option<Self> {
        let (day, time) = text.split_once([' ', 'T', 't'])?;
        let mut numbers = day.splitn(3, '-').map(str::parse::<i128>);
        let (year, month, day) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        let end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (time, zone) = time.split_at(end);
        let mut parts = time.trim().splitn(3, ':');
        let (hour, minute, second) =
            (parts.next()?.parse::<i128>().ok()?, parts.next()?.parse::<i128>().ok()?, parts.next()?);
        let whole = second.split('.').next()?;
        let rest: f64 = format!("0{}", &second[whole.len()..]).parse().ok()?;
        let offset = match zone.strip_prefix(['+', '-']) {
            None => 0,
            Some(zone) => {
                let (hours, minutes) = zone.split_once(':')?;
                hours.parse::<i128>().ok()? * 3_600 + minutes.parse::<i128>().ok()? * 60
            }
        };
        let offset = if zone.starts_with('-') { -offset } else { offset };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 {
            return None;
        }
        // Days since 1970 (Hinnant, "chrono-compatible low-level date algorithms").
        let from_march = if month > 2 { year } else { year - 1 };
        let (era, within) = (from_march.div_euclid(400), from_march.rem_euclid(400));
        let days = era * 146_097 + within * 365 + within / 4 - within / 100
            + (153 * ((month + 9) % 12) + 2) / 5
            + day
            - 719_469;
        let whole = days * 86_400 + hour * 3_600 + minute * 60 + whole.parse::<i128>().ok()? - offset;
        Some(Self { whole, rest, unit_s: 1.0 })
    }

    /// Return the seconds since another time of the same file.
    fn since(self, first: &Self) -> f64 {
        ((self.whole - first.whole) as f64 + (self.rest - first.rest)) * self.unit_s
    }
}

/// Whether a field of the first line can be a column name; a mistyped number cannot.
fn is_name(field: &str) -> bool {
    let is_number_like = |c: char| c.is_ascii_digit() || "OoIl.+-eE".contains(c);
    !field.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && !field.chars().all(is_number_like)
}

impl ArrivalLaw for Trace {
    fn check(&self) -> Result<(), ParameterError> {
        if UNITS.iter().all(|(name, _)| *name != self.unit) {
            let must = "s, ms, us or ns".to_owned();
            return Err(ParameterError { field: "unit", value: self.unit.clone(), must });
        }
        if !ENDS.contains(&self.end.as_str()) {
            return Err(ParameterError {
                field: "end",
                value: self.end.clone(),
                must: "again, refuse or stop".to_owned(),
            });
        }
        ParameterError::check_range("column", self.column as f64, 1.0, 1_000.0)
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        let (next, step) = (spec.part.index as usize, spec.part.of.max(1) as usize);
        let stops = self.end == "stop";
        Ok(Box::new(Replay { times: self.read()?.times, gap: spec.gap, next, step, stops }))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        None
    }
}

struct Replay {
    times: Vec<f64>,
    gap: f64,
    next: usize,
    step: usize,
    /// Whether the process ends after the last time.
    stops: bool,
}

impl Process for Replay {
    #[inline]
    fn next(&mut self) -> f64 {
        let count = self.times.len();
        if self.stops && self.next >= count {
            return f64::INFINITY;
        }
        // A lap takes all gaps plus a mean gap from the last time to the first.
        let at = self.times[self.next % count] + (self.next / count * count) as f64;
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
        Trace { file: "times.csv".into(), unit: unit.into(), column, end: default_end() }
    }

    #[test]
    fn a_trace_is_read_by_column_and_unit_without_names_and_comments() {
        let plain = trace(1, "s").parse("10\n10.5\n\n# noon\n12\n").unwrap();
        assert_eq!((plain.times.clone(), plain.rate_per_s), (vec![0.0, 0.5, 2.0], 1.0));
        let table = trace(2, "ms").parse("id,at\na,10000\nb,10500\nc,12000\n").unwrap();
        assert_eq!(table, plain);
    }

    #[test]
    fn nanoseconds_since_1970_keep_all_digits_and_dates_are_times() {
        let start = 1_700_000_000_000_000_000_i64;
        let lines = [0, 1_000, 3_000, 9_000].map(|ns| (start + ns).to_string()).join("\n");
        let found = trace(1, "ns").parse(&lines).unwrap();
        let error = |(at, right): (&f64, f64)| (at - right / 3.0).abs();
        assert!(found.times.iter().zip([0.0, 1.0, 3.0, 9.0]).map(error).all(|off| off < 1e-12), "{found:?}");
        let dates = "TIMESTAMP,tokens\n2023-12-31 23:59:59.5,1\n2024-01-01T00:00:00Z,2\n2024-01-01T02:00:01.5+02:00,3\n";
        let found = trace(1, "ms").parse(dates).unwrap();
        assert_eq!((found.times, found.rate_per_s), (vec![0.0, 0.5, 2.0], 1.0));
        let leap = trace(1, "s").parse("2024-02-29T00:00:00Z\n2024-03-01T00:00:00Z\n").unwrap();
        assert!((leap.rate_per_s * 86_400.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_mistyped_number_in_the_first_line_is_not_a_column_name() {
        for text in ["O\n1\n2\n", "1O\n11\n12\n", "x,7\n1,8\n2,9\n"] {
            assert!(matches!(trace(1, "s").parse(text), Err(TraceError::Line { line: 1, .. })), "{text:?}");
        }
    }

    #[test]
    fn invalid_traces_are_refused_by_file_and_line() {
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
        let error = halts.check().unwrap_err();
        assert_eq!((error.field, error.value.as_str()), ("end", "halt"));
        let missing = Trace { file: "/nowhere/times".into(), ..trace(1, "s") };
        assert!(matches!(missing.read(), Err(TraceError::Unreadable { file, .. }) if file == missing.file));
    }

    #[test]
    fn a_trace_is_scaled_repeated_and_shared_exactly() {
        let file = std::env::temp_dir().join(format!("hindmost-trace-{}", std::process::id()));
        std::fs::write(&file, "5\n6\n6\n9\n").unwrap();
        let law = Law::Trace(Trace { file: file.clone(), ..trace(1, "s") });
        let rate = Rate::per_second(1e6).unwrap();
        let scheduled = |part: Part, count: usize| -> Vec<u64> {
            let mut arrivals =
                law.part(rate, part, Seeds { seed: 1, client: 0, thread: part.index }).unwrap();
            (0..count).map(|_| arrivals.next_scheduled().0).collect()
        };
        // The mean gap of 4/3 s becomes 1 us.
        assert_eq!(scheduled(Part::WHOLE, 9), [0, 750, 750, 3_000, 4_000, 4_750, 4_750, 7_000, 8_000]);
        let mut parts: Vec<u64> = (0..3).flat_map(|index| scheduled(Part { index, of: 3 }, 3)).collect();
        parts.sort_unstable();
        assert_eq!(parts, scheduled(Part::WHOLE, 9));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn nothing_is_scheduled_after_a_trace_that_stops() {
        let file = std::env::temp_dir().join(format!("hindmost-trace-stops-{}", std::process::id()));
        std::fs::write(&file, "5\n6\n6\n9\n").unwrap();
        let stops = Trace { file: file.clone(), end: "stop".into(), ..trace(1, "s") };
        stops.check().unwrap();
        let rate = Rate::per_second(1e6).unwrap();
        let schedule = Schedule { points: vec![[0.0, 1.0], [1e-6, 1.0]] };
        for schedule in [None, Some(&schedule)] {
            let mut scheduled = Vec::new();
            for index in 0..3 {
                let seeds = Seeds { seed: 1, client: 0, thread: index };
                let law = Law::Trace(stops.clone());
                let part = Part { index, of: 3 };
                let mut arrivals = law.part_with_schedule(rate, part, seeds, schedule).unwrap();
                arrivals.measure_from(hindmost_clock::Nanos(0));
                scheduled.extend((0..3).map(|_| arrivals.next_scheduled().0));
            }
            scheduled.sort_unstable();
            assert_eq!(scheduled, [0, 750, 750, 3_000, u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX]);
        }
        std::fs::remove_file(&file).unwrap();
    }
}
