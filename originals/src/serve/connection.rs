//! A client's connection, as workers see it: a place for replies, in the order of its requests.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::{Mutex, MutexGuard};

use mio::net::TcpStream;

/// A client that stays away from its replies for this long is given up.
const PATIENCE_MS: i32 = 1000;

/// Replies leave in the order of the requests, as HTTP wants it, whichever worker is ready first.
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

    /// Writes the reply to the request with this turn, and those that waited for it.
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
                // The reader is told by the end of the stream. It may be gone already, which is as good.
                let _ = self.stream.shutdown(std::net::Shutdown::Both);
                replies.broken = true;
            }
            replies.next += 1;
        }
    }

    /// Says that no reply follows the one with this turn.
    pub fn ends_with(&self, turn: u64) {
        self.replies().last = Some(turn);
    }

    fn replies(&self) -> MutexGuard<'_, Replies> {
        self.replies.lock().expect("no holder panics")
    }

    /// Replies are small, so the socket nearly always takes them whole; else the worker waits for room.
    fn write(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return false,
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let mut poll =
                        libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                    // SAFETY: one valid entry, for as long as the call lasts.
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
