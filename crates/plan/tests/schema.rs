//! The schema in `schemas/` is generated from the types, and is current.

use std::path::Path;

use hindmost_plan::Plan;

#[test]
fn the_stored_schema_is_the_one_of_the_types() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/plan.schema.json");
    let current = Plan::json_schema() + "\n";
    if std::env::var_os("HINDMOST_REFRESH_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&place, &current).unwrap();
    }
    let stored = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(
        stored == current,
        "{} is not what the types say: HINDMOST_REFRESH_GOLDEN=1 cargo test -p hindmost-plan",
        place.display()
    );
}
