//! Packet captures: requests and their replies as arrays.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use hindmost_capture::{exchanges, match_rows, CaptureError, Exchange, Outcome, Protocol};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

/// JSON text with `flows` and `counts`; then native u64 bytes of flow, `out_ns`, `in_ns`, `request_bytes`,
/// `reply_bytes`, outcome (0 hit, 1 miss, 2 error), with one entry per exchange.
type Found<'py> = (String, [Bound<'py, PyBytes>; 6]);

/// Return all exchanges of a pcap file with the server's port.
#[pyfunction]
pub fn capture_exchanges<'py>(
    py: Python<'py>,
    path: PathBuf,
    server_port: u16,
    protocol: &str,
) -> PyResult<Found<'py>> {
    let protocol = Protocol::from_name(protocol)
        .ok_or_else(|| PyValueError::new_err(format!("unknown protocol {protocol:?}")))?;
    let found = py.detach(|| {
        let fail = |why: CaptureError| raise("capture", &format!("{}: {why}", path.display()));
        let file = File::open(&path).map_err(|e| fail(e.into()))?;
        exchanges(BufReader::with_capacity(1 << 20, file), server_port, protocol).map_err(fail)
    })?;
    let text = serde_json::to_string(&serde_json::json!({"flows": found.flows, "counts": found.counts}))
        .map_err(|e| raise("capture", &e.to_string()))?;
    let column = |part: fn(&Exchange) -> u64| {
        PyBytes::new_with(py, found.all.len() * 8, |bytes| {
            for (eight, one) in bytes.chunks_exact_mut(8).zip(&found.all) {
                eight.copy_from_slice(&part(one).to_ne_bytes());
            }
            Ok(())
        })
    };
    Ok((
        text,
        [
            column(|one| u64::from(one.flow))?,
            column(|one| one.out_ns)?,
            column(|one| one.in_ns)?,
            column(|one| one.request_bytes)?,
            column(|one| one.reply_bytes)?,
            column(|one| match one.outcome {
                Outcome::Hit => 0,
                Outcome::Miss => 1,
                Outcome::Error => 2,
            })?,
        ],
    ))
}

/// Find the requests of a client's rows in captures, write them with the capture's stamps, and return the counts as
/// JSON text.
#[pyfunction]
pub fn match_capture(
    py: Python<'_>,
    captures: Vec<PathBuf>,
    server_port: u16,
    samples: PathBuf,
    out: PathBuf,
) -> PyResult<String> {
    py.detach(|| {
        let captures: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
        let counts = match_rows(&captures, server_port, &samples, &out)
            .map_err(|e| raise("capture", &format!("{}: {e}", samples.display())))?;
        serde_json::to_string(&counts).map_err(|e| raise("capture", &e.to_string()))
    })
}
