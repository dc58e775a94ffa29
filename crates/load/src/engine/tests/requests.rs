//! HTTP requests other than plain GETs: non-repeatable requests, connections with a fixed number of requests,
//! large bodies.

use serde_json::{json, Value};

use super::fake::{Answer, Fake};
use super::{driven, open, plan, MS};
use crate::protocol::NotFollowed;
use hindmost_plan::{Body, Plan, Workload};

/// Create a server that answers after 0.2 ms, and closes on request if it `obeys`.
fn server(slots: u32, obeys: bool) -> Fake {
    server_after(200_000, slots, obeys)
}

fn server_after(delay_ns: u64, slots: u32, obeys: bool) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = next_whole;
    fake.behaviour = Box::new(move |_, request| {
        let ends = obeys && String::from_utf8_lossy(request).contains("Connection: close");
        let word = if ends { "close" } else { "keep-alive" };
        let reply = format!("HTTP/1.1 200 OK\r\nConnection: {word}\r\nContent-Length: 2\r\n\r\nhi");
        Answer { ends, ..Answer::after(delay_ns, reply.as_bytes()) }
    });
    fake
}

/// Extract the first request with its body from `bytes`.
fn next_whole(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let stated = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let whole = head + stated.map_or(0, |length| length.parse::<usize>().unwrap());
    (bytes.len() >= whole).then(|| bytes.drain(..whole).collect())
}

fn http(connections: u32, workload: &Value) -> Plan {
    carrying(connections, workload, None)
}

/// The same with a fixed number of requests per connection.
fn carrying(connections: u32, workload: &Value, carried: Option<u32>) -> Plan {
    let mut all = json!({"kind": "http"});
    all.as_object_mut().unwrap().extend(workload.as_object().unwrap().clone());
    let target = json!({"protocol": "http", "address": "127.0.0.1:1"});
    let changes = json!({"workload": all, "target": target, "requests_per_connection": carried});
    plan(connections, &open(1_000), &changes)
}

#[test]
fn non_repeatable_requests_are_lost_with_their_connection_and_others_are_resent() {
    for (method, twice) in [("POST", false), ("PATCH", false), ("PUT", true), ("DELETE", true)] {
        let one = json!({"requests": [{"method": method, "path": "/{{sequence}}", "body": "{{uuid}}"}]});
        let mut fake = server(1, true);
        fake.behaviour = Box::new(|n, _| {
            let reply = if n < 8 { "Connection: close\r\n" } else { "" };
            let reply = format!("HTTP/1.1 200 OK\r\n{reply}Content-Length: 2\r\n\r\nhi");
            Answer { ends: n < 8, ..Answer::after(200_000, reply.as_bytes()) }
        });
        // 0.1 ms after a request was sent, which is answered after 0.2 ms.
        fake.breaks = (0..12_u64).rev().map(|i| ((50 + 5 * i) * MS + MS / 10, 0)).collect();
        let run = driven(&http(1, &one), fake);
        let (resent, lost) = if twice { (12, 0) } else { (0, 12) };
        assert_eq!((run.resent, run.counts.lost), (resent, lost), "{method}: {:?}", run.counts);
        assert_eq!(run.counts.completed + run.counts.errors, 100);
        let mut paths: Vec<Vec<u8>> = run.fake.wire.iter().map(|one| one.bytes.clone()).collect();
        let all = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(all - paths.len(), resent as usize, "{method}: a resent request has the same bytes");
    }
}

#[test]
fn a_non_repeatable_request_is_never_pipelined() {
    let mix = json!({"requests": [{"method": "GET"}, {"method": "POST", "body": "x"}]});
    let run = driven(&http(4, &mix), server_after(2 * MS, 4, true));
    assert_eq!(run.counts.completed, 100, "{:?}", run.counts);
    for slot in 0..4 {
        let written: Vec<u64> =
            run.fake.wire.iter().filter(|one| one.slot == slot).map(|one| one.at_ns).collect();
        assert!(written.windows(2).all(|two| two[1] - two[0] >= 2 * MS), "{slot}: {written:?}");
    }
    assert!(!run.by_turns, "the server does not close");
}

#[test]
fn a_connection_carries_the_planned_requests_whoever_closes_it() {
    for (workload, asked, carried, said) in [
        (json!({}), Some(4), 4, true),
        (json!({}), Some(1), 1, true),
        (json!({"version": "1.0"}), None, 1, true),
        (json!({"version": "1.0"}), Some(5), 5, true),
        (json!({}), Some(4), 4, false),
    ] {
        let run = driven(&carrying(3, &workload, asked), server(3, said));
        assert_eq!((run.counts.completed, run.counts.errors), (100, 0), "{workload}: {:?}", run.counts);
        let made = run.recorder.connects.made;
        let fair = 100 / carried;
        assert!((fair - 3..=fair + 3).contains(&made), "{workload}: {made}");
        assert_eq!(
            (run.reconnects, run.by_turns),
            (0, false),
            "closes that the plan requests are not the server's"
        );
        let asks = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("Connection: close");
        for slot in 0..3 {
            let wire: Vec<_> = run.fake.wire.iter().filter(|one| one.slot == slot).collect();
            let last: Vec<usize> = (1..=wire.len()).filter(|at| asks(&wire[at - 1].bytes)).collect();
            let each: Vec<usize> = (1..=wire.len()).filter(|at| at % carried as usize == 0).collect();
            assert_eq!(
                last, each,
                "{workload}: only the last request on each connection announces the close"
            );
        }
    }
}

