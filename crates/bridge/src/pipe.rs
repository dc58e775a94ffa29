//! Messages of a client over its standard input and output: one JSON document per line.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_load::engine::{Command, Controller, Event};
use hindmost_load::LoadError;
use hindmost_sys::shared::SharedWords;
use hindmost_sys::{file, poll};

/// The pipe to the process that started this one.
pub struct Pipe {
    heard: Vec<u8>,
    live: Option<Arc<SharedWords>>,
}

impl Controller for Pipe {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        let mut line = serde_json::to_vec(event).map_err(|_| LoadError::Aborted)?;
        line.push(b'\n');
        let mut out = io::stdout().lock();
        // A write fails if the process that started this one has ended.
        out.write_all(&line).and_then(|()| out.flush()).map_err(|_| LoadError::Aborted)
    }

    fn next_command(&mut self, timeout: Nanos) -> Result<Option<Command>, LoadError> {
        if !self.heard.contains(&b'\n') && !self.read(timeout)? {
            return Ok(None);
        }
        let Some(end) = self.heard.iter().position(|&b| b == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        Ok(serde_json::from_slice(&line).ok())
    }

    fn live_memory(&self) -> Option<Arc<SharedWords>> {
        self.live.clone()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(file::stdin())
    }
}

impl Pipe {
    /// Create a pipe. `live` is the file of the counters that its other end reads.
    pub fn new(live: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| SharedWords::map(File::options().read(true).write(true).open(path)?);
        Ok(Self { heard: Vec::new(), live: live.map(open).transpose()?.map(Arc::new) })
    }

    /// Wait for input and read it; return `false` after the timeout.
    fn read(&mut self, timeout: Nanos) -> Result<bool, LoadError> {
        if !poll::readable([file::stdin()], Duration::from_nanos(timeout.0)).unwrap_or(false) {
            return Ok(false);
        }
        let mut bytes = [0u8; 4096];
        // This bypasses the standard library's buffer, whose content poll(2) does not see.
        match file::read(file::stdin(), &mut bytes) {
            Ok(0) => Err(LoadError::Aborted),
            Ok(n) => {
                self.heard.extend_from_slice(&bytes[..n]);
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }
}
