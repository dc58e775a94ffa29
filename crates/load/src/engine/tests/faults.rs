//! The loop when the server or the network breaks.

use std::sync::Arc;

use hindmost_clock::Nanos;
use hindmost_histogram::Histogram;
use serde_json::{json, Value};

use super::any_server::next_get;
use super::fake::{Answer, Fake, HANDSHAKE_NS, HIT};
use super::{
    drive, driven, every_ms, open, plan, run_through, set_phases, worker_under, END, MEASURE, MS, START,
};
use crate::engine::control::Control;
use crate::engine::state::connections::UNANSWERED;
use crate::protocol::Memcached;
use crate::record::{Row, Status};
use crate::transport::{Source, Stamper};
use crate::LoadError;

#[test]
fn counts_balance_when_connections_break() {
    let mut fake = Fake::new(3, 2 * MS);
    fake.breaks = (0..30_u32).rev().map(|i| ((30 + 3 * u64::from(i)) * MS, i % 3)).collect();
    let run = driven(&plan(3, &open(5_000), &Value::Null), fake);
    assert_eq!(run.counts.scheduled, 500);
    assert!(run.counts.lost > 30 && run.counts.errors == run.counts.lost, "{:?}", run.counts);
    assert_eq!(run.reconnects, 30);
}

/// Create a server that announces a close after some replies, closes, and drops the requests behind them.
pub fn announcing(slots: u32, delay_ns: u64, closes: fn(u64) -> bool) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = next_get;
    fake.behaviour = Box::new(move |n, _| {
        let ends = closes(n);
        let word = if ends { "close" } else { "keep-alive" };
        let reply = format!("HTTP/1.1 200 OK\r\nConnection: {word}\r\nContent-Length: 2\r\n\r\nhi");
        Answer { ends, ..Answer::after(delay_ns, reply.as_bytes()) }
    });
    fake
}

pub fn http(rate: u32, connections: u32) -> hindmost_plan::Plan {
    let changes = json!({
        "target": {"protocol": "http", "address": "127.0.0.1:1"}, "workload": {"kind": "http", "paths": ["/a", "/b"]},
    });
    plan(connections, &open(rate), &changes)
}

#[test]
fn requests_behind_an_announced_close_are_resent_and_keep_their_scheduled_time() {
    let run = driven(&http(5_000, 3), announcing(3, 2 * MS, |n| n % 25 == 24));
    assert_eq!((run.counts.scheduled, run.counts.completed), (500, 500), "{:?}", run.counts);
    assert!(run.reconnects > 15 && run.resent > 30, "{} {}", run.reconnects, run.resent);
    // The server saw some of them twice, but not those written after it had closed.
    assert!((601..=600 + run.resent).contains(&run.fake.requests), "{} {}", run.fake.requests, run.resent);
    let waited: Vec<_> = run.rows.iter().filter(|row| row.completed_ns - row.scheduled_ns > 3 * MS).collect();
    assert!(waited.len() > 20, "{}", waited.len());
    for row in waited {
        assert!(row.sent_ns - row.scheduled_ns < MS, "the instrument was not late: {row:?}");
        assert_eq!(row.wire_out_ns, 0);
    }
}

#[test]
fn resent_requests_have_no_stamps_and_count_none_as_missing() {
    for source in [Source::Software, Source::Hardware] {
        let mut fake = announcing(3, 2 * MS, |n| n % 25 == 24);
        fake.stamper = Stamper::with_source(source);
        let mut plan = http(5_000, 3);
        plan.stamp_every = 1;
        let run = driven(&plan, fake);
        assert_eq!((run.counts.scheduled, run.counts.completed), (500, 500), "{:?}", run.counts);
        let (again, once): (Vec<&Row>, Vec<&Row>) = run.rows.iter().partition(|row| row.place.port == 0);
        assert!(again.len() > 20 && again.iter().all(|row| row.wire_out_ns == 0), "{}", again.len());
        // The server takes 2 ms for each request and handles them one at a time.
        assert!(once.iter().all(|row| (row.wire_in_ns - row.wire_out_ns) / MS == 2), "{once:?}");
        let stamps = run.recorder.stamps;
        assert_eq!((stamps.requested, stamps.received), (once.len() as u64, once.len() as u64), "{source:?}");
        assert_eq!(run.stamps.card_failed, None, "{source:?}");
    }
}

