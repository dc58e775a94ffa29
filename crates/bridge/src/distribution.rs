//! Histograms and their files.

use std::borrow::Cow;
use std::io::BufReader;
use std::path::PathBuf;

use hindmost_histogram as ours;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

/// A latency distribution in nanoseconds. Packed, it takes a few kilobytes, and each query takes slightly longer.
#[pyclass(module = "hindmost._engine")]
#[derive(Clone, Default)]
pub struct Histogram(State);

#[derive(Clone)]
enum State {
    Open(ours::Histogram),
    Packed(Vec<u8>),
}

impl Default for State {
    fn default() -> Self {
        Self::Open(ours::Histogram::new())
    }
}

impl Histogram {
    fn open(&self) -> Cow<'_, ours::Histogram> {
        match &self.0 {
            State::Open(histogram) => Cow::Borrowed(histogram),
            State::Packed(bytes) => Cow::Owned(ours::Histogram::unpack(bytes).expect("it was packed here")),
        }
    }

    fn open_mut(&mut self) -> &mut ours::Histogram {
        if let State::Packed(_) = self.0 {
            self.0 = State::Open(self.open().into_owned());
        }
        match &mut self.0 {
            State::Open(histogram) => histogram,
            State::Packed(_) => unreachable!("the histogram was unpacked above"),
        }
    }
}

#[pymethods]
impl Histogram {
    /// Create an empty histogram, or restore one from the bytes of `pack`.
    #[new]
    #[pyo3(signature = (packed=None))]
    fn new(packed: Option<&[u8]>) -> PyResult<Self> {
        let Some(bytes) = packed else { return Ok(Self::default()) };
        if ours::Histogram::unpack(bytes).is_none() {
            return Err(PyValueError::new_err("these bytes are not a packed histogram"));
        }
        Ok(Self(State::Packed(bytes.to_vec())))
    }

    /// Pack the histogram until it is recorded or merged into; return the bytes.
    fn pack<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        if let State::Open(histogram) = &self.0 {
            self.0 = State::Packed(histogram.pack());
        }
        match &self.0 {
            State::Packed(bytes) => PyBytes::new(py, bytes),
            State::Open(_) => unreachable!("the histogram was packed above"),
        }
    }

    #[pyo3(signature = (value, count=1))]
    fn record(&mut self, value: u64, count: u64) {
        self.open_mut().record_n(value, count);
    }

    fn add_censored(&mut self, count: u64) {
        self.open_mut().add_censored(count);
    }

    /// Merging a histogram with itself doubles all counts, as with an equal one.
    fn merge(this: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if this.is(other) {
            let replica = this.try_borrow()?.open().into_owned();
            this.try_borrow_mut()?.open_mut().merge(&replica);
        } else {
            this.try_borrow_mut()?.open_mut().merge(&other.try_borrow()?.open());
        }
        Ok(())
    }

    #[getter]
    fn count(&self) -> u64 {
        self.open().count()
    }

    #[getter]
    fn censored(&self) -> u64 {
        self.open().censored()
    }

    #[getter]
    fn min(&self) -> Option<u64> {
        self.open().min()
    }

    #[getter]
    fn max(&self) -> Option<u64> {
        self.open().max()
    }

    #[getter]
    fn mean(&self) -> Option<f64> {
        self.open().mean()
    }

    /// Return nanoseconds; `inf` if the rank is censored, `None` if empty.
    fn quantile(&self, q: f64) -> PyResult<Option<f64>> {
        quantile(&self.open(), q)
    }

    /// Return the quantiles at several levels.
    fn quantiles(&self, levels: Vec<f64>) -> PyResult<Vec<Option<f64>>> {
        let histogram = self.open();
        levels.into_iter().map(|q| quantile(&histogram, q)).collect()
    }

    fn count_above(&self, value: u64) -> u64 {
        self.open().count_above(value)
    }

    /// Return lower edges, upper edges (inclusive) and counts of all bins in use, each as native u64 bytes.
    fn bins<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        let histogram = self.open();
        let pick = |part: fn(&ours::Bin) -> u64| {
            let bytes: Vec<u8> = histogram.bins().flat_map(|bin| part(&bin).to_ne_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        [pick(|bin| bin.low), pick(|bin| bin.high), pick(|bin| bin.count)]
    }

    fn __repr__(&self) -> String {
        let histogram = self.open();
        format!("Histogram(count={}, censored={})", histogram.count(), histogram.censored())
    }
}

fn quantile(histogram: &ours::Histogram, q: f64) -> PyResult<Option<f64>> {
    let level = ours::Quantile::new(q)
        .ok_or_else(|| PyValueError::new_err(format!("a quantile must be between 0 and 1, not {q}")))?;
    Ok(histogram.quantile(level).map(|v| v.finite().map_or(f64::INFINITY, |nanos| nanos as f64)))
}

/// One interval: tag, start and end in seconds, histogram.
type Interval = (Option<String>, f64, f64, Histogram);

/// Return all intervals of an `.hlog` file.
#[pyfunction]
pub fn read_hlog(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Interval>> {
    py.detach(|| {
        let fail = |why: &dyn std::fmt::Display| raise("hlog", &format!("{}: {why}", path.display()));
        let file = hindmost_sys::file::open_regular(&path).map_err(|e| fail(&e))?;
        let log = ours::hlog::read(BufReader::new(file)).map_err(|e| fail(&e))?;
        let convert = |i: ours::hlog::Interval| {
            (
                i.tag.map(|tag| tag.as_str().to_owned()),
                i.start_s,
                i.end_s,
                Histogram(State::Open(i.histogram)),
            )
        };
        Ok(log.intervals.into_iter().map(convert).collect())
    })
}
