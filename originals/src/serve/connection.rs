//! A client's connection as workers see it: it sends replies in the order of its requests.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::{Mutex, MutexGuard};

use mio::net::TcpStream;

/// A client that does not read its replies for this long, in ms, is dropped.
const PATIENCE_MS: i32 = 1000;

/// Replies are sent in the order of the requests, as HTTP requires, whichever worker finishes first.
pub struct Connection {
    pub stream: TcpStream,
    replies: Mutex<Replies>,
}

#[derive(Default)]
struct Replies {
    next: u64,
    early: BTreeMap<u64, Vec<u8>>,
    /// The turn after which the connection ends.
    last: Option<u64>,
    broken: bool,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, replies: Mutex::default() }
    }

    /// Write the reply of this turn, and later ones that waited for it.
    pub fn reply(&self, turn: u64, reply: Vec<u8>) {
        let mut replies = self.replies();
        replies.early.insert(turn, reply);
        while let Some(reply) = {
            let next = replies.next;
            replies.early.remove(&next)
        } {
            if !replies.broken && !self.write(&reply) {
                replies.broken = true;
            }
            if replies.broken || replies.last == Some(replies.next) {
                // The end of the stream notifies the reader. It may have ended already, which is
                // fine.
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
                replies.broken = true;
            }
            replies.next += 1;
        }
    }

    /// Declare the reply of this turn to be the last.
    pub fn ends_with(&self, turn: u64) {
        self.replies().last = Some(turn);
    }

    fn replies(&self) -> MutexGuard<'_, Replies> {
        self.replies.lock().expect("no holder panics")
    }

    /// Replies are small, so the socket nearly always accepts them at once; otherwise the worker waits for
    /// space.
    fn write(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return false,
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut poll =
                        libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                    // SAFETY: one valid entry for the duration of the call.
                    if unsafe { libc::poll(&raw mut poll, 1, PATIENCE_MS) } != 1 {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }
}
