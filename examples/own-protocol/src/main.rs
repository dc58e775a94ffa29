//! `own-protocol PLAN.json FOLDER`: one client with a custom protocol; prints its result.

use std::path::Path;

use hindmost_load::engine::{self, ImmediateController};
use hindmost_plan::Plan;
use own_protocol::Dictionary;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [plan, folder] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("own-protocol PLAN.json FOLDER".into());
    };
    let plan = Plan::from_json(&std::fs::read_to_string(plan)?)?;
    std::fs::create_dir_all(folder)?;
    let result = engine::run_as::<Dictionary>(&plan, Path::new(folder), &mut ImmediateController::default())?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
