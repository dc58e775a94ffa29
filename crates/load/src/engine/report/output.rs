//! A client's result files. They are created before the first request is sent, so that an unwritable folder
//! fails at once.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hindmost_histogram::hlog::{self, Interval, Tag};
use hindmost_histogram::Histogram;
#[cfg(not(fuzzing))]
use hindmost_table::{TableError, Writer};

use super::result::ClientResult;
use crate::engine::control::Timeline;
use crate::record::{KindRecord, Recorder, Row, SECTIONS};
use crate::LoadError;

/// Columns of `samples-K.parquet` and `worst-K.parquet`. Times are nanoseconds since the start of the
/// measurement, except `card_wire_ns`, which is a duration. A missing time is null. `client_port`,
/// `request_end` and `reply_end` locate the last bytes of request and reply in the TCP stream: the offset
/// behind that byte.
#[cfg(not(fuzzing))]
const COLUMNS: &str = "message request {
    required int64 scheduled_ns;
    optional int64 sent_ns;
    optional int64 wire_out_ns;
    optional int64 wire_in_ns;
    optional int64 card_wire_ns;
    optional int64 completed_ns;
    required binary kind (UTF8);
    required binary status (UTF8);
    required int32 thread;
    required int32 connection;
    required int32 client_port;
    required int64 request_end;
    required int64 reply_end;
}";

/// One file, open for writing.
struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    fn create(path: PathBuf) -> Result<Self, LoadError> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(LoadError::Write { path, source }),
        }
    }

    /// Write the file and sync it to disk.
    fn fill(self, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), LoadError> {
        let mut writer = BufWriter::with_capacity(1 << 16, &self.file);
        fill(&mut writer)
            .and_then(|()| writer.flush())
            .and_then(|()| self.file.sync_all())
            .map_err(|source| LoadError::Write { path: self.path.clone(), source })
    }
}

/// The files of one client.
pub struct Outputs {
    result: Output,
    distributions: Output,
    samples: Output,
    worst: Output,
}

impl Outputs {
    /// Create the files of client `index` in the folder `place`.
    pub fn create(place: &Path, index: u32) -> Result<Self, LoadError> {
        Ok(Self {
            result: Output::create(place.join(format!("client-{index}.json")))?,
            distributions: Output::create(place.join(format!("client-{index}.hlog")))?,
            samples: Output::create(place.join(format!("samples-{index}.parquet")))?,
            worst: Output::create(place.join(format!("worst-{index}.parquet")))?,
        })
    }

    /// Write all files.
    pub fn write(
        self,
        result: &ClientResult,
        recorder: Recorder,
        kinds: &[String],
        timeline: Timeline,
        started: SystemTime,
    ) -> Result<(), LoadError> {
        self.distributions.fill(|out| {
            let intervals = intervals(&recorder, kinds, timeline);
            hlog::write(out, started, intervals).map_err(io::Error::other)
        })?;
        let (sample, worst) = (recorder.sample.into_vec(), recorder.worst.into_vec());
        self.samples.fill(|out| Ok(rows(out, &sample, kinds, timeline)?))?;
        self.worst.fill(|out| Ok(rows(out, &worst, kinds, timeline)?))?;
        // Written last: if this file is complete, so are the others.
        self.result.fill(|out| serde_json::to_writer(out, result).map_err(io::Error::other))
    }
}

