//! Tables of values for the fields of requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of values: `{{data.NAME}}` in a template is column NAME of the request's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// A CSV file (RFC 4180) whose first line names the columns.
    pub file: PathBuf,
    /// How a request's row is chosen.
    #[serde(default)]
    pub order: Order,
    /// The table, after the file was read.
    #[serde(skip)]
    pub rows: Option<Arc<Rows>>,
}

/// How a request's row is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// At random, with equal probability.
    #[default]
    Random,
    /// One after another over all clients together; the first row follows the last.
    Sequential,
}

/// A table in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, row by row.
    values: Vec<String>,
    /// Line of the file in which each row begins.
    lines: Vec<u64>,
}

impl Rows {
    /// Read a CSV file.
    ///
    /// # Errors
    /// The error states what is wrong, and in which line of the file.
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

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    /// Return the line of the file in which a row begins.
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// Return the value of a column in a row.
    pub fn value(&self, row: usize, column: usize) -> &str {
        &self.values[row * self.columns.len() + column]
    }

    /// Iterate over the values of one column.
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
    fn the_error_names_the_line_of_a_short_row() {
        let error = Rows::parse("id,name\n1,a\n2\n").unwrap_err();
        assert!(error.contains("line 3"), "{error}");
        assert!(Rows::parse("id,name\n").is_err());
    }
}
