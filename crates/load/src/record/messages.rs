//! Records of the messages of streamed replies.

use hindmost_histogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Row, Status};

/// Messages of one reply that arrived together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// When they arrived.
    pub at_ns: u64,
    /// When the message before them arrived; `None` if they are the first of their reply.
    pub before_ns: Option<u64>,
    /// How many they are; at least one.
    pub count: u32,
    /// Whether they arrived within the timeout of their request.
    pub in_time: bool,
}

/// Counts of messages, of requests scheduled in the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MessageCounts {
    /// Replies with a message, even if they were not completed.
    pub replies: u64,
    /// Their messages.
    pub messages: u64,
    /// Replies completed within the timeout without a message. They have no time to the first message.
    pub empty: u64,
}

impl MessageCounts {
    /// Add other counts.
    pub fn add(&mut self, other: &Self) {
        self.replies += other.replies;
        self.messages += other.messages;
        self.empty += other.empty;
    }
}

/// Messages of the replies to one kind of request.
#[derive(Clone, Debug, Default)]
pub struct MessageRecord {
    /// Times from the scheduled time to the first message.
    pub first: Histogram,
    /// Times between consecutive messages of a reply; 0 if they arrived together.
    pub gap: Histogram,
    /// Counts.
    pub counts: MessageCounts,
}

impl MessageRecord {
    /// Create a record and map its memory.
    pub fn new() -> Self {
        let mut record = Self::default();
        record.first.prefault();
        record.gap.prefault();
        record
    }

    /// Record messages of a reply to a request that was scheduled at `scheduled_ns`.
    #[inline]
    pub(super) fn record(&mut self, scheduled_ns: u64, messages: Messages) {
        let Messages { at_ns, before_ns, count, in_time } = messages;
        match before_ns {
            Some(before_ns) => self.gap.record(at_ns - before_ns),
            None if in_time => self.first.record(at_ns - scheduled_ns),
            None => self.first.add_censored(1),
        }
        self.gap.record_n(0, u64::from(count) - 1);
        self.counts.replies += u64::from(before_ns.is_none());
        self.counts.messages += u64::from(count);
    }

    /// Record the end of a request. A message that was never received is infinitely late: the first one, or
    /// the next one of a reply that is incomplete at its timeout.
    pub(super) fn record_end(&mut self, row: &Row) {
        match row.status {
            Status::Hit | Status::Miss => self.counts.empty += u64::from(!row.has_message),
            Status::Timeout | Status::Unsent if !row.has_message => self.first.add_censored(1),
            Status::Timeout if row.completed_ns == 0 => self.gap.add_censored(1),
            Status::Timeout | Status::Unsent | Status::Error | Status::Lost => {}
        }
    }

    /// Add the records of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.first.merge(&other.first);
        self.gap.merge(&other.gap);
        self.counts.add(&other.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_message_after_the_timeout_is_infinitely_late() {
        let mut record = MessageRecord::default();
        let late = Messages { at_ns: 9_000, before_ns: None, count: 1, in_time: false };
        record.record(1_000, late);
        record.record(1_000, Messages { at_ns: 9_500, before_ns: Some(9_000), ..late });
        assert_eq!((record.first.count(), record.first.censored()), (1, 1));
        assert_eq!((record.gap.count(), record.gap.censored(), record.gap.max()), (1, 0, Some(500)));
        assert_eq!(record.counts, MessageCounts { replies: 1, messages: 2, empty: 0 });
    }
}
