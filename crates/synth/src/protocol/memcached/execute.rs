//! Execution: a request in, its reply out.

use std::io::Write;

use hindmost_clock::Nanos;

use super::parse::{Command, Words};
use crate::protocol::context::{Context, Disposition};
use crate::record::ServedTotals;
use crate::shared::Shared;
use crate::store::{Outcome, MAX_VALUE};

/// Longest reply: seven of the largest values. Longer ones are refused, because only they could make the server's
/// memory grow without limit.
const MAX_REPLY: usize = 8 << 20;

const TOO_LARGE: &str = "SERVER_ERROR object too large for cache\r\n";
const OUT_OF_MEMORY: &str = "SERVER_ERROR out of memory storing object\r\n";
const REPLY_TOO_LONG: &str = "SERVER_ERROR out of memory writing get response\r\n";

/// Execute the command in `frame`, and append the reply to `out`.
pub(crate) fn execute(
    command: &Command,
    frame: &[u8],
    context: Context,
    now: Nanos,
    out: &mut Vec<u8>,
) -> Disposition {
    let store = &context.shared.store;
    let mut say = |noreply: bool, text: &str| {
        if !noreply {
            out.extend_from_slice(text.as_bytes());
        }
    };
    match *command {
        Command::Get { keys, with_cas } => get(keys.of(frame), with_cas, context, now, out),
        Command::Store { mode, key, flags, exptime, data, noreply } => {
            context.counters.set();
            let text = match store.put(mode, key.of(frame), data.of(frame), flags, exptime, now) {
                Outcome::Stored => "STORED\r\n",
                Outcome::Refused => "NOT_STORED\r\n",
                Outcome::OutOfMemory => {
                    store.delete(key.of(frame), now);
                    OUT_OF_MEMORY
                }
            };
            say(noreply, text);
        }
        Command::TooLarge { key, noreply } => {
            // Like memcached, delete the old value: no value is better than an outdated one.
            store.delete(key.of(frame), now);
            say(noreply, TOO_LARGE);
        }
        Command::Delete { key, noreply } => {
            say(noreply, if store.delete(key.of(frame), now) { "DELETED\r\n" } else { "NOT_FOUND\r\n" });
        }
        Command::FlushAll { noreply } => {
            store.clear();
            say(noreply, "OK\r\n");
        }
        Command::Version => say(false, concat!("VERSION ", env!("CARGO_PKG_VERSION"), "-hindmost-synth\r\n")),
        Command::Stats => stats(context, now, out),
        Command::StatsHindmost => stats_hindmost(context, out),
        Command::Refuse(text) => say(false, text),
        Command::Ignore => {}
        Command::Malformed(text) => {
            say(false, text);
            return Disposition::Close;
        }
        Command::Quit => return Disposition::Close,
    }
    Disposition::KeepOpen
}

fn get(keys: &[u8], with_cas: bool, context: Context, now: Nanos, out: &mut Vec<u8>) {
    let reply_at = out.len();
    let (mut hits, mut misses) = (0, 0);
    for key in Words::new(keys).map(|word| word.of(keys)) {
        let found = context.shared.store.get(key, now, |item| {
            out.extend_from_slice(b"VALUE ");
            out.extend_from_slice(key);
            number(out, u64::from(item.flags));
            number(out, item.value.len() as u64);
            if with_cas {
                number(out, item.cas);
            }
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(&item.value);
            out.extend_from_slice(b"\r\n");
        });
        if found.is_some() {
            hits += 1;
        } else {
            misses += 1;
        }
        if out.len() - reply_at > MAX_REPLY {
            out.truncate(reply_at);
            out.extend_from_slice(REPLY_TOO_LONG.as_bytes());
            return context.counters.lookup(hits, misses);
        }
    }
    out.extend_from_slice(b"END\r\n");
    context.counters.lookup(hits, misses);
}

/// Append a space and `value`. This is twice as fast as the standard formatting.
fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [b' '; 21];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at - 1..]);
}

fn stat(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "STAT {name} {value}\r\n");
}

fn stats(context: Context, now: Nanos, out: &mut Vec<u8>) {
    let Shared { store, .. } = context.shared;
    let total = context.shared.totals().total;
    stat(out, "pid", std::process::id());
    stat(out, "uptime", now.saturating_sub(context.shared.start_time()).as_secs_f64() as u64);
    stat(out, "time", store.unix_s(now));
    stat(out, "version", concat!(env!("CARGO_PKG_VERSION"), "-hindmost-synth"));
    stat(out, "pointer_size", usize::BITS);
    stat(out, "curr_connections", context.shared.connections());
    stat(out, "cmd_get", total.hits + total.misses);
    stat(out, "cmd_set", total.sets);
    stat(out, "get_hits", total.hits);
    stat(out, "get_misses", total.misses);
    stat(out, "threads", context.shared.threads());
    stat(out, "bytes", store.used());
    stat(out, "curr_items", store.len());
    stat(out, "limit_maxbytes", store.limit());
    stat(out, "item_size_max", MAX_VALUE);
    out.extend_from_slice(b"END\r\n");
}

fn stats_hindmost(context: Context, out: &mut Vec<u8>) {
    let totals = context.shared.totals();
    stat(out, "threads", totals.threads.len());
    sums(out, "", &totals.total);
    if totals.threads.len() > 1 {
        for (index, thread) in totals.threads.iter().enumerate() {
            sums(out, &format!("thread_{index}_"), thread);
        }
    }
    out.extend_from_slice(b"END\r\n");
}

/// Append sums, so that a client can subtract an earlier reading, and means for people.
fn sums(out: &mut Vec<u8>, prefix: &str, totals: &ServedTotals) {
    for (name, value) in [
        ("served", totals.served),
        ("busy_ns", totals.busy_ns),
        ("drawn_ns", totals.drawn_ns),
        ("achieved_ns", totals.achieved_ns),
        ("waited_ns", totals.waited_ns),
        ("queued_ns", totals.queued_ns),
        ("worst_overrun_ns", totals.worst_overrun_ns),
        ("mean_drawn_ns", totals.mean_drawn_ns() as u64),
        ("mean_achieved_ns", totals.mean_achieved_ns() as u64),
        ("mean_queued_ns", totals.mean_queued_ns() as u64),
    ] {
        stat(out, &format!("{prefix}{name}"), value);
    }
}