/// Collect the histograms of the `.hlog` file by tag:
///
/// - `latency/KIND` by section; `service`, `send_delay`, `wire` and `overhead` of each kind as a whole
/// - `first_message/KIND` and `message_gap/KIND` if the messages of replies are recorded
/// - `outstanding`, `writes`, `held` if requests wait for batches, `ideal_send_delay` of an open loop
/// - `session`: durations of the sessions, if the requests form any
/// - `connect` and `handshake` if there were any, and the latency of each `endpoint/NUMBER` of several
/// - `gaps`, `scheduled_gaps` if recorded, and `calibration`
fn intervals<'r>(
    recorder: &'r Recorder,
    kinds: &[String],
    timeline: Timeline,
) -> Vec<Interval<&'r Histogram>> {
    let at = |moment: u64| moment.saturating_sub(timeline.start.0) as f64 / 1e9;
    let (from, to) = (timeline.measure.0, timeline.end.0);
    // The plan check has ensured that kind names are valid in tags.
    let tag = |what: &str, kind: &str| {
        Tag::new(if kind.is_empty() { what.to_owned() } else { format!("{what}/{kind}") }).ok()
    };
    let whole = |tag, histogram| Interval { tag, start_s: at(from), end_s: at(to), histogram };
    let mut all = Vec::new();
    for (kind, record) in kinds.iter().zip(&recorder.kinds) {
        let KindRecord { latency, service, send_delay, stamped, messages, .. } = record;
        for (i, histogram) in latency.iter().enumerate() {
            let edge = |i: usize| at(from + (to - from) / SECTIONS as u64 * i as u64);
            all.push(Interval { tag: tag("latency", kind), start_s: edge(i), end_s: edge(i + 1), histogram });
        }
        all.push(whole(tag("service", kind), service));
        all.push(whole(tag("send_delay", kind), send_delay));
        all.push(whole(tag("wire", kind), &stamped.wire));
        all.push(whole(tag("overhead", kind), &stamped.overhead));
        if let Some(messages) = messages {
            all.push(whole(tag("first_message", kind), &messages.first));
            all.push(whole(tag("message_gap", kind), &messages.gap));
        }
    }
    all.push(whole(tag("outstanding", ""), &recorder.outstanding));
    all.push(whole(tag("writes", ""), &recorder.writes));
    if recorder.held.count() > 0 {
        all.push(whole(tag("held", ""), &recorder.held));
    }
    if recorder.ideal_send_delay.count() > 0 {
        all.push(whole(tag("ideal_send_delay", ""), &recorder.ideal_send_delay));
    }
    if let Some(sessions) = &recorder.sessions {
        all.push(whole(tag("session", ""), &sessions.durations));
    }
    if recorder.connect.count() > 0 {
        all.push(whole(tag("connect", ""), &recorder.connect));
    }
    if recorder.handshake.count() > 0 {
        all.push(whole(tag("handshake", ""), &recorder.handshake));
    }
    for (number, endpoint) in recorder.endpoints.iter().enumerate() {
        all.push(whole(tag("endpoint", &number.to_string()), &endpoint.latency));
    }
    all.push(whole(tag("gaps", ""), &recorder.gaps.histogram));
    if let Some(scheduled) = &recorder.scheduled_gaps {
        all.push(whole(tag("scheduled_gaps", ""), &scheduled.histogram));
    }
    let calibration = &recorder.calibration;
    all.push(Interval {
        tag: tag("calibration", ""),
        start_s: at(timeline.calibrate.0),
        end_s: at(from),
        histogram: calibration,
    });
    all
}

/// Fuzz targets write no files. Without Parquet they build in half the time.
#[cfg(fuzzing)]
fn rows(_: impl Write, _: &[Row], _: &[String], _: Timeline) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(fuzzing))]
fn rows(
    out: impl Write + Send,
    rows: &[Row],
    kinds: &[String],
    timeline: Timeline,
) -> Result<(), TableError> {
    let since = |moment: u64| moment as i64 - timeline.measure.0 as i64;
    let moment = |moment: u64| (moment != 0).then(|| since(moment));
    let span = |span: u64| (span != 0).then_some(span as i64);
    let mut table = Writer::new(Box::new(out), COLUMNS)?;
    let mut group = table.begin_group()?;
    group.int64(rows.iter().map(|row| since(row.scheduled_ns)))?;
    group.optional_int64(rows.iter().map(|row| moment(row.sent_ns)))?;
    group.optional_int64(rows.iter().map(|row| moment(row.wire_out_ns)))?;
    group.optional_int64(rows.iter().map(|row| moment(row.wire_in_ns)))?;
    group.optional_int64(rows.iter().map(|row| span(row.card_wire_ns)))?;
    group.optional_int64(rows.iter().map(|row| moment(row.completed_ns)))?;
    group.text(rows.iter().map(|row| kinds[usize::from(row.kind.0)].as_str()))?;
    group.text(rows.iter().map(|row| row.status.name()))?;
    group.int32(rows.iter().map(|row| i32::from(row.thread)))?;
    group.int32(rows.iter().map(|row| row.connection as i32))?;
    group.int32(rows.iter().map(|row| i32::from(row.place.port)))?;
    group.int64(rows.iter().map(|row| row.place.request_end as i64))?;
    group.int64(rows.iter().map(|row| row.place.reply_end as i64))?;
    group.close()?;
    table.finish()
}
