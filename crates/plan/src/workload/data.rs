//! Files that requests take their values from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of values: `{{data.NAME}}` in a template is the column NAME of the row that a request has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// A CSV file (RFC 4180) whose first line has the names of its columns.
    pub file: PathBuf,
    /// Which row a request has.
    #[serde(default)]
    pub order: Order,
    /// What the file holds, once it is read.
    #[serde(skip)]
    pub rows: Option<Arc<Rows>>,
}

/// Which row of the data a request has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Any, all alike.
    #[default]
    Random,
    /// One after another over all clients together; after the last it begins again.
    Sequential,
}

/// A table in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values of all rows, row by row.
    values: Vec<String>,
    /// The line of the file in which each row begins.
    lines: Vec<u64>,
}

impl Rows {
    /// The table of a CSV file.
    ///
    /// # Errors
    /// What is wrong with the file, and in which line.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = hindmost_sys::file::read_regular_text(file).map_err(|e| e.to_string())?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::Headers).from_reader(text.as_bytes());
        let columns: Vec<String> =
            reader.headers().map_err(|e| e.to_string())?.iter().map(str::to_owned).collect();
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        for record in reader.records() {
            let record = record.map_err(|e| e.to_string())?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != columns.len() {
                return Err(format!(
                    "line {line} has {} columns, and the first line names {}",
                    record.len(),
                    columns.len()
                ));
            }
            values.extend(record.iter().map(str::to_owned));
            lines.push(line);
        }
        if values.is_empty() {
            return Err("it has no row below the names of its columns".to_owned());
        }
        Ok(Self { columns, values, lines })
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    /// The line of the file in which a row begins.
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// The value of a column in a row.
    pub fn value(&self, row: usize, column: usize) -> &str {
        &self.values[row * self.columns.len() + column]
    }

    /// The values of one column, row by row.
    pub fn column(&self, at: usize) -> impl Iterator<Item = &str> {
        self.values.iter().skip(at).step_by(self.columns.len().max(1)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_names_and_rows() {
        let rows = Rows::parse("id, name\n1,\"a,\"\"b\"\"\nc\"\n2,x\n").unwrap();
        assert_eq!((rows.columns.join("|"), rows.count()), ("id|name".to_owned(), 2));
        assert_eq!(rows.column(1).collect::<Vec<_>>(), ["a,\"b\"\nc", "x"]);
    }

    #[test]
    fn a_row_that_is_too_short_is_told_by_its_line() {
        let told = Rows::parse("id,name\n1,a\n2\n").unwrap_err();
        assert!(told.contains("line 3"), "{told}");
        assert!(Rows::parse("id,name\n").is_err());
    }
}
