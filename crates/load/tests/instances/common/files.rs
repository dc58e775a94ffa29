use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hindmost_histogram::hlog;
use hindmost_histogram::Histogram;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

/// A row of `samples-K.parquet` or `worst-K.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub due_ns: i64,
    pub sent_ns: Option<i64>,
    pub wire_out_ns: Option<i64>,
    pub wire_in_ns: Option<i64>,
    pub card_wire_ns: Option<i64>,
    pub done_ns: Option<i64>,
    pub kind: String,
    pub status: String,
    pub thread: i32,
    pub connection: i32,
    pub client_port: i32,
    /// Of request and reply.
    pub ends: (i64, i64),
}

impl Request {
    /// `done - due`; the largest number where it was never or too late answered.
    pub fn latency_ns(&self) -> i64 {
        match (self.done_ns, self.status.as_str()) {
            (Some(done), "hit" | "miss") => done - self.due_ns,
            _ => i64::MAX,
        }
    }
}

pub const COLUMNS: [&str; 13] = [
    "due_ns",
    "sent_ns",
    "wire_out_ns",
    "wire_in_ns",
    "card_wire_ns",
    "done_ns",
    "kind",
    "status",
    "thread",
    "connection",
    "client_port",
    "request_end",
    "reply_end",
];

pub fn requests(path: &Path) -> Vec<Request> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(columns, COLUMNS);
    reader.get_row_iter(None).unwrap().map(|row| request(&row.unwrap())).collect()
}

fn request(row: &Row) -> Request {
    let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
    let long = |at: usize| match fields[at] {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{other:?}"),
    };
    let text = |at: usize| match fields[at] {
        Field::Str(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let int = |at: usize| match fields[at] {
        Field::Int(value) => *value,
        other => panic!("{other:?}"),
    };
    Request {
        due_ns: long(0).unwrap(),
        sent_ns: long(1),
        wire_out_ns: long(2),
        wire_in_ns: long(3),
        card_wire_ns: long(4),
        done_ns: long(5),
        kind: text(6),
        status: text(7),
        thread: int(8),
        connection: int(9),
        client_port: int(10),
        ends: (long(11).unwrap(), long(12).unwrap()),
    }
}

/// The intervals of a log that carry `tag`, as one histogram, and how many there are.
pub fn intervals(path: &Path, tag: &str) -> (usize, Histogram) {
    let log = hlog::read(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut whole = Histogram::new();
    let mine = log.intervals.iter().filter(|one| one.tag.as_ref().is_some_and(|t| t.as_str() == tag));
    let n = mine.inspect(|one| whole.merge(&one.histogram)).count();
    (n, whole)
}
