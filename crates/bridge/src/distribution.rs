//! Histograms and their files.

use std::io::BufReader;
use std::path::PathBuf;

use hindmost_histogram as ours;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

/// A latency distribution in nanoseconds.
#[pyclass(module = "hindmost._engine")]
#[derive(Clone, Default)]
pub struct Histogram(ours::Histogram);

#[pymethods]
impl Histogram {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[pyo3(signature = (value, count=1))]
    fn record(&mut self, value: u64, count: u64) {
        self.0.record_n(value, count);
    }

    fn add_censored(&mut self, count: u64) {
        self.0.add_censored(count);
    }

    /// Merged with itself, a histogram holds everything twice, as with an equal one.
    fn merge(this: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if this.is(other) {
            let twin = this.try_borrow()?.0.clone();
            this.try_borrow_mut()?.0.merge(&twin);
        } else {
            this.try_borrow_mut()?.0.merge(&other.try_borrow()?.0);
        }
        Ok(())
    }

    #[getter]
    fn count(&self) -> u64 {
        self.0.count()
    }

    #[getter]
    fn censored(&self) -> u64 {
        self.0.censored()
    }

    #[getter]
    fn min(&self) -> Option<u64> {
        self.0.min()
    }

    #[getter]
    fn max(&self) -> Option<u64> {
        self.0.max()
    }

    #[getter]
    fn mean(&self) -> Option<f64> {
        self.0.mean()
    }

    /// Nanoseconds, `inf` where the rank is among the censored, `None` when empty.
    fn quantile(&self, q: f64) -> PyResult<Option<f64>> {
        let quantile = ours::Quantile::new(q)
            .ok_or_else(|| PyValueError::new_err(format!("a quantile lies between 0 and 1, not at {q}")))?;
        Ok(self.0.quantile(quantile).map(|v| v.finite().map_or(f64::INFINITY, |nanos| nanos as f64)))
    }

    fn count_above(&self, value: u64) -> u64 {
        self.0.count_above(value)
    }

    /// Lower edges, upper edges (inclusive) and counts of all bins in use, each as native u64 bytes.
    fn bins<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        let pick = |part: fn(&ours::Bin) -> u64| {
            let bytes: Vec<u8> = self.0.bins().flat_map(|bin| part(&bin).to_ne_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        [pick(|bin| bin.low), pick(|bin| bin.high), pick(|bin| bin.count)]
    }

    fn __repr__(&self) -> String {
        format!("Histogram(count={}, censored={})", self.0.count(), self.0.censored())
    }
}

/// One interval: tag, start and end in seconds, histogram.
type Interval = (Option<String>, f64, f64, Histogram);

/// All intervals of an `.hlog` file.
#[pyfunction]
pub fn read_hlog(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Interval>> {
    py.detach(|| {
        let fail = |why: &dyn std::fmt::Display| raise("hlog", &format!("{}: {why}", path.display()));
        let file = hindmost_sys::file::open_regular(&path).map_err(|e| fail(&e))?;
        let log = ours::hlog::read(BufReader::new(file)).map_err(|e| fail(&e))?;
        let convert = |i: ours::hlog::Interval| {
            (i.tag.map(|tag| tag.as_str().to_owned()), i.start_s, i.end_s, Histogram(i.histogram))
        };
        Ok(log.intervals.into_iter().map(convert).collect())
    })
}
