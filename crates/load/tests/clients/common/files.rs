use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hindmost_histogram::hlog;
use hindmost_histogram::Histogram;
use hindmost_table::{column_kinds, read_integers, read_texts, NULL};

/// A row of `samples-K.parquet` or `worst-K.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub scheduled_ns: i64,
    pub sent_ns: Option<i64>,
    pub wire_out_ns: Option<i64>,
    pub wire_in_ns: Option<i64>,
    pub card_wire_ns: Option<i64>,
    pub completed_ns: Option<i64>,
    pub kind: String,
    pub status: String,
    pub thread: i32,
    pub connection: i32,
    pub client_port: i32,
    /// Stream offsets of the ends of request and reply.
    pub ends: (i64, i64),
}

impl Request {
    /// Return `done - scheduled`, or the largest number for a request that was answered late or never.
    pub fn latency_ns(&self) -> i64 {
        match (self.completed_ns, self.status.as_str()) {
            (Some(done), "hit" | "miss") => done - self.scheduled_ns,
            _ => i64::MAX,
        }
    }
}

pub const COLUMNS: [&str; 13] = [
    "scheduled_ns",
    "sent_ns",
    "wire_out_ns",
    "wire_in_ns",
    "card_wire_ns",
    "completed_ns",
    "kind",
    "status",
    "thread",
    "connection",
    "client_port",
    "request_end",
    "reply_end",
];

pub fn requests(path: &Path) -> Vec<Request> {
    let names: Vec<String> = column_kinds(path).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, COLUMNS);
    let (texts, integers): (Vec<_>, Vec<_>) =
        COLUMNS.iter().partition(|name| ["kind", "status"].contains(*name));
    let texts = read_texts(path, &texts).unwrap();
    let integers = read_integers(path, &integers).unwrap();
    let request = |row: usize| {
        let required = |at: usize| integers[at][row];
        let optional = |at: usize| Some(required(at)).filter(|&value| value != NULL);
        Request {
            scheduled_ns: required(0),
            sent_ns: optional(1),
            wire_out_ns: optional(2),
            wire_in_ns: optional(3),
            card_wire_ns: optional(4),
            completed_ns: optional(5),
            kind: texts[0][row].clone(),
            status: texts[1][row].clone(),
            thread: required(6) as i32,
            connection: required(7) as i32,
            client_port: required(8) as i32,
            ends: (required(9), required(10)),
        }
    };
    (0..texts[0].len()).map(request).collect()
}

/// Return the number of intervals with the tag `tag` in a log, and their merged histogram.
pub fn intervals(path: &Path, tag: &str) -> (usize, Histogram) {
    let log = hlog::read(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut whole = Histogram::new();
    let mine = log.intervals.iter().filter(|one| one.tag.as_ref().is_some_and(|t| t.as_str() == tag));
    let n = mine.inspect(|one| whole.merge(&one.histogram)).count();
    (n, whole)
}
