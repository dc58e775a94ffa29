//! `hindmost-twin measure`: reads a query from stdin and writes the answer to stdout, both JSON.

use std::error::Error;
use std::io::{stdin, stdout, Write};

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() != Some("measure") {
        return Err("usage: hindmost-twin measure < QUERY.json".into());
    }
    let asked = serde_json::from_reader(stdin())?;
    serde_json::to_writer(stdout(), &hindmost_twin::measure(&asked))?;
    Ok(stdout().flush()?)
}
