//! Replies that are told apart by how they start.

use super::Outcome;

/// How replies of one kind start that are misses or errors.
pub struct Starts {
    miss: Option<Vec<u8>>,
    error: Option<Vec<u8>>,
    /// Bytes that tell what it is.
    pub decides: usize,
}

impl Starts {
    /// As a workload has them.
    pub fn new(miss: Option<&str>, error: Option<&str>) -> Self {
        let decides = [miss, error].iter().filter_map(|start| start.map(str::len)).max();
        let bytes = |text: &str| text.as_bytes().to_vec();
        Self { miss: miss.map(bytes), error: error.map(bytes), decides: decides.unwrap_or(0) }
    }

    /// What a reply says that starts so; an error before a miss.
    pub fn outcome(&self, start: &[u8]) -> Outcome {
        let starts = |with: &Option<Vec<u8>>| with.as_ref().is_some_and(|with| start.starts_with(with));
        match (starts(&self.error), starts(&self.miss)) {
            (true, _) => Outcome::Error,
            (_, true) => Outcome::Miss,
            _ => Outcome::Hit,
        }
    }
}
