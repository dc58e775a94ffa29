//! Classification of replies by their prefix.

use super::Outcome;

/// The prefixes of replies that are misses or errors.
pub struct Prefixes {
    miss: Option<Vec<u8>>,
    error: Option<Vec<u8>>,
    /// Length of the longest prefix.
    pub longest: usize,
}

impl Prefixes {
    /// Create the prefixes of a workload.
    pub fn new(miss: Option<&str>, error: Option<&str>) -> Self {
        let longest = [miss, error].iter().filter_map(|start| start.map(str::len)).max();
        let bytes = |text: &str| text.as_bytes().to_vec();
        Self { miss: miss.map(bytes), error: error.map(bytes), longest: longest.unwrap_or(0) }
    }

    /// Return the outcome of a reply that begins with `start`. An error takes precedence over a miss.
    pub fn outcome(&self, start: &[u8]) -> Outcome {
        let starts = |with: &Option<Vec<u8>>| with.as_ref().is_some_and(|with| start.starts_with(with));
        match (starts(&self.error), starts(&self.miss)) {
            (true, _) => Outcome::Error,
            (_, true) => Outcome::Miss,
            _ => Outcome::Hit,
        }
    }
}
