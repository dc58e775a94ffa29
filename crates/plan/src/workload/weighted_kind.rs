//! Kinds of requests with weights.

use std::collections::HashSet;

/// The name and the weight of one request of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedKind {
    /// Name in results. Requests of one name are counted together.
    pub kind: String,
    /// Relative frequency: its share of the sum of all weights.
    pub weight: f64,
}

/// Return the distinct names of a list in order; the index of a kind is its number.
pub fn kinds(list: &[WeightedKind]) -> Vec<String> {
    let mut known = HashSet::new();
    list.iter().filter(|one| known.insert(&one.kind)).map(|one| one.kind.clone()).collect()
}
