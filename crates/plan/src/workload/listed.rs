//! Lists of weighted requests.

use std::collections::HashSet;

/// One request of a list, as far as counting goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What results call it. Requests of one name are counted together.
    pub kind: String,
    /// How often it is made, as a share of the sum of all weights.
    pub weight: f64,
}

/// The names in a list, each once, in their order: a kind's place here is its number.
pub fn kinds(list: &[Listed]) -> Vec<String> {
    let mut known = HashSet::new();
    list.iter().filter(|one| known.insert(&one.kind)).map(|one| one.kind.clone()).collect()
}
