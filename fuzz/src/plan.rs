//! Plans: an accepted plan survives serialisation, and its load can be prepared.

use hindmost_plan::Plan;

/// Check any text as a plan.
pub fn any_plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plan = match Plan::from_json(text) {
        Ok(plan) => plan,
        Err(e) => return assert!(!e.to_string().is_empty()),
    };
    let written = serde_json::to_string(&plan).expect("a plan is JSON");
    let again = Plan::from_json(&written).unwrap_or_else(|e| panic!("{written} is refused: {e}"));
    assert_eq!(again, plan);
}
