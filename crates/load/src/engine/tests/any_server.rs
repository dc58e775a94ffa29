//! Robustness against any server: whatever bytes it sends, whenever, and however they are split, the run ends
//! with balanced counts or with an error that describes the server's behaviour. Fuzz targets call this code;
//! the tests here use random scripts.
//!
//! ```text
//! script = protocol  shape  breaks  takes  *( action )
//! action = flags  cut  length  *length( byte )
//! ```

use serde_json::json;

use super::fake::{Answer, Fake, GAP_NS, HIT};
use super::{drive, open, plan, MS};
use crate::LoadError;

/// The server's reaction to one request.
struct Action {
    delay_ns: u64,
    cut: usize,
    ends: bool,
    reply: Vec<u8>,
}

/// A protocol, good replies to a get and a set, and a function that extracts a request.
type Dialect = (&'static str, [&'static [u8]; 2], fn(&mut Vec<u8>) -> Option<Vec<u8>>);

const DIALECTS: [Dialect; 3] = [
    ("memcached", [HIT, b"STORED\r\n"], super::fake::next_request),
    ("redis", [b"$3\r\nabc\r\n", b"+OK\r\n"], next_array),
    ("http", [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b""], next_get),
];

/// Run `script`.
///
/// # Panics
/// If the run ends in an invalid way.
pub fn any_server(script: &[u8]) {
    let mut bytes = script.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let (protocol, shape, breaks, takes) = (next(), next(), next(), next());
    let actions = actions(script.get(4..).unwrap_or_default());
    let (name, good, framing) = DIALECTS[usize::from(protocol) % DIALECTS.len()];

    let mut fake = Fake::new(3, 0);
    fake.framing = framing;
    fake.tick = super::Nanos(20_000);
    fake.takes = if takes == 0 { usize::MAX } else { usize::from(takes) };
    fake.breaks = (0..u32::from(breaks & 7)).rev().map(|n| ((30 + 9 * u64::from(n)) * MS, n % 3)).collect();
    if breaks & 8 != 0 {
        fake.refuses = 40 * MS..60 * MS;
    }
    if breaks & 16 != 0 {
        fake.full = 50 * MS..70 * MS;
    }
    fake.behaviour = Box::new(move |n, request| {
        let is_set = request.starts_with(b"set ") || request.starts_with(b"*3");
        answer(&actions[n as usize % actions.len()], good[usize::from(is_set)])
    });
    let closed = shape & 1 != 0;
    let load = if closed { json!({"loop": "closed"}) } else { open(200 << (shape >> 6)) };
    let kind = if protocol % 3 == 2 { "http" } else { "key-value" };
    let mut workload = json!({"kind": kind});
    if kind == "key-value" {
        workload["keys"] = json!(10);
        workload["get_ratio"] = json!(if shape & 2 != 0 { 0.5 } else { 1.0 });
    }
    let changes = json!({
        "target": {"protocol": name, "address": "127.0.0.1:1"},
        "workload": workload,
        "pacing": if shape & 4 != 0 { "spin" } else { "sleep" },
        "preload": shape & 8 != 0,
        "stream": kind == "http" && shape & 32 != 0,
        "max_outstanding": if shape & 16 != 0 { 3 } else { 100 },
        "keep": {"samples": 100, "worst": 10},
    });
    let run = drive(&plan(3, &load, &changes), fake);
    match run.outcome {
        Ok(()) => {
            assert!(run.counts.is_balanced(), "{:?}", run.counts);
            assert!(closed || run.counts.scheduled == 20 << (shape >> 6), "{:?}", run.counts);
            for row in &run.rows {
                assert!(row.sent_ns == 0 || row.sent_ns >= row.scheduled_ns, "{row:?}");
                assert!(row.completed_ns == 0 || row.completed_ns >= row.sent_ns, "{row:?}");
            }
        }
        Err(LoadError::ServerGone { .. } | LoadError::Preload { .. }) => {}
        // Only while keys are stored, before the load.
        Err(LoadError::Garbage(_)) if shape & 8 != 0 => {}
        Err(e) => panic!("{e}"),
    }
}

fn actions(mut script: &[u8]) -> Vec<Action> {
    let mut actions = Vec::new();
    while let [how, cut, length, rest @ ..] = script {
        let (reply, after) = rest.split_at(usize::from(*length).min(rest.len()));
        actions.push(Action {
            delay_ns: [0, 1_000, 100_000, 5 * MS, 60 * MS][usize::from(how & 7).min(4)],
            cut: usize::from(*cut),
            ends: how & 0xf0 == 0xf0,
            reply: reply.to_vec(),
        });
        script = after;
    }
    if actions.is_empty() {
        actions.push(Action { delay_ns: 100_000, cut: 0, ends: false, reply: Vec::new() });
    }
    actions
}

/// Return the action's reply, or a good one if it has none, in pieces of `cut` bytes.
fn answer(action: &Action, good: &[u8]) -> Answer {
    let reply = if action.reply.is_empty() { good } else { &action.reply };
    let size = if action.cut == 0 { reply.len() } else { action.cut };
    Answer {
        delay_ns: action.delay_ns,
        pieces: reply.chunks(size).map(<[u8]>::to_vec).collect(),
        gap_ns: GAP_NS,
        ends: action.ends,
    }
}

/// Extract a complete array of bulk strings from `bytes`.
fn next_array(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut number = |mark: u8| {
        let line = bytes[at..].windows(2).position(|two| two == b"\r\n")?;
        assert_eq!(bytes[at], mark);
        let text = std::str::from_utf8(&bytes[at + 1..at + line]).expect("we write text");
        at += line + 2;
        if mark == b'$' {
            at += text.parse::<usize>().expect("a size") + 2;
        }
        (at <= bytes.len()).then(|| text.parse::<usize>().expect("a number"))
    };
    for _ in 0..number(b'*')? {
        number(b'$')?;
    }
    Some(bytes.drain(..at).collect())
}

/// Extract a complete request without a body from `bytes`.
pub fn next_get(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    Some(bytes.drain(..end).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::seeds::replay;
    use super::*;

    /// Generate mostly valid scripts, because nonsense ends a run at once.
    fn script() -> impl Strategy<Value = Vec<u8>> {
        let reply = prop_oneof![
            9 => Just(Vec::new()),
            1 => prop::sample::select(vec![
                &b"END\r\n"[..], b"STORED\r\n", b"+OK\r\n", b"$-1\r\n", b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            ]).prop_map(<[u8]>::to_vec),
            1 => prop::collection::vec(any::<u8>(), 0..20),
        ];
        let action = (any::<u8>(), any::<u8>(), reply)
            .prop_map(|(how, cut, reply)| [&[how, cut, reply.len() as u8], &reply[..]].concat());
        (any::<[u8; 4]>(), prop::collection::vec(action, 0..20))
            .prop_map(|(head, actions)| [&head[..], &actions.concat()].concat())
    }

    #[test]
    fn the_seeds_of_the_fuzz_target_are_handled() {
        replay("engine", any_server);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn any_server_is_handled(script in script()) {
            any_server(&script);
        }
    }
}