#[test]
fn a_request_resent_too_often_is_lost() {
    // Twice the server's capacity, so that the queue behind the closing reply keeps growing.
    let run = drive(&http(40_000, 2), announcing(2, 5 * MS, |n| n % 50 == 49));
    assert!(run.outcome.is_ok() && run.counts.is_balanced(), "{:?} {:?}", run.outcome, run.counts);
    assert!(run.counts.lost > 100, "{:?}", run.counts);
    assert!(run.ended.0 <= END + 70 * MS, "{}", run.ended);
    // The whole load has 4,800 requests.
    assert!((1_000..=8 * 4_800).contains(&run.resent), "{}", run.resent);
}

/// The behaviour of a hostile server.
type Action = (&'static str, fn(&mut Fake));

const HOSTILE: [Action; 11] = [
    ("never answers", |fake| fake.frozen = 0..u64::MAX),
    ("stops answering", |fake| fake.frozen = 50 * MS..u64::MAX),
    ("stops reading", |fake| fake.full = 50 * MS..u64::MAX),
    ("reads a byte at a time", |fake| fake.takes = 1),
    ("answers a byte at a time", |fake| {
        fake.behaviour = Box::new(|_, _| Answer {
            pieces: REPLY.iter().map(|&byte| vec![byte]).collect(),
            gap_ns: MS / 2,
            ..Answer::after(0, b"")
        });
    }),
    ("floods", |fake| {
        let flood =
            [b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n".to_vec(), vec![b'x'; 40_000]].concat();
        fake.behaviour = Box::new(move |_, _| Answer {
            pieces: flood.chunks(1_400).map(<[u8]>::to_vec).collect(),
            ..Answer::after(0, b"")
        });
    }),
    ("closes without a reply", |fake| {
        fake.behaviour = Box::new(|n, _| Answer { ends: n % 30 == 29, ..Answer::after(MS / 10, REPLY) });
    }),
    ("closes and says so", |fake| *fake = announcing(2, MS / 10, |n| n % 30 == 29)),
    ("closes after each reply", |fake| *fake = announcing(2, MS / 10, |_| true)),
    ("closes after each reply, and then takes no connection", |fake| {
        *fake = announcing(2, MS / 10, |_| true);
        fake.hangs = 60 * MS..u64::MAX;
    }),
    ("takes no new connection", |fake| {
        fake.breaks = vec![(60 * MS, 1), (60 * MS, 0)];
        fake.hangs = 60 * MS..u64::MAX;
    }),
];

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

#[test]
fn no_server_delays_the_end_of_a_run_beyond_the_timeout() {
    for (action, spoil) in HOSTILE {
        for (load, pacing) in
            [(open(1_000), "spin"), (open(50_000), "sleep"), (json!({"loop": "closed"}), "sleep")]
        {
            let mut fake = Fake::new(2, 0);
            fake.behaviour = Box::new(|_, _| Answer::after(MS / 10, REPLY));
            spoil(&mut fake);
            fake.framing = next_get;
            let mut plan = http(1_000, 2);
            plan.load = serde_json::from_value(load.clone()).unwrap();
            plan.pacing = serde_json::from_value(json!(pacing)).unwrap();
            let run = drive(&plan, fake);
            let ended_ms = run.ended.0 / MS;
            // The timeout, then the last stamps; a sleep may end 20 ms later.
            assert!(ended_ms <= END / MS + 50 + 10 + 20 + 5, "{action}, {load}, {pacing}: {ended_ms} ms");
            match run.outcome {
                Ok(()) => assert!(run.counts.is_balanced(), "{action}: {:?}", run.counts),
                Err(LoadError::ServerGone { .. }) => {}
                Err(other) => panic!("{action}, {load}, {pacing}: {other}"),
            }
        }
    }
}

#[test]
fn requests_to_resend_time_out_without_a_connection() {
    let mut fake = announcing(1, 2 * MS, |n| n == 230);
    fake.hangs = 110 * MS..u64::MAX;
    let run = driven(&http(2_000, 1), fake);
    assert_eq!((run.counts.lost, run.resent), (0, 0));
    assert!((3..=5).contains(&run.counts.timeouts), "{:?}", run.counts);
    assert!(run.counts.unsent > 0, "{:?}", run.counts);
}

#[test]
fn a_worker_reconnects_and_continues() {
    let mut fake = Fake::new(1, 100_000);
    fake.breaks = vec![(60 * MS + 50_000, 0)];
    fake.refuses = 60 * MS..90 * MS;
    let run = driven(&plan(1, &every_ms(), &Value::Null), fake);
    assert_eq!(run.counts.lost, 1, "the request that was under way");
    assert!((30..=50).contains(&run.counts.unsent), "{:?}", run.counts);
    assert!(run.rows.iter().filter(|row| row.scheduled_ns > 111 * MS).all(|row| row.status == Status::Hit));
}

#[test]
fn a_server_that_is_gone_is_reported() {
    // Killed early, or so late that the load ends before the limit.
    for killed in [30 * MS, END - 5 * MS] {
        let mut fake = Fake::new(2, 100_000);
        fake.breaks = vec![(killed, 1), (killed, 0)];
        fake.refuses = killed..u64::MAX;
        let long = json!({"timeout_s": 1.0});
        let run = drive(&plan(2, &every_ms(), &long), fake);
        let Err(LoadError::ServerGone { after_s, .. }) = run.outcome else { panic!("{:?}", run.outcome) };
        assert!((after_s - (killed - MS) as f64 / 1e9).abs() < 1e-3, "{after_s}");
    }
}

#[test]
fn a_hanging_connection_attempt_does_not_delay_the_end() {
    // Requests to be resent keep the load from ending.
    let mut fake = announcing(1, 2 * MS, |n| n == 230);
    fake.hangs = 110 * MS..u64::MAX;
    let mut plan = http(2_000, 1);
    plan.timeout_s = 30.0;
    let run = drive(&plan, fake);
    assert!(matches!(run.outcome, Err(LoadError::ServerGone { .. })), "{:?}", run.outcome);
    assert!(run.ended.0 < 110 * MS + UNANSWERED.0 + 100 * MS, "{}", run.ended.0);
}

#[test]
fn a_server_that_answers_handshakes_two_seconds_late_is_not_gone() {
    // The only connection closes, and the next handshake (SYN, TLS, a login) waits until the server runs
    // again. At first the connection may be refused, as during a restart.
    for refused in [0, 200 * MS] {
        let mut fake = announcing(1, 2 * MS, |n| n == 230);
        let closed = 110 * MS;
        fake.refuses = closed..closed + refused;
        fake.slow_handshake = (closed..1_000 * MS, 2_000 * MS);
        let mut plan = http(2_000, 1);
        plan.timeout_s = 30.0;
        let run = driven(&plan, fake);
        assert_eq!((run.counts.lost, run.counts.timeouts), (0, 0), "{refused}: {:?}", run.counts);
        assert!(run.resent > 0 && run.ended.0 > 2_000 * MS, "{refused}: {} {}", run.resent, run.ended);
    }
}

#[test]
fn an_interrupted_worker_does_not_report_the_server_as_gone() {
    let broken = 60 * MS;
    for stalled in (broken..broken + 2 * HANDSHAKE_NS).step_by(4_999) {
        let mut fake = Fake::new(1, 100_000);
        fake.breaks = vec![(broken, 0)];
        fake.stall = Some((stalled, 300 * MS));
        let run = driven(&plan(1, &every_ms(), &json!({"timeout_s": 3.0})), fake);
        assert!(run.counts.lost <= 1 && run.counts.is_balanced(), "{stalled}: {:?}", run.counts);
    }
}

#[test]
fn a_worker_interrupted_while_the_phases_are_set_counts_the_whole_measurement() {
    let plan = plan(2, &every_ms(), &json!({"timeout_s": 1.0, "pacing": "sleep"}));
    // In the middle of an iteration, which then finds a reply and newly scheduled requests.
    for stalled in (9 * MS..9 * MS + 3_000).step_by(100) {
        let control = Arc::new(Control::default());
        control.begin(Nanos(START));
        let mut fake = Fake::new(2, 100_000);
        fake.stall = Some((stalled, 80 * MS));
        let others = control.clone();
        fake.while_stalled = Some(Box::new(move || set_phases(&others)));
        let clock = fake.clock.clone();
        let mut worker = worker_under::<Memcached, Fake>(control, &plan, fake, clock);
        run_through(&mut worker, &plan).unwrap();
        let carried: u32 = worker.connections.all().iter().map(|one| one.measured).sum();
        let met = worker.recorder.outstanding.count();
        assert_eq!((carried, met, worker.recorder.kinds[0].counts.scheduled), (100, 100, 100), "{stalled}");
    }
}

#[test]
fn requests_beyond_the_outstanding_limit_are_unsent() {
    let mut fake = Fake::new(2, 100_000);
    fake.frozen = MEASURE - MS / 2..u64::MAX;
    let run = driven(&plan(2, &every_ms(), &json!({"max_outstanding": 10})), fake);
    assert_eq!(
        (run.counts.scheduled, run.counts.timeouts, run.counts.unsent),
        (100, 10, 90),
        "{:?}",
        run.counts
    );
    let unsent = run.rows.iter().find(|row| row.status == Status::Unsent).unwrap();
    assert_eq!((unsent.sent_ns, unsent.completed_ns), (0, 0));
    // Each of them has infinite latency.
    let mut whole = Histogram::new();
    run.recorder.kinds[0].latency.iter().for_each(|section| whole.merge(section));
    assert_eq!(whole.censored(), 100);
}

#[test]
fn unanswered_requests_time_out_after_the_load() {
    let mut fake = Fake::new(2, 100_000);
    fake.frozen = 101 * MS..u64::MAX;
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!((run.counts.completed, run.counts.timeouts), (80, 20));
    let timeout = 50 * MS;
    assert!((END + timeout..END + timeout + 21 * MS).contains(&run.ended.0), "{}", run.ended);
}

#[test]
fn requests_that_cannot_be_sent_within_the_timeout_are_unsent() {
    let mut fake = Fake::new(1, 100_000);
    fake.stall = Some((100 * MS, 200 * MS));
    let run = driven(&plan(1, &every_ms(), &Value::Null), fake);
    assert_eq!(run.counts.scheduled, 100);
    assert!(run.counts.unsent >= 20, "{:?}", run.counts);
}

#[test]
fn an_invalid_reply_is_an_error_of_its_request_alone() {
    let mut fake = Fake::new(2, 100_000);
    fake.behaviour =
        Box::new(|n, _| Answer::after(1000, if n == 50 { b"HTTP/1.1 400 Bad\r\n" } else { HIT }));
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!(
        (run.counts.scheduled, run.counts.lost, run.counts.completed),
        (100, 1, 99),
        "{:?}",
        run.counts
    );
    assert_eq!((run.unreadable, run.reconnects), (1, 0));
    assert!(run.first_error.contains("HTTP/1.1 400 Bad"), "{}", run.first_error);
}

#[test]
fn requests_behind_an_invalid_reply_are_resent() {
    let mut fake = announcing(1, 2 * MS, |_| false);
    fake.behaviour = Box::new(|n, _| Answer::after(2 * MS, if n == 100 { b"nonsense\r\n" } else { REPLY }));
    let run = driven(&http(2_000, 1), fake);
    assert_eq!(
        (run.counts.scheduled, run.counts.lost, run.counts.completed),
        (200, 1, 199),
        "{:?}",
        run.counts
    );
    assert!(run.resent > 0 && run.unreadable == 1, "{} {}", run.resent, run.unreadable);
}

#[test]
fn unrequested_bytes_break_only_their_connection() {
    let mut fake = Fake::new(2, 100_000);
    let twice = [HIT, b"ERROR Too many open connections\r\n"].concat();
    fake.behaviour = Box::new(move |n, _| Answer::after(1000, if n == 50 { &twice } else { HIT }));
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100), "{:?}", run.counts);
    assert_eq!((run.unreadable, run.first_error.as_str()), (1, "ERROR Too many open connections"));
}

