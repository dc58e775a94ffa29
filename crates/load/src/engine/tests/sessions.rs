//! Connections with sessions: openings, replies in any order, control messages, limits and goodbyes.

use serde_json::{json, Value};

use super::fake::{Answer, Fake, GAP_NS, HANDSHAKE_NS, HIT};
use super::toy::{line, Toy};
use super::{drive_codec, driven, every_ms, open, plan, Driven, END, MS};
use crate::protocol::Refusal;
use crate::record::Status;
use crate::transport::{Source, Stamper};
use crate::LoadError;

/// Create a server that accepts `most` requests at once and answers each after `delay_ns` with `reply(tag)`.
fn toy(slots: u32, most: u32, delay_ns: u64, mut reply: impl FnMut(u32) -> String + 'static) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = |bytes| line(bytes).map(|(end, ..)| end).map(|end| bytes.drain(..end).collect());
    fake.behaviour = Box::new(move |_, request| match line(request) {
        Some((_, b"hello", _)) => Answer::after(delay_ns, format!("ok {most}\n").as_bytes()),
        Some((_, b"ask", tag)) => Answer::after(delay_ns, reply(tag).as_bytes()),
        Some((_, b"pong", _)) => Answer { pieces: Vec::new(), ..Answer::after(0, b"") },
        _ => panic!("{:?}", String::from_utf8_lossy(request)),
    });
    fake
}

/// Create a server that answers in order.
fn orderly(slots: u32, most: u32, delay_ns: u64) -> Fake {
    toy(slots, most, delay_ns, |tag| format!("re {tag}\n"))
}

