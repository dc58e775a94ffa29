//! An instance's words over its standard input and output: one JSON document a line.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_load::engine::{Command, Controller, Event};
use hindmost_load::LoadError;
use hindmost_sys::{file, poll};

/// The pipe to whoever started this process.
#[derive(Default)]
pub struct Pipe {
    heard: Vec<u8>,
}

impl Controller for Pipe {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        let mut line = serde_json::to_vec(event).map_err(|_| LoadError::Aborted)?;
        line.push(b'\n');
        let mut out = io::stdout().lock();
        // Nobody reads any more: whoever started us is gone.
        out.write_all(&line).and_then(|()| out.flush()).map_err(|_| LoadError::Aborted)
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        if !self.heard.contains(&b'\n') && !self.read(patience)? {
            return Ok(None);
        }
        let Some(end) = self.heard.iter().position(|&b| b == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        Ok(serde_json::from_slice(&line).ok())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(file::stdin())
    }
}

impl Pipe {
    /// Waits for input and takes what is there; `false` when the patience is over.
    fn read(&mut self, patience: Nanos) -> Result<bool, LoadError> {
        if !poll::readable([file::stdin()], Duration::from_nanos(patience.0)).unwrap_or(false) {
            return Ok(false);
        }
        let mut bytes = [0u8; 4096];
        // Past the standard library's buffer, in which poll(2) cannot see what is left.
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