#[test]
fn a_server_with_only_invalid_replies_does_not_end_the_run() {
    let mut fake = Fake::new(2, 100_000);
    fake.behaviour = Box::new(|_, _| Answer::after(1000, b"HTTP/1.1 400 Bad Request\r\n"));
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 0), "{:?}", run.counts);
    assert!(run.unreadable > 5, "{}", run.unreadable);
}

#[test]
fn a_server_that_closes_after_every_reply_is_reconnected_each_time() {
    let mut fake = Fake::new(2, 100_000);
    fake.behaviour = Box::new(|_, _| Answer { ends: true, ..Answer::after(100_000, HIT) });
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100), "{:?}", run.counts);
    assert!(run.reconnects + 1 >= run.fake.requests, "{} {}", run.reconnects, run.fake.requests);
}

#[test]
fn a_full_socket_buffer_delays_requests_but_loses_none() {
    let mut fake = Fake::new(2, 100_000);
    fake.full = 50 * MS..60 * MS;
    fake.takes = 7;
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    assert_eq!((run.counts.completed, run.fake.requests), (100, 119));
    let waited = run.rows.iter().filter(|row| row.completed_ns - row.scheduled_ns > MS / 2).count();
    assert!((9..=12).contains(&waited), "{waited}");
}

#[test]
fn values_of_a_megabyte_are_sent_piece_by_piece() {
    let mut fake = Fake::new(2, 100_000);
    fake.takes = 100_000;
    let large = json!({"workload": {"kind": "key-value", "get_ratio": 0.0, "value_bytes": 1_000_000}});
    let run = driven(&plan(2, &open(100), &large), fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (10, 10));
}