fn toy_plan(connections: u32, load: &Value, changes: &Value) -> hindmost_plan::Plan {
    let mut all = json!({
        "target": {"protocol": "http", "address": "127.0.0.1:1"}, "workload": {"kind": "http", "paths": ["/a"]},
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    plan(connections, load, &all)
}

fn run(load: &Value, connections: u32, fake: Fake) -> Driven {
    let run = drive_codec::<Toy>(&toy_plan(connections, load, &Value::Null), fake);
    if let Err(e) = &run.outcome {
        panic!("{e}");
    }
    assert!(run.counts.is_balanced(), "{:?}", run.counts);
    run
}

/// Set the server's reaction to its n-th hello.
fn greeting(fake: &mut Fake, mut greet: impl FnMut(u64) -> Answer + 'static) {
    let mut usual = std::mem::replace(&mut fake.behaviour, Box::new(|_, _| Answer::after(0, b"")));
    let mut hellos = 0;
    fake.behaviour = Box::new(move |n, request| {
        if request == b"hello\n" {
            hellos += 1;
            return greet(hellos);
        }
        usual(n, request)
    });
}

#[test]
fn an_opening_may_be_split_and_no_request_precedes_its_end() {
    let mut fake = orderly(3, 8, MS / 10);
    greeting(&mut fake, |_| Answer {
        pieces: b"wait\nwait\nok 8\n".iter().map(|&byte| vec![byte]).collect(),
        gap_ns: GAP_NS,
        ..Answer::after(MS / 10, b"")
    });
    fake.takes = 3;
    let run = run(&every_ms(), 3, fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100));
    for slot in 0..3 {
        let sent: Vec<u8> =
            run.fake.wire.iter().filter(|one| one.slot == slot).flat_map(|one| one.bytes.clone()).collect();
        assert!(sent.starts_with(b"hello\npong 0\npong 0\nask 0\n"), "{}", String::from_utf8_lossy(&sent));
    }
}

#[test]
fn bytes_after_an_opening_in_the_same_packet_are_read() {
    let mut fake = orderly(1, 8, MS / 10);
    greeting(&mut fake, |_| Answer::after(0, b"ok 8\nping 7\npi"));
    let mut usual = fake.behaviour;
    let mut first = true;
    fake.behaviour = Box::new(move |n, request| {
        let mut answer = usual(n, request);
        if std::mem::take(&mut first) && request.starts_with(b"ask") {
            answer.pieces.insert(0, b"ng 8\n".to_vec());
        }
        if request.starts_with(b"ask 0") {
            answer.pieces.insert(0, b"ng 8\n".to_vec());
        }
        answer
    });
    let run = run(&every_ms(), 1, fake);
    let pongs = run.fake.wire.iter().filter(|one| one.bytes.starts_with(b"pong")).count();
    assert_eq!((run.counts.completed, pongs), (100, 1), "both pongs in one write");
}

#[test]
fn a_refusal_of_the_first_connection_ends_the_run_with_its_reason() {
    let mut fake = orderly(2, 8, 0);
    greeting(&mut fake, |_| Answer::after(0, b"no password\r\n"));
    let refused = drive_codec::<Toy>(&toy_plan(2, &every_ms(), &Value::Null), fake).outcome.unwrap_err();
    let LoadError::Refused { refusal: Refusal::Login(said), .. } = refused else { panic!("{refused}") };
    assert!(said.contains("\"no password\""), "{said}");

    let mut closing = orderly(2, 8, 0);
    greeting(&mut closing, |_| Answer { pieces: Vec::new(), ends: true, ..Answer::after(0, b"") });
    let closed = drive_codec::<Toy>(&toy_plan(2, &every_ms(), &Value::Null), closing).outcome.unwrap_err();
    assert_eq!(closed.code(), "connect");

    let mut endless = orderly(2, 8, 0);
    greeting(&mut endless, |_| Answer::after(0, &[b'x'; 200]));
    let garbage = drive_codec::<Toy>(&toy_plan(2, &every_ms(), &Value::Null), endless).outcome.unwrap_err();
    assert_eq!(garbage.code(), "wrong-protocol");

    let mut silent = orderly(2, 8, 0);
    greeting(&mut silent, |_| Answer { pieces: Vec::new(), ..Answer::after(0, b"") });
    let silence = drive_codec::<Toy>(&toy_plan(2, &every_ms(), &Value::Null), silent);
    assert_eq!(silence.outcome.unwrap_err().code(), "connect");
    assert!(silence.ended.0 < 6_000 * MS, "{}", silence.ended);
}

#[test]
fn the_opening_of_a_reconnect_counts_as_time_to_connect_and_loses_no_more_requests() {
    let mut fake = orderly(1, 8, 100_000);
    greeting(&mut fake, |_| Answer { gap_ns: MS, ..Answer::after(2 * MS, b"ok 8\n") });
    fake.breaks = vec![(60 * MS + 50_000, 0)];
    let run = run(&every_ms(), 1, fake);
    assert_eq!((run.counts.lost, run.reconnects), (1, 1), "{:?}", run.counts);
    assert!((1..=3).contains(&run.counts.unsent), "{:?}", run.counts);
    let took = run.recorder.connect.min().unwrap();
    assert!((2 * MS + HANDSHAKE_NS..3 * MS).contains(&took), "{took}");
    assert!(run.rows.iter().filter(|row| row.scheduled_ns > 70 * MS).all(|row| row.status == Status::Hit));
}

#[test]
fn a_refused_reconnect_is_retried_until_the_server_counts_as_gone() {
    for (refusals, gone) in [(3, false), (u64::MAX, true)] {
        let mut fake = orderly(1, 8, 100_000);
        greeting(&mut fake, move |n| {
            let refused = n > 1 && n - 1 <= refusals;
            Answer::after(0, if refused { b"no places\n" } else { b"ok 8\n" })
        });
        fake.breaks = vec![(50 * MS + 50_000, 0)];
        let plan = toy_plan(1, &every_ms(), &json!({"timeout_s": 1.0}));
        let run = drive_codec::<Toy>(&plan, fake);
        match run.outcome {
            Ok(()) => {
                assert!(!gone && run.counts.is_balanced() && run.counts.unsent > 20, "{:?}", run.counts);
            }
            Err(LoadError::ServerGone { reason, .. }) => {
                assert!(gone && reason.contains("\"no places\""), "{reason}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn replies_in_any_order_end_their_requests() {
    // Every second request is answered at once; 0.3 ms later the request before it is answered, after about 1
    // ms.
    for source in [None, Some(Source::Software)] {
        let mut fake = toy(1, 8, MS / 10, |tag| {
            let before = tag.checked_sub(1).map_or_else(String::new, |before| format!("re {before}\n"));
            if tag % 2 == 0 {
                format!("re {tag}\n{before}")
            } else {
                String::new()
            }
        });
        let mut usual = fake.behaviour;
        fake.behaviour = Box::new(move |n, request| {
            let answer = usual(n, request);
            let whole = answer.pieces.concat();
            let pieces = whole.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            Answer { pieces, gap_ns: 3 * MS / 10, ..answer }
        });
        fake.stamper = source.map_or_else(Stamper::default, Stamper::with_source);
        let plan = toy_plan(1, &every_ms(), &json!({"stamp_every": u32::from(source.is_some())}));
        let run = drive_codec::<Toy>(&plan, fake);
        assert_eq!(
            (run.counts.scheduled, run.counts.completed),
            (100, 100),
            "{:?} {:?}",
            run.outcome,
            run.counts
        );
        for pair in run.rows.chunks(2) {
            let [slow, quick] = [0, 1].map(|i| (pair[i].completed_ns - pair[i].scheduled_ns) / (MS / 10));
            assert!((14..=15).contains(&slow) && (1..=2).contains(&quick), "{slow} {quick}");
            if source.is_some() {
                let wire = [0, 1].map(|i| (pair[i].wire_in_ns - pair[i].wire_out_ns) / (MS / 10));
                assert!((13..=14).contains(&wire[0]) && wire[1] == 1, "{wire:?} {pair:?}");
            }
        }
    }
}

#[test]
fn a_tag_answered_twice_is_ignored_and_an_unknown_tag_breaks_its_connection() {
    let twice = run(&every_ms(), 2, toy(2, 8, MS / 10, |tag| format!("re {tag}\nre {tag}\n")));
    assert_eq!(twice.counts.completed, 100);
    let wrong = toy(2, 8, MS / 10, |tag| if tag == 9 { "re 10\n".to_owned() } else { format!("re {tag}\n") });
    let wrong = run(&every_ms(), 2, wrong);
    // The tenth request on each connection.
    assert_eq!((wrong.counts.completed, wrong.counts.lost), (90, 10), "{:?}", wrong.counts);
    assert!(wrong.unreadable >= 10, "{}", wrong.unreadable);
}

#[test]
fn control_messages_wait_for_a_full_socket_and_do_not_count_as_requests() {
    let mut fake = toy(2, 8, MS / 10, |tag| format!("re {tag}\nping {tag}\n"));
    fake.full = 50 * MS..60 * MS;
    fake.takes = 5;
    let run = run(&every_ms(), 2, fake);
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100));
    let sent: Vec<u8> = run.fake.wire.iter().flat_map(|one| one.bytes.clone()).collect();
    let pongs = sent.windows(4).filter(|four| four == b"pong").count();
    assert!((118..=120).contains(&pongs), "{pongs}");
    let waited = run.rows.iter().filter(|row| row.completed_ns - row.scheduled_ns > MS / 2).count();
    assert!((9..=12).contains(&waited), "{waited}");
}

/// Check a run whose server stood still from 60 to 70 ms, with at most `most` requests in flight.
fn check_bounded(run: &Driven, most: usize) {
    assert_eq!((run.counts.completed, run.counts.unsent), (run.counts.scheduled, 0), "{:?}", run.counts);
    assert!(run.fake.deepest <= most, "{} at once", run.fake.deepest);
    let slow: Vec<_> = run.rows.iter().filter(|row| row.completed_ns - row.scheduled_ns > MS).collect();
    // Ten requests were scheduled while nothing was answered, and their latency includes the wait.
    assert!((9..=20).contains(&slow.len()), "{}", slow.len());
    assert!(slow.iter().all(|row| row.sent_ns - row.scheduled_ns < MS / 10), "the instrument was not late");
    let longest = slow.iter().map(|row| row.completed_ns - row.scheduled_ns).max().unwrap();
    assert!((9 * MS..11 * MS).contains(&longest), "{longest}");
    // Two connections that are answered together.
    let rounds: Vec<_> = slow.iter().map(|row| row.completed_ns / (MS / 10)).collect();
    assert!(rounds.is_sorted(), "first come, first served: {rounds:?}");
}

#[test]
fn requests_beyond_the_servers_limit_wait_and_latency_includes_the_wait() {
    let mut fake = orderly(2, 2, MS / 10);
    fake.frozen = 60 * MS..70 * MS;
    check_bounded(&run(&every_ms(), 2, fake), 2);
}

#[test]
fn the_plans_limit_holds_in_any_protocol_and_any_loop() {
    let mut fake = Fake::new(2, MS / 10);
    fake.frozen = 60 * MS..70 * MS;
    check_bounded(&driven(&plan(2, &every_ms(), &json!({"in_flight": 2})), fake), 2);

    let closed = json!({"loop": "closed"});
    let one = driven(&plan(2, &closed, &Value::Null), Fake::new(2, MS));
    for mix in [1.0, 0.5] {
        let workload = json!({"kind": "key-value", "get_ratio": mix, "keys": 100});
        let four = json!({"in_flight": 4, "workload": workload});
        let four = driven(&plan(2, &closed, &four), Fake::new(2, MS));
        assert_eq!((one.fake.deepest, four.fake.deepest), (1, 4));
        assert!(
            four.counts.completed > 3 * one.counts.completed,
            "{} {}",
            four.counts.completed,
            one.counts.completed
        );
        assert_eq!(four.counts.completed, four.counts.scheduled);
    }
    let both = toy_plan(2, &closed, &json!({"in_flight": 4}));
    let both = drive_codec::<Toy>(&both, orderly(2, 3, MS));
    assert_eq!(
        (both.fake.deepest, both.counts.is_balanced()),
        (3, true),
        "the server's limit is the lower one"
    );
}

#[test]
fn requests_that_wait_for_a_place_at_the_end_time_out() {
    let mut fake = orderly(1, 2, MS / 10);
    fake.frozen = 101 * MS..u64::MAX;
    let run = run(&every_ms(), 1, fake);
    assert_eq!(
        (run.counts.completed, run.counts.timeouts, run.counts.unsent),
        (80, 20, 0),
        "{:?}",
        run.counts
    );
    assert!(run.ended.0 < END + 75 * MS, "{}", run.ended);
}

#[test]
fn waiting_requests_outlive_the_connection_and_are_unsent_beyond_the_outstanding_limit() {
    let mut fake = orderly(1, 1, MS / 10);
    fake.frozen = 60 * MS..70 * MS;
    fake.breaks = vec![(65 * MS, 0)];
    let run = run(&every_ms(), 1, fake);
    assert_eq!((run.counts.lost, run.counts.timeouts), (1, 0), "{:?}", run.counts);
    let waited: Vec<_> =
        run.rows.iter().filter(|row| (61 * MS..65 * MS).contains(&row.scheduled_ns)).collect();
    assert_eq!(waited.len(), 4);
    assert!(waited.iter().all(|row| row.status == Status::Hit && row.completed_ns > 70 * MS), "{waited:?}");
    assert!(
        (93..=96).contains(&run.counts.completed),
        "without a connection nothing waits: {:?}",
        run.counts
    );

    let mut frozen = orderly(1, 1, MS / 10);
    frozen.frozen = 60 * MS..u64::MAX;
    let run = drive_codec::<Toy>(&toy_plan(1, &every_ms(), &json!({"max_outstanding": 10})), frozen);
    assert_eq!((run.counts.timeouts, run.counts.unsent), (10, 51), "{:?}", run.counts);
    assert!(run.counts.is_balanced());
}

/// Create a server that answers 25 requests per connection, then announces a close and drops later requests.
fn leaving(slots: u32, delay_ns: u64) -> Fake {
    let mut fake = toy(slots, 100, delay_ns, |tag| match tag {
        0..24 => format!("re {tag}\n"),
        24 => format!("bye 25\nre {tag}\n"),
        _ => String::new(),
    });
    fake.tick = super::Nanos(5_000);
    fake
}

#[test]
fn requests_above_a_closing_servers_limit_are_resent_and_others_answered() {
    let run = run(&open(5_000), 3, leaving(3, 2 * MS));
    assert_eq!((run.counts.scheduled, run.counts.completed), (500, 500), "{:?}", run.counts);
    assert!(run.reconnects > 15 && run.resent > 30, "{} {}", run.reconnects, run.resent);
    assert_eq!((run.left_alone, run.refused_streams), (run.resent, 0));
}

/// Create a server that refuses the 50th, 60th, 70th and 80th request it sees, and then accepts two at once.
/// With `again` it also refuses the request after each, which is the same request unless another comes in
/// between.
fn refusing(slots: u32, again: bool) -> Fake {
    let mut fake = toy(slots, 8, MS / 10, |_| String::new());
    let mut usual = fake.behaviour;
    let mut asked = 0;
    fake.behaviour = Box::new(move |n, request| {
        let Some((_, b"ask", tag)) = line(request) else { return usual(n, request) };
        asked += 1;
        if (50..=81).contains(&asked) && asked % 10 <= u32::from(again) {
            return Answer::after(MS / 10, format!("ok 2\nno {tag}\n").as_bytes());
        }
        Answer::after(MS / 2, format!("re {tag}\n").as_bytes())
    });
    fake
}

#[test]
fn a_refused_request_is_resent_once_and_keeps_its_scheduled_time() {
    for changes in [json!({}), json!({"requests_per_connection": 1000})] {
        let run = drive_codec::<Toy>(&toy_plan(1, &every_ms(), &changes), refusing(1, false));
        assert!(run.outcome.is_ok() && run.counts.is_balanced(), "{:?} {:?}", run.outcome, run.counts);
        assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100), "{:?}", run.counts);
        assert_eq!((run.refused_streams, run.resent, run.left_alone, run.reconnects), (4, 4, 0, 0));
        assert_eq!(run.first_error, "", "nothing failed");
        // Refused after 0.1 ms, answered 0.5 ms later: the latency includes both.
        let latencies: Vec<_> = run.rows.iter().map(|row| row.completed_ns - row.scheduled_ns).collect();
        assert_eq!(latencies.iter().filter(|&&one| one >= 6 * MS / 10).count(), 4, "{latencies:?}");
        assert!(
            run.rows.iter().all(|row| row.sent_ns - row.scheduled_ns < MS / 10),
            "the first send time counts"
        );
    }
}

#[test]
fn a_request_that_is_refused_twice_is_an_error_with_its_cause() {
    let run = run(&every_ms(), 1, refusing(1, true));
    let counts = run.counts;
    assert_eq!(
        (counts.scheduled, counts.completed, counts.errors, counts.lost),
        (100, 96, 4, 0),
        "{counts:?}"
    );
    assert_eq!((run.refused_streams, run.resent), (8, 4));
    assert_eq!(run.first_error, "refused twice");
}

#[test]
fn refused_requests_wait_for_a_place_after_the_server_lowers_its_limit() {
    // While the server stands still, scheduled requests fill the places, and refused requests wait for one.
    let mut still = refusing(1, false);
    still.frozen = 70 * MS..80 * MS;
    let open = run(&every_ms(), 1, still);
    let closed = toy_plan(2, &json!({"loop": "closed"}), &json!({"in_flight": 4}));
    let closed = drive_codec::<Toy>(&closed, refusing(2, false));
    for run in [&open, &closed] {
        assert!(run.outcome.is_ok() && run.counts.is_balanced(), "{:?} {:?}", run.outcome, run.counts);
        assert_eq!(run.counts.completed, run.counts.scheduled, "{:?}", run.counts);
        assert_eq!((run.refused_streams, run.resent), (4, 4));
    }
    // Two at once on each of two connections, 0.5 ms each: no place was lost.
    assert!((760..=840).contains(&closed.counts.completed), "{:?}", closed.counts);
}

#[test]
fn when_a_closing_server_hangs_up_only_requests_below_its_limit_are_lost() {
    // At the 25th request of the first connection, the server announces that it answers those below 22. It
    // answers none of them and closes.
    let mut fake = toy(1, 100, 0, |tag| format!("re {tag}\n"));
    let mut usual = fake.behaviour;
    let mut asked = 0;
    fake.behaviour = Box::new(move |n, request| {
        asked += u32::from(request.starts_with(b"ask"));
        match asked {
            21..=24 => Answer { pieces: Vec::new(), ..usual(n, request) },
            25 if request.starts_with(b"ask") => Answer { ends: true, ..Answer::after(0, b"bye 22\n") },
            _ => usual(n, request),
        }
    });
    let run = run(&every_ms(), 1, fake);
    assert_eq!((run.counts.lost, run.resent), (2, 3), "{:?}", run.counts);
}

#[test]
fn each_connection_of_a_closing_server_has_an_opening() {
    let mut fake = orderly(3, 8, 200_000);
    let mut usual = fake.behaviour;
    fake.behaviour =
        Box::new(move |n, request| Answer { ends: request.starts_with(b"ask"), ..usual(n, request) });
    let run = run(&every_ms(), 3, fake);
    assert_eq!((run.by_turns, run.counts.completed), (true, 100), "{:?}", run.counts);
    assert!(run.rows.iter().all(|row| row.completed_ns - row.scheduled_ns > 400_000 + HANDSHAKE_NS));
}

/// The behaviour of a hostile server.
type Action = (&'static str, fn(&mut Fake));

const HOSTILE: [Action; 9] = [
    ("stops answering", |fake| fake.frozen = 50 * MS..u64::MAX),
    ("stops reading", |fake| fake.full = 50 * MS..u64::MAX),
    ("reads a byte at a time", |fake| fake.takes = 1),
    ("pings more than it reads", |fake| {
        *fake = toy(2, 8, MS / 10, |tag| format!("re {tag}\n{}", "ping 1\n".repeat(200)));
        fake.takes = 2;
    }),
    ("accepts no request at first", |fake| *fake = orderly(2, 0, MS / 10)),
    ("closes repeatedly", |fake| *fake = leaving(2, MS / 10)),
    ("breaks connections", |fake| {
        fake.breaks = (0..30_u32).rev().map(|i| ((20 + 3 * u64::from(i)) * MS, i % 2)).collect();
    }),
    ("breaks connections and says nothing on new ones", |fake| {
        fake.breaks = vec![(60 * MS, 1), (60 * MS, 0)];
        greeting(fake, |n| {
            let pieces = if n > 2 { Vec::new() } else { vec![b"ok 3\n".to_vec()] };
            Answer { pieces, ..Answer::after(0, b"") }
        });
    }),
    ("announces closing before the first request", |fake| {
        greeting(fake, |_| Answer::after(0, b"ok 3\nbye 0\n"));
    }),
];

#[test]
fn no_server_with_sessions_delays_the_end_of_a_run_beyond_the_timeout() {
    for (action, spoil) in HOSTILE {
        for (load, in_flight) in [
            (open(1_000), Value::Null),
            (open(50_000), json!(3)),
            (json!({"loop": "closed"}), Value::Null),
            (json!({"loop": "closed"}), json!(3)),
        ] {
            let mut fake = orderly(2, 100, MS / 10);
            spoil(&mut fake);
            let plan = toy_plan(2, &load, &json!({"in_flight": in_flight}));
            let run = drive_codec::<Toy>(&plan, fake);
            let case = format!("{action}, {load}, {in_flight}");
            assert!(run.ended.0 / MS <= END / MS + 50 + 10 + 20 + 5, "{case}: {}", run.ended);
            match run.outcome {
                Ok(()) => assert!(run.counts.is_balanced(), "{case}: {:?}", run.counts),
                Err(LoadError::ServerGone { .. } | LoadError::Full { .. }) => {}
                Err(other) => panic!("{case}: {other}"),
            }
        }
    }
}

#[test]
fn a_high_limit_on_requests_in_flight_changes_no_byte() {
    let plain = driven(&plan(2, &open(5_000), &Value::Null), Fake::new(2, MS));
    let bounded = driven(&plan(2, &open(5_000), &json!({"in_flight": 4096})), Fake::new(2, MS));
    assert_eq!(plain.fake.wire, bounded.fake.wire);
    assert_eq!(plain.rows.len(), bounded.rows.len());
    assert!(HIT.len() > 3 && plain.counts.completed == 500);
}
