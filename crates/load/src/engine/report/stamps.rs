//! A client's report on its kernel time stamps: their source, their number, and reasons for missing ones.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::state::stamping::StampSummary;
use crate::record::StampCounts;
use crate::transport::Source;

/// With fewer stamped requests than this, missing stamps prove nothing.
const ENOUGH: u64 = 10;

/// The time stamps of one client.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StampReport {
    /// One request in this many was to be stamped; 0 for none.
    pub every: u32,
    /// Source of wire latency: `software` or `hardware`; absent without stamps.
    #[schemars(extend("enum" = ["software", "hardware", null]))]
    pub source: Option<&'static str>,
    /// The interface that leads to the server.
    pub interface: Option<String>,
    /// Counts of the requested stamps by outcome.
    #[serde(flatten)]
    pub counts: StampCounts,
    /// Number of steps of the realtime clock, which the kernel's stamps use, during the measurement.
    pub clock_steps: u32,
    /// Size of the largest step.
    pub largest_step_ns: u64,
    /// Why stamps are missing, or hardware stamps are.
    pub reason: Option<StampReason>,
}

/// Why stamps are missing.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StampReason {
    /// `off`, `refused`, `none_received`, `card_failed` or `sources_differ`.
    #[schemars(extend("enum" = ["off", "refused", "none_received", "card_failed", "sources_differ"]))]
    pub code: &'static str,
    /// An explanation with numbers.
    pub text: String,
}

impl StampReport {
    /// Summarise the stamps of all workers of a client.
    pub fn new(every: u32, counts: StampCounts, workers: &[StampSummary]) -> Self {
        let first = workers.first();
        let source = first.and_then(|one| one.source).filter(|_| every > 0);
        let alike = workers.iter().all(|one| one.source == source);
        Self {
            every,
            source: source.filter(|_| alike).map(name),
            interface: first.and_then(|one| one.nic.as_ref()).map(|nic| nic.name.clone()),
            reason: reason(every, alike, &counts, workers),
            counts,
            clock_steps: workers.iter().map(|one| one.time_of_day.steps).max().unwrap_or(0),
            largest_step_ns: workers.iter().map(|one| one.time_of_day.largest_ns).max().unwrap_or(0),
        }
    }
}

const fn name(source: Source) -> &'static str {
    match source {
        Source::Software => "software",
        Source::Hardware => "hardware",
    }
}

fn reason(every: u32, alike: bool, counts: &StampCounts, workers: &[StampSummary]) -> Option<StampReason> {
    let because = |code, text: String| Some(StampReason { code, text });
    if every == 0 {
        return because("off", "the plan requests no stamps".to_owned());
    }
    if let Some(refused) = workers.iter().find_map(|one| one.refused.as_deref()) {
        return because("refused", refused.to_owned());
    }
    if counts.requested >= ENOUGH && counts.received == 0 {
        let StampCounts { requested, without_out, without_in, implausible, .. } = counts;
        return because(
            "none_received",
            format!(
                "the kernel accepted the option but delivered no usable stamps: of {requested} requests, {without_out} had no \
                 transmit stamp, {without_in} no receive stamp, {implausible} an implausible one"
            ),
        );
    }
    if !alike {
        return because(
            "sources_differ",
            "the network card stamped packets for some threads but not for others".to_owned(),
        );
    }
    let (asked, came) = workers.iter().find_map(|one| one.card_failed)?;
    because(
        "card_failed",
        format!("the network card is configured for stamps but stamped only {came} of {asked} requests in the warm-up"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(source: Option<Source>) -> StampSummary {
        StampSummary { source, ..StampSummary::default() }
    }

    fn counts(requested: u64, received: u64) -> StampCounts {
        StampCounts { requested, received, without_out: requested - received, ..StampCounts::default() }
    }

    #[test]
    fn missing_stamps_have_a_reason() {
        let software = worker(Some(Source::Software));
        let hardware = worker(Some(Source::Hardware));
        let refused = StampSummary { refused: Some("setsockopt failed".to_owned()), ..worker(None) };
        let failed = StampSummary { card_failed: Some((40, 3)), ..software.clone() };
        for (every, counts, workers, source, code) in [
            (16, counts(100, 99), vec![software.clone()], Some("software"), None),
            (16, counts(100, 99), vec![hardware.clone(), hardware.clone()], Some("hardware"), None),
            (0, counts(0, 0), vec![software.clone()], None, Some("off")),
            (16, counts(0, 0), vec![refused], None, Some("refused")),
            (16, counts(100, 0), vec![software.clone()], Some("software"), Some("none_received")),
            (16, counts(3, 0), vec![software.clone()], Some("software"), None),
            (16, counts(100, 99), vec![software, hardware], None, Some("sources_differ")),
            (16, counts(100, 99), vec![failed], Some("software"), Some("card_failed")),
        ] {
            let report = StampReport::new(every, counts, &workers);
            assert_eq!((report.source, report.reason.as_ref().map(|why| why.code)), (source, code));
        }
    }
}
