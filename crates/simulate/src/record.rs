use hindmost_clone::Program;
use hindmost_histogram::{Histogram, Quantile, Value};

use crate::general::LockUse;
use crate::outcome::{Figures, LockFigures, Outcome};
use crate::{Design, Row, Sink};

/// Counts rows in histograms: over all requests, and of the latency of one section after another.
pub(crate) struct Recorder {
    outside_ns: f64,
    skip: u64,
    seen: u64,
    requests: u64,
    sections: u64,
    section: u64,
    section_ends: u64,
    quantiles: Vec<Quantile>,
    in_section: Histogram,
    latency: Histogram,
    queueing: Histogram,
    service: Histogram,
    kinds: Vec<Histogram>,
    /// For each section: mean, then the quantiles, in ns.
    figures: Vec<Vec<f64>>,
    first_ns: f64,
    last_arrival_ns: f64,
    last_ns: f64,
    busy_ns: f64,
    demand_ns: f64,
}

impl Recorder {
    pub(crate) fn new(program: &Program, design: &Design) -> Self {
        let kinds = program.document().kinds.len();
        let sections = u64::from(design.sections);
        Self {
            outside_ns: program.outside_ns,
            skip: design.warmup,
            seen: 0,
            requests: design.requests,
            sections,
            section: 0,
            section_ends: design.requests / sections,
            quantiles: design.quantiles.iter().filter_map(|&level| Quantile::new(level)).collect(),
            in_section: Histogram::new(),
            latency: Histogram::new(),
            queueing: Histogram::new(),
            service: Histogram::new(),
            kinds: vec![Histogram::new(); kinds],
            figures: Vec::new(),
            first_ns: 0.0,
            last_arrival_ns: 0.0,
            last_ns: 0.0,
            busy_ns: 0.0,
            demand_ns: 0.0,
        }
    }

    #[cold]
    fn end_section(&mut self) {
        self.figures.push(self.figures_of(&self.in_section));
        self.latency.merge(&self.in_section);
        self.in_section.clear();
        self.section += 1;
        self.section_ends = self.requests * (self.section + 1) / self.sections;
    }

    /// Return the mean, then the quantiles, in ns.
    fn figures_of(&self, histogram: &Histogram) -> Vec<f64> {
        let quantile = |&level: &Quantile| {
            histogram.quantile(level).and_then(Value::finite).map_or(f64::NAN, |ns| ns as f64)
        };
        let mean = histogram.mean().unwrap_or(f64::NAN);
        std::iter::once(mean).chain(self.quantiles.iter().map(quantile)).collect()
    }

    pub(crate) fn outcome(
        &self,
        program: &Program,
        design: &Design,
        rate: Option<f64>,
        capacity_per_s: f64,
        locks: &[LockUse],
    ) -> Outcome {
        let named = |values: &[f64]| -> Figures {
            let labels = self.quantiles.iter().map(|level| level.label());
            let names = std::iter::once("mean".to_owned()).chain(labels);
            Figures(names.zip(values.iter().map(|ns| ns / 1e3)).collect())
        };
        let figures = |histogram: &Histogram| named(&self.figures_of(histogram));
        let columns = (0..=self.quantiles.len()).map(|place| {
            let column: Vec<f64> = self.figures.iter().map(|section| section[place] / 1e3).collect();
            (if place == 0 { "mean".to_owned() } else { self.quantiles[place - 1].label() }, column)
        });
        let span_ns = self.last_ns - self.first_ns;
        let threads = f64::from(program.threads);
        let arriving_ns = self.last_arrival_ns - self.first_ns;
        let document = program.document();
        Outcome {
            threads: program.threads,
            requests: design.requests,
            rate_per_s: rate
                .or_else(|| (arriving_ns > 0.0).then(|| design.requests as f64 / arriving_ns * 1e9)),
            capacity_per_s: capacity_per_s.is_finite().then_some(capacity_per_s),
            throughput_per_s: (span_ns > 0.0).then(|| design.requests as f64 / span_ns * 1e9),
            busy_share: if span_ns > 0.0 { self.busy_ns / (threads * span_ns) } else { 0.0 },
            span_us: span_ns / 1e3,
            demand_us: self.demand_ns / 1e3 / design.requests as f64,
            latency_us: figures(&self.latency),
            queueing_us: figures(&self.queueing),
            service_us: figures(&self.service),
            sections_us: columns.collect(),
            kinds: document
                .kinds
                .iter()
                .zip(&self.kinds)
                .map(|(kind, histogram)| (kind.name.clone(), histogram.count(), figures(histogram)))
                .collect(),
            locks: document
                .locks
                .iter()
                .zip(locks)
                .map(|(lock, seen)| LockFigures::new(lock, seen, span_ns))
                .collect(),
        }
    }
}

/// Round to the nearest nanosecond.
#[inline]
fn whole(ns: f64) -> u64 {
    (ns + 0.5) as u64
}

impl Sink for Recorder {
    #[inline]
    fn take(&mut self, row: &Row) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        if self.seen == 0 {
            self.first_ns = row.arrival_ns;
        }
        self.seen += 1;
        let latency = whole(row.finish_ns - row.arrival_ns + self.outside_ns);
        self.in_section.record(latency);
        self.queueing.record(whole(row.start_ns - row.arrival_ns));
        self.service.record(whole(row.finish_ns - row.start_ns));
        if let Some(kind) = self.kinds.get_mut(row.kind as usize) {
            kind.record(latency);
        }
        self.busy_ns += row.finish_ns - row.start_ns;
        self.demand_ns += row.demand_ns;
        self.last_arrival_ns = self.last_arrival_ns.max(row.arrival_ns);
        self.last_ns = self.last_ns.max(row.finish_ns);
        if self.seen == self.section_ends {
            self.end_section();
        }
    }
}
