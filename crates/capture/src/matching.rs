//! Compares the requests that a client measured with a capture of the same bytes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hindmost_table::{read_integers, TableError, Writer, NULL};
use serde::Serialize;
use thiserror::Error;

use crate::flow::Side;
use crate::stamps::Stamps;
use crate::CaptureError;

/// Columns of `witness-K.parquet`. The first five are the client's, in nanoseconds since the start of the
/// measurement; the last two are the capture's, in nanoseconds since the epoch.
pub const COLUMNS: [&str; 7] = [
    "scheduled_ns",
    "sent_ns",
    "wire_out_ns",
    "wire_in_ns",
    "completed_ns",
    "capture_out_ns",
    "capture_in_ns",
];

/// The reason why requests cannot be matched with a capture.
#[derive(Debug, Error)]
pub enum MatchError {
    /// The capture cannot be read.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// The rows cannot be read, or the output cannot be written.
    #[error("{0}")]
    Rows(#[from] TableError),
}

/// Counts of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatchCounts {
    /// Answered requests among the rows.
    pub answered: u64,
    /// Answered requests whose request and reply are in the capture.
    pub matched: u64,
    /// `MatchCounts` requests that the kernel stamped, too.
    pub stamped: u64,
    /// Packets in the captures.
    pub packets: u64,
}

/// Find the answered requests of `samples` in captures of the server's `port`, and write the matched ones to `out`.
///
/// # Errors
/// [`MatchError`] if a file cannot be read or written.
pub fn match_rows(
    captures: &[&Path],
    port: u16,
    samples: &Path,
    out: &Path,
) -> Result<MatchCounts, MatchError> {
    let mut stamps = Stamps::default();
    for path in captures {
        let file = File::open(path).map_err(CaptureError::from)?;
        stamps.read(BufReader::with_capacity(1 << 20, file), port)?;
    }
    let mut rows = read_integers(samples, &COLUMNS[..5])?;
    let places = read_integers(samples, &["client_port", "request_end", "reply_end"])?;
    let mut counts = MatchCounts { packets: stamps.packets, ..MatchCounts::default() };
    let mut kept: Vec<Vec<i64>> = vec![Vec::new(); COLUMNS.len()];
    for at in 0..places[0].len() {
        let (end, reply_end) = (places[1][at] as u64, places[2][at] as u64);
        let Ok(client) = u16::try_from(places[0][at]) else { continue };
        if reply_end == 0 {
            continue;
        }
        counts.answered += 1;
        let seen =
            stamps.time_of(client, Side::Request, end).zip(stamps.time_of(client, Side::Reply, reply_end));
        let Some((out_ns, in_ns)) = seen else { continue };
        counts.matched += 1;
        counts.stamped += u64::from(rows[2][at] != NULL && rows[3][at] != NULL);
        for (column, mine) in kept.iter_mut().zip(&rows) {
            column.push(mine[at]);
        }
        kept[5].push(out_ns as i64);
        kept[6].push(in_ns as i64);
    }
    rows.clear();
    write(File::create(out).map_err(CaptureError::from)?, &kept)?;
    Ok(counts)
}

fn write(out: File, columns: &[Vec<i64>]) -> Result<(), TableError> {
    let fields = COLUMNS.map(|name| format!("optional int64 {name};")).concat();
    let mut writer = Writer::new(Box::new(out), &format!("message request {{ {fields} }}"))?;
    let mut group = writer.begin_group()?;
    for column in columns {
        group.optional_int64(column.iter().map(|&value| Some(value).filter(|&value| value != NULL)))?;
    }
    group.close()?;
    writer.finish()
}