#[test]
fn a_reply_that_fails_a_check_is_an_error_with_a_code_of_its_own() {
    let mut fake = server(2, true);
    fake.behaviour = Box::new(|n, _| {
        let body = if n % 4 == 3 { "no" } else { "hi" };
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
        Answer::after(200_000, reply.as_bytes())
    });
    let run = driven(&http(2, &json!({"checks": ["body contains hi"]})), fake);
    assert_eq!((run.counts.completed, run.counts.errors, run.counts.lost), (75, 25, 0), "{:?}", run.counts);
    let codes = &run.recorder.kinds[0].codes;
    assert_eq!((codes[200], codes[..100].iter().sum::<u64>()), (75, 25));
}

/// Create a server that answers `/a` after 0.2 ms with a redirection to `/b`, and `/b` with another one to `/c`. It
/// closes with every redirection if `closes`.
fn redirecting(slots: u32, closes: bool) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = next_whole;
    fake.behaviour = Box::new(move |_, request| {
        let path = String::from_utf8_lossy(request).split(' ').nth(1).unwrap().to_owned();
        let to = match &path[..] {
            "/a" => "/b",
            "/b" => "http://127.0.0.1:1/c#top",
            _ => return Answer::after(200_000, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        };
        let word = if closes { "close" } else { "keep-alive" };
        let reply = format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nConnection: {word}\r\nContent-Length: 2\r\n\r\nno"
        );
        Answer { ends: closes, ..Answer::after(200_000, reply.as_bytes()) }
    });
    fake
}

#[test]
fn latency_includes_redirections_and_the_schedule_does_not_wait_for_them() {
    for method in ["GET", "POST"] {
        let workload = json!({"follow": 2, "requests": [{"method": method, "path": "/a"}]});
        let run = driven(&http(3, &workload), redirecting(3, false));
        assert_eq!((run.counts.completed, run.counts.errors, run.resent), (100, 0, 0), "{:?}", run.counts);
        assert!(run.fake.requests > 300, "{}", run.fake.requests);
        assert_eq!(run.fake.requests % 3, 0, "{method}: each request was answered three times");
        assert!(run.rows.iter().all(|row| row.completed_ns - row.scheduled_ns >= 600_000), "{method}");
        assert!(run.rows.iter().all(|row| row.sent_ns - row.scheduled_ns < MS / 10), "{method}");
        let codes = &run.recorder.kinds[0].codes;
        assert_eq!((codes[200], codes[302]), (100, 0));
        assert_eq!(run.first_error, "");
    }
}

#[test]
fn a_redirection_that_is_not_followed_is_an_error_that_says_why() {
    for (path, follow, reason) in
        [("/a", Some(1), NotFollowed::TooMany as usize), ("/b", Some(1), 200), ("/a", None, 302)]
    {
        let workload = json!({"follow": follow, "paths": [path]});
        let run = driven(&http(2, &workload), redirecting(2, false));
        assert_eq!(run.recorder.kinds[0].codes[reason], 100, "{path} {follow:?}");
    }
}

#[test]
fn a_redirection_of_a_closing_connection_is_followed_on_another_one() {
    let workload = json!({"follow": 1, "paths": ["/b"]});
    let mut fake = redirecting(4, true);
    let mut answer = std::mem::replace(&mut fake.behaviour, Box::new(|_, _| unreachable!()));
    let mut keeps = redirecting(4, false).behaviour;
    fake.behaviour =
        Box::new(move |n, request| if n % 16 == 0 { answer(n, request) } else { keeps(n, request) });
    let run = driven(&http(4, &workload), fake);
    assert!(run.reconnects > 2 && !run.by_turns, "{}", run.reconnects);
    assert_eq!((run.counts.completed, run.counts.errors), (100, 0), "{:?}", run.counts);
}

#[test]
fn a_large_body_is_sent_in_pieces_without_a_full_copy() {
    let mut plan = http(2, &json!({"requests": [{"method": "PUT", "body": "later"}]}));
    let body: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
    let Workload::Http(http) = &mut plan.workload else { unreachable!() };
    http.requests[0].body = Some(Body::Bytes(body[..].into()));
    let mut fake = server(2, true);
    fake.takes = 40_000;
    fake.behaviour = Box::new(move |_, request| {
        assert!(request.ends_with(&body));
        Answer::after(200_000, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    });
    let run = driven(&plan, fake);
    assert!(run.counts.is_balanced() && run.counts.errors == 0, "{:?}", run.counts);
    assert!(run.counts.completed > 50, "{:?}", run.counts);
    let largest = crate::engine::state::buffers::Buffers::for_plan(&plan, 2).out_bytes;
    assert!(largest <= 1 << 20, "{largest}");
}
