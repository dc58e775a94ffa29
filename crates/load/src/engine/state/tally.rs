//! A worker's counts over all phases of the load.

use std::sync::atomic::Ordering;

use hindmost_clock::Nanos;

use crate::engine::control::Progress;
use crate::protocol::Protocol;
use crate::record::WindowRecorder;

/// A server that closes more than one connection for this many replies does not keep connections alive,
const REPLIES_PER_CLOSING: u64 = 10;
/// provided that every connection was closed this often: a single incident, which may close them all, does
/// not count.
const CLOSINGS_EACH: u64 = 4;
/// A server that has closed this many connections, and answered no more than once on each, closes after each
/// reply.
const CLOSES_EACH: u64 = 4;
/// Length of the stored beginning of an error, in bytes.
const ERROR_BYTES: usize = 120;

pub struct Tally {
    pub sent: u64,
    pub replies: u64,
    /// Connections closed by the server.
    pub closings: u64,
    /// Requests lost with their connections.
    pub lost: u64,
    pub resent: u64,
    /// Requests that the server refused individually.
    pub refused_streams: u64,
    /// Requests that the server did not process, according to its GOAWAY.
    pub left_alone: u64,
    /// Replies received after their requests had timed out, or for no request; datagrams only.
    pub late: u64,
    /// ICMP port unreachable errors from the server's host.
    pub refused: u64,
    /// Since when there were only such errors.
    pub refused_since: Option<Nanos>,
    /// Time spent in iterations that sent or received something.
    pub busy_ns: u64,
    /// Times that the server sent something other than a reply, or an unrequested reply.
    pub unreadable: u64,
    /// The beginning of the first of these.
    pub first_unreadable: String,
    /// The first line of the first error reply.
    pub first_error: String,
    windows: WindowRecorder,
    window: Nanos,
    window_ends: Nanos,
}

impl Tally {
    /// Create counts with a latency series of windows of the given length.
    pub fn new(window: Nanos) -> Self {
        Self {
            sent: 0,
            replies: 0,
            closings: 0,
            lost: 0,
            resent: 0,
            refused_streams: 0,
            left_alone: 0,
            late: 0,
            refused: 0,
            refused_since: None,
            busy_ns: 0,
            unreadable: 0,
            first_unreadable: String::with_capacity(256),
            first_error: String::with_capacity(256),
            windows: WindowRecorder::default(),
            window,
            window_ends: Nanos::MAX,
        }
    }

    /// Start the first window at `start`.
    pub fn begin(&mut self, start: Nanos) {
        self.window_ends = start.saturating_add(self.window);
    }

    #[inline]
    pub fn count_reply(&mut self, latency_ns: u64) {
        self.replies += 1;
        self.windows.record(latency_ns);
    }

    /// Whether the server keeps closing its connections, whose number is `connections`.
    pub fn closes_too_often(&self, connections: usize) -> bool {
        self.closings > CLOSINGS_EACH * connections as u64
            && self.closings * REPLIES_PER_CLOSING > self.replies
    }

    /// Whether the server closes its connections after each reply or after a few.
    pub fn closes_each(&self, connections: usize) -> bool {
        self.replies > 0
            && (self.closings >= self.replies.max(CLOSES_EACH) || self.closes_too_often(connections))
    }

    /// Keep the first line of the first error.
    #[cold]
    pub fn note_error(&mut self, head: &[u8]) {
        keep_first_line(&mut self.first_error, head);
    }

    /// Keep the text of the first reply that is an error or answers no request.
    #[cold]
    pub fn note_reply<P: Protocol>(&mut self, head: &[u8], unasked: bool) {
        if self.first_error.is_empty() {
            self.note_error(&P::error_text(head));
        }
        if unasked && self.first_unreadable.is_empty() {
            self.note_unreadable(&P::error_text(head));
        }
    }

    /// Keep the first line of the first unreadable bytes, which also count as an error.
    #[cold]
    pub fn note_unreadable(&mut self, bytes: &[u8]) {
        keep_first_line(&mut self.first_unreadable, bytes);
        self.note_error(bytes);
    }

    /// Whether a window has ended.
    #[inline]
    pub fn window_is_over(&self, now: Nanos) -> bool {
        now >= self.window_ends
    }

    /// Publish the windows that ended by `now` to the coordinator. The load started at `start`.
    pub fn publish(&mut self, now: Nanos, start: Nanos, progress: &Progress) {
        while self.window_is_over(now) {
            let at = self.window_ends.saturating_sub(start);
            progress.series.push(self.windows.close(at.0));
            self.window_ends += self.window;
        }
        progress.sent.store(self.sent, Ordering::Relaxed);
        progress.replies.store(self.replies, Ordering::Relaxed);
    }
}

fn keep_first_line(kept: &mut String, bytes: &[u8]) {
    if kept.is_empty() {
        let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or(bytes);
        kept.push_str(&String::from_utf8_lossy(&line[..line.len().min(ERROR_BYTES)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_of_the_first_error_is_kept() {
        let mut tally = Tally::new(Nanos(10));
        tally.note_error(b"SERVER_ERROR busy\r\nand more");
        tally.note_error(b"ERROR\r\n");
        assert_eq!(tally.first_error, "SERVER_ERROR busy");
        let mut long = Tally::new(Nanos(10));
        long.note_error(&[b'x'; 500]);
        assert_eq!(long.first_error.len(), ERROR_BYTES);
    }

    #[test]
    fn one_incident_does_not_count_as_frequent_closing() {
        for (closings, replies, habit) in
            [(4, 0, false), (8, 0, false), (9, 0, true), (9, 89, true), (9, 90, false)]
        {
            let tally = Tally { replies, closings, ..Tally::new(Nanos(10)) };
            assert_eq!(tally.closes_too_often(2), habit, "{closings} {replies}");
        }
    }

    #[test]
    fn a_server_that_closes_after_each_reply_is_recognised_early() {
        for (closings, replies, each) in
            [(3, 3, false), (4, 4, true), (5, 4, true), (4, 5, false), (4, 0, false), (9, 89, true)]
        {
            let tally = Tally { replies, closings, ..Tally::new(Nanos(10)) };
            assert_eq!(tally.closes_each(2), each, "{closings} {replies}");
        }
    }

    #[test]
    fn every_finished_window_is_published_even_if_empty() {
        let (mut tally, progress) = (Tally::new(Nanos(10)), Progress::new(10));
        tally.begin(Nanos(100));
        tally.sent = 3;
        tally.count_reply(7);
        assert!(!tally.window_is_over(Nanos(109)));
        tally.publish(Nanos(135), Nanos(100), &progress);
        let shown: Vec<u64> = progress.series.snapshot().iter().map(|window| window.count).collect();
        assert_eq!(shown, [1, 0, 0]);
        assert_eq!((progress.sent.load(Ordering::Relaxed), progress.replies.load(Ordering::Relaxed)), (3, 1));
    }
}
