//! Whatever the server does, the counts balance and nothing panics.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::json;

use super::fake::{Answer, Fake, GAP_NS, HIT, NEVER};
use super::{drive, open, plan, END, MS};
use crate::LoadError;

/// The server's reaction to a request, drawn at random.
#[derive(Clone, Debug)]
struct Action {
    delay_ns: u64,
    cuts: Vec<usize>,
    ends: bool,
    reply: &'static [u8],
}

fn action() -> impl Strategy<Value = Action> {
    let reply = prop::sample::select(vec![HIT, b"END\r\n", b"SERVER_ERROR busy\r\n"]);
    let delay = prop_oneof![6 => 0..500_000_u64, 1 => 0..60 * MS];
    let cuts = prop::collection::vec(0..30_usize, 0..4);
    (delay, cuts, prop::bool::weighted(0.03), reply).prop_map(|(delay_ns, cuts, ends, reply)| Action {
        delay_ns,
        cuts,
        ends,
        reply,
    })
}

fn answer(action: &Action) -> Answer {
    let mut cuts: Vec<usize> = action.cuts.iter().map(|&cut| cut.min(action.reply.len())).collect();
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in cuts.into_iter().chain([action.reply.len()]) {
        if to > from {
            pieces.push(action.reply[from..to].to_vec());
            from = to;
        }
    }
    Answer { delay_ns: action.delay_ns, pieces, gap_ns: GAP_NS, ends: action.ends }
}

/// Generate a part of the run, or no part of it.
fn span(longest_ms: u64) -> impl Strategy<Value = Range<u64>> {
    let some = (MS..END, 1..longest_ms).prop_map(|(from, length)| from..from + length * MS);
    prop_oneof![2 => Just(NEVER), 1 => some]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn counts_balance_under_any_script(
        actions in prop::collection::vec(action(), 1..40),
        breaks in prop::collection::vec((10 * MS..END, 0..3_u32), 0..12),
        frozen in span(80),
        full in span(80),
        refuses in span(60),
        stall in prop::option::of((MS..END, 0..80 * MS)),
        takes in prop::sample::select(vec![3, 40, usize::MAX]),
        shape in (any::<bool>(), any::<bool>(), 1..3_u32, 3..200_u32),
    ) {
        let (closed, sleeps, thousands, room) = shape;
        let mut fake = Fake::new(3, 0);
        fake.behaviour = Box::new(move |n, _| answer(&actions[n as usize % actions.len()]));
        fake.breaks = breaks;
        fake.breaks.sort_unstable_by(|a, b| b.cmp(a));
        (fake.frozen, fake.full, fake.refuses, fake.stall, fake.takes) = (frozen, full, refuses, stall, takes);
        let load = if closed { json!({"loop": "closed"}) } else { open(1000 * thousands) };
        let pacing = if sleeps { "sleep" } else { "spin" };
        let run = drive(&plan(3, &load, &json!({"pacing": pacing, "max_outstanding": room})), fake);
        match run.outcome {
            Ok(()) => {
                prop_assert!(run.counts.is_balanced(), "{:?}", run.counts);
                if !closed {
                    prop_assert_eq!(run.counts.scheduled, u64::from(100 * thousands));
                }
                prop_assert_eq!(run.rows.len() as u64, run.counts.scheduled.min(5000));
                for row in &run.rows {
                    prop_assert!(row.sent_ns == 0 || row.sent_ns >= row.scheduled_ns);
                    prop_assert!(row.completed_ns == 0 || row.completed_ns >= row.sent_ns);
                }
            }
            Err(LoadError::ServerGone { .. }) => {}
            Err(e) => prop_assert!(false, "{}", e),
        }
    }
}
