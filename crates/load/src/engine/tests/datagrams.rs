//! The loop with lost, late and refused datagrams.

use serde_json::{json, Value};

use super::fake::{Answer, Fake};
use super::{drive, driven, open, plan, END, MEASURE, MS};
use crate::record::Status;
use crate::LoadError;

/// Extract a datagram with its length prefix.
fn next_datagram(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = 2 + usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]));
    (bytes.len() >= length).then(|| bytes.drain(..length).collect())
}

/// Return the reply to a question: the same id and no error.
fn reply(request: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 12, request[2], request[3], 0x80, 0];
    bytes.resize(14, 0);
    bytes
}

/// Create a DNS server that answers question n after `delay_ns` with `pieces(n, reply)`.
fn server(slots: u32, delay_ns: u64, mut pieces: impl FnMut(u64, Vec<u8>) -> Vec<Vec<u8>> + 'static) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = next_datagram;
    fake.behaviour = Box::new(move |n, request| Answer {
        pieces: pieces(n, reply(request)),
        ..Answer::after(delay_ns, b"")
    });
    fake
}

fn dns(connections: u32, changes: &Value) -> hindmost_plan::Plan {
    let mut all = json!({
        "target": {"protocol": "dns", "address": "127.0.0.1:1"},
        "workload": {"kind": "dns"},
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    plan(connections, &open(1_000), &all)
}

#[test]
fn a_lost_datagram_is_a_timeout_of_its_request_alone() {
    let lost = server(2, MS / 10, |n, reply| if n % 10 == 3 { Vec::new() } else { vec![reply] });
    let run = driven(&dns(2, &Value::Null), lost);
    assert_eq!(
        (run.counts.scheduled, run.counts.completed, run.counts.timeouts),
        (100, 90, 10),
        "{:?}",
        run.counts
    );
    assert_eq!((run.late, run.refused, run.reconnects), (0, 0, 0));
    for row in run.rows.iter().filter(|row| row.status == Status::Hit) {
        assert!(row.completed_ns - row.sent_ns < MS / 5, "{row:?}");
    }
}

#[test]
fn a_reply_after_the_timeout_is_late_and_answers_no_request() {
    // Every tenth reply waits in the network for 80 ms; the timeout is 50 ms.
    let mut held: Vec<(u64, Vec<u8>)> = Vec::new();
    let late = server(1, MS / 10, move |n, reply| {
        let mut pieces = Vec::new();
        if held.first().is_some_and(|(at, _)| at + 80 <= n) {
            pieces.push(held.remove(0).1);
        }
        if n % 10 == 3 {
            held.push((n, reply));
        } else {
            pieces.push(reply);
        }
        pieces
    });
    let run = driven(&dns(1, &Value::Null), late);
    assert_eq!((run.counts.completed, run.counts.timeouts), (90, 10), "{:?}", run.counts);
    // Of the 120 questions since the warm-up, those of the last 80 ms have no late reply yet.
    assert_eq!(run.late, 4, "3, 13, 23 and 33");
    assert!(run
        .rows
        .iter()
        .filter(|row| row.status == Status::Hit)
        .all(|row| row.completed_ns - row.sent_ns < MS));
}

#[test]
fn replies_in_any_order_answer_their_requests() {
    let mut first: Option<Vec<u8>> = None;
    let swapped = server(1, MS / 10, move |_, reply| match first.take() {
        None => {
            first = Some(reply);
            Vec::new()
        }
        Some(earlier) => vec![reply, earlier],
    });
    let run = driven(&dns(1, &Value::Null), swapped);
    // The last request waits for a second one that never comes.
    assert!(run.counts.completed >= 99, "{:?}", run.counts);
    let answered = run.rows.iter().filter(|row| row.status == Status::Hit);
    let waits: Vec<u64> = answered.map(|row| (row.completed_ns - row.scheduled_ns) / MS).collect();
    assert!(waits.chunks_exact(2).all(|two| two == [1, 0] || two == [0, 1]), "{waits:?}");
}

#[test]
fn a_closed_port_is_an_error_and_the_socket_works_again_when_the_server_is_back() {
    let mut fake = server(2, MS / 10, |_, reply| vec![reply]);
    fake.closed_port = MEASURE + 20 * MS..MEASURE + 60 * MS;
    let run = driven(&dns(2, &Value::Null), fake);
    assert_eq!((run.counts.errors, run.counts.lost, run.counts.completed), (40, 40, 60), "{:?}", run.counts);
    assert!((2..=40).contains(&run.refused) && run.reconnects == 0, "{} {}", run.refused, run.reconnects);
}

#[test]
fn a_server_whose_port_stays_closed_is_gone() {
    let mut fake = server(2, MS / 10, |_, reply| vec![reply]);
    fake.closed_port = END - 30 * MS..u64::MAX;
    match drive(&dns(2, &Value::Null), fake).outcome {
        Err(LoadError::ServerGone { lost, .. }) => assert!(lost > 20, "{lost}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_of_datagrams_is_one_write() {
    let changes = json!({"batching": {"interval": {"seconds": 4e-3}}});
    let run = driven(&dns(1, &changes), server(1, MS / 10, |_, reply| vec![reply]));
    assert_eq!((run.counts.completed, run.recorder.writes.max()), (100, Some(4)));
}
