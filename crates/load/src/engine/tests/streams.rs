//! Streamed replies: when their messages arrive, and replies without any.

use serde_json::json;

use super::any_server::next_get;
use super::fake::{Answer, Fake};
use super::{driven, open, plan, Driven, MS};
use crate::record::{MessageCounts, MessageRecord};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENT: &str = "9\r\ndata: a\n\n\r\n";
const COMMENT: &str = "8\r\n: idle\n\n\r\n";
const END: &str = "0\r\n\r\n";
/// Most that the fake kernel's polls and writes add to a time.
const SLACK: u64 = MS / 10;

/// Measure one request each millisecond. The server answers the n-th with `pieces(n)`: the first after 1 ms,
/// and the others half a millisecond apart.
fn run(pieces: impl Fn(u64) -> Vec<String> + 'static) -> Driven {
    let connections = 30;
    let mut fake = Fake::new(connections, 0);
    fake.framing = next_get;
    fake.behaviour = Box::new(move |n, _| Answer {
        pieces: pieces(n).into_iter().map(String::into_bytes).collect(),
        gap_ns: MS / 2,
        ..Answer::after(MS, b"")
    });
    let changes = json!({
        "target": {"protocol": "http", "address": "127.0.0.1:1"}, "workload": {"kind": "http"}, "stream": true,
    });
    let run = driven(&plan(connections, &open(1_000), &changes), fake);
    assert_eq!((run.counts.scheduled, run.counts.errors), (100, 0), "{:?}", run.counts);
    run
}

fn strings(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|&piece| piece.to_owned()).collect()
}

fn messages(run: &Driven) -> &MessageRecord {
    run.recorder.kinds[0].messages.as_ref().unwrap()
}

fn assert_near(found: Option<u64>, expected: u64) {
    let found = found.unwrap();
    assert!(found.abs_diff(expected) < SLACK, "{found} for {expected}");
}

#[test]
fn the_first_message_counts_from_the_schedule_and_the_others_from_the_message_before() {
    let run = run(|_| strings(&[HEAD, EVENT, COMMENT, EVENT, EVENT, END]));
    assert_eq!(run.counts.completed, 100, "{:?}", run.counts);
    let MessageRecord { first, gap, counts } = messages(&run);
    assert_eq!(*counts, MessageCounts { replies: 100, messages: 300, empty: 0 });
    assert_eq!((first.count(), gap.count()), (100, 200));
    assert_near(first.min(), 3 * MS / 2);
    assert_near(first.max(), 3 * MS / 2);
    assert_near(gap.min(), MS / 2);
    assert_near(gap.max(), MS);
    assert!(run.rows.iter().all(|row| row.has_message && row.completed_ns - row.scheduled_ns > 3 * MS));
}

#[test]
fn messages_that_arrive_together_have_no_gap() {
    let run = run(|_| strings(&[HEAD, &EVENT.repeat(3), &format!("{EVENT}{END}")]));
    let MessageRecord { gap, counts, .. } = messages(&run);
    assert_eq!(*counts, MessageCounts { replies: 100, messages: 400, empty: 0 });
    assert_eq!((gap.count(), gap.min(), gap.count_above(0)), (300, Some(0), 100));
    assert_near(gap.max(), MS / 2);
}

#[test]
fn a_message_that_never_comes_is_infinitely_late() {
    let stalled = run(|n| strings(if n % 10 == 0 { &[HEAD, EVENT] } else { &[HEAD, EVENT, EVENT, END] }));
    assert_eq!((stalled.counts.completed, stalled.counts.timeouts), (90, 10));
    let MessageRecord { first, gap, counts } = messages(&stalled);
    assert_eq!(*counts, MessageCounts { replies: 100, messages: 190, empty: 0 });
    assert_eq!((first.count(), first.censored(), gap.count(), gap.censored()), (100, 0, 100, 10));

    let silent = run(|n| strings(if n % 10 == 0 { &[HEAD] } else { &[HEAD, EVENT, END] }));
    let MessageRecord { first, gap, counts } = messages(&silent);
    assert_eq!(*counts, MessageCounts { replies: 90, messages: 90, empty: 0 });
    assert_eq!((first.count(), first.censored(), gap.count()), (100, 10, 0));
}

#[test]
fn complete_replies_without_a_message_are_only_counted() {
    let run = run(|n| match n % 4 {
        0 => strings(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"]),
        1 => strings(&[HEAD, COMMENT, END]),
        _ => strings(&[HEAD, EVENT, END]),
    });
    let MessageRecord { first, counts, .. } = messages(&run);
    assert_eq!(*counts, MessageCounts { replies: 50, messages: 50, empty: 50 });
    assert_eq!((first.count(), first.censored(), run.counts.completed), (50, 0, 100));
}
