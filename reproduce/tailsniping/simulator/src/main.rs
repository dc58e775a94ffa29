//! `hindmost-anomaly leaderboard|machines`: reads a query from stdin and writes the answer to stdout, both JSON.

use std::error::Error;
use std::io::{stdin, stdout, Write};

use serde::{de::DeserializeOwned, Serialize};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("leaderboard") => answer(|asked| hindmost_anomaly::leaderboard(&asked)),
        Some("machines") => answer(|asked| hindmost_anomaly::scale(&asked)),
        _ => Err("usage: hindmost-anomaly leaderboard|machines < QUERY.json".into()),
    }
}

fn answer<Q: DeserializeOwned, A: Serialize>(simulate: impl Fn(Q) -> A) -> Result<(), Box<dyn Error>> {
    let asked = serde_json::from_reader(stdin())?;
    serde_json::to_writer(stdout(), &simulate(asked))?;
    Ok(stdout().flush()?)
}
