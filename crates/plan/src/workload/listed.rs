//! Lists of weighted requests.

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
    let mut names: Vec<String> = Vec::new();
    for one in list {
        if !names.contains(&one.kind) {
            names.push(one.kind.clone());
        }
    }
    names
}
