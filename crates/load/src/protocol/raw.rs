//! The raw protocol: replies end after a fixed number of bytes or at a delimiter.

use hindmost_plan::{Escape, Plan, RawRequest, Until, Workload};

use super::delimiter::UntilDelimiter;
use super::prefixes::Prefixes;
use super::{Garbage, Incoming, Outcome, Protocol, Remainder};
use crate::workload::{Kind, List, Request, Template};

/// Most bytes kept of the start of an error, for reports.
const WORDS: usize = 256;

/// The codec for raw requests.
pub struct Raw {
    list: List,
    sends: Vec<Template>,
    /// Reply formats by kind.
    replies: Vec<ReplyFormat>,
}

/// The format of replies of one kind.
struct ReplyFormat {
    until: Until,
    /// Leaked, because [`Remainder`] refers to it as long as workers run.
    delimiter: &'static [u8],
    prefixes: Prefixes,
    /// Number of bytes that determine the outcome.
    longest: usize,
}

fn send(request: &RawRequest, plan: &hindmost_plan::Raw) -> Template {
    let mut template = Template::default();
    template.text(&request.send, plan.data.as_ref(), Escape::Raw);
    template
}

/// Return an upper bound on the bytes of a request of `raw`.
pub fn largest_raw(raw: &hindmost_plan::Raw) -> usize {
    raw.requests.iter().map(|one| send(one, raw).largest()).max().unwrap_or(0)
}

impl ReplyFormat {
    fn new(request: &RawRequest) -> Self {
        let prefixes = Prefixes::new(request.miss.as_deref(), request.error.as_deref());
        let longest = prefixes.longest.max(1);
        let delimiter: &[u8] = match &request.until {
            Until::Bytes(_) => &[],
            Until::Delimiter(text) => Box::leak(text.clone().into_bytes().into_boxed_slice()),
        };
        Self { until: request.until.clone(), delimiter, prefixes, longest }
    }

    fn remainder(&self) -> Remainder {
        match self.until {
            Until::Bytes(left) => Remainder::Bytes { left: left.into(), end: b"" },
            Until::Delimiter(_) => Remainder::UntilDelimiter(UntilDelimiter::new(self.delimiter)),
        }
    }
}

impl Protocol for Raw {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Raw;
    const MAX_HEAD: usize = 1024;

    type Session = ();

    fn new(plan: &Plan) -> Self {
        let Workload::Raw(raw) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets raw requests", plan.target.protocol)
        };
        let kinds = plan.workload.kinds();
        let format_of =
            |name: &String| raw.requests.iter().find(|one| one.name == *name).map(ReplyFormat::new);
        Self {
            list: List::new(plan.seed, &raw.weighted_kinds(), raw.data.as_ref())
                .in_sessions(raw.session.is_some()),
            sends: raw.requests.iter().map(|one| send(one, raw)).collect(),
            replies: kinds.iter().filter_map(format_of).collect(),
        }
    }

    #[inline]
    fn write(&self, (): &mut (), request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        self.sends[self.list.index(values)].write(values, out);
    }

    /// The head is as long as needed to determine the outcome. An error's head is as long as its reported
    /// text.
    fn read(&self, (): &mut (), kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(format) = self.replies.get(usize::from(kind.0)) else {
            return Err(Garbage::new::<Self>(kind, bytes));
        };
        let up_to = |most: usize| {
            let mut rest = format.remainder();
            let extent = rest.consume(&bytes[..bytes.len().min(most)], &mut Vec::new(), |_| ()).ok()?;
            (extent.whole || extent.bytes == most).then_some((extent.bytes, rest, extent.whole))
        };
        let Some((head, rest, whole)) = up_to(format.longest) else { return Ok(Incoming::More) };
        let outcome = format.prefixes.outcome(&bytes[..head]);
        if outcome != Outcome::Error || whole {
            let rest = if whole { Remainder::EMPTY } else { rest };
            return Ok(Incoming::reply(head, rest, outcome));
        }
        let Some((head, rest, whole)) = up_to(WORDS) else { return Ok(Incoming::More) };
        Ok(Incoming::reply(head, if whole { Remainder::EMPTY } else { rest }, outcome))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::*;

    fn codec(request: &serde_json::Value) -> Raw {
        let mut plan = plan("raw");
        plan.workload = serde_json::from_value(json!({"kind": "raw", "requests": [request]})).unwrap();
        Raw::new(&plan)
    }

    #[test]
    fn requests_are_sent_as_they_are_written() {
        let mut out = Vec::new();
        let codec = codec(&json!({"send": "SET {{sequence}}\r\n", "until": {"bytes": 3}}));
        codec.write(&mut (), Request { kind: Kind(0), item: 5, value_bytes: 0 }, 0, &mut out);
        assert_eq!(out, b"SET 5\r\n");
    }

    #[test]
    fn replies_end_where_the_plan_says() {
        let line =
            codec(&json!({"send": "x", "until": {"delimiter": "\r\n"}, "miss": "none", "error": "ERR"}));
        for (reply, outcome) in [
            (&b"hello\r\n"[..], Outcome::Hit),
            (b"\r\n", Outcome::Hit),
            (b"no\r\n", Outcome::Hit),
            (b"a\r\r\r\n", Outcome::Hit),
            (b"none\r\n", Outcome::Miss),
            (b"ERR what\r\n", Outcome::Error),
            (b"ERR\r\n", Outcome::Error),
        ] {
            check_reply(&line, Kind(0), reply, outcome);
        }
        let long = [&b"ERR "[..], &[b'x'; 900], b"\r\n"].concat();
        let found = Reader::new::<Raw>().next(&line, &mut (), Kind(0), &long, |_| ()).unwrap().unwrap();
        assert_eq!((found.taken, found.outcome), (long.len(), Outcome::Error));
        let bytes = codec(&json!({"send": "x", "until": {"bytes": 4}, "error": "E"}));
        check_reply(&bytes, Kind(0), b"good", Outcome::Hit);
        check_reply(&bytes, Kind(0), b"Ebad", Outcome::Error);
    }

    #[test]
    fn a_delimiter_that_overlaps_itself_is_found() {
        let codec = codec(&json!({"send": "x", "until": {"delimiter": "aab"}}));
        for reply in [&b"aaab"[..], b"abaaab", b"aab", b"aaaaaaab"] {
            check_reply(&codec, Kind(0), reply, Outcome::Hit);
        }
    }
}
