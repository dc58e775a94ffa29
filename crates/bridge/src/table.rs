//! Columns of Parquet files as arrays.

use std::path::{Path, PathBuf};

use hindmost_table::{column_kinds, TableError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

/// A function that reads the named columns.
type Reader<T> = fn(&Path, &[&str]) -> Result<Vec<Vec<T>>, TableError>;

/// What versions before 0.2 called columns of single requests.
const OLDER: [(&str, &str); 2] = [("scheduled_ns", "due_ns"), ("completed_ns", "done_ns")];

/// The names that the columns have in this file.
fn stored_names<'a>(path: &Path, names: &'a [String]) -> Vec<&'a str> {
    let stored = column_kinds(path).unwrap_or_default();
    let has = |name: &str| stored.iter().any(|(column, _)| column == name);
    names
        .iter()
        .map(|name| {
            let older = OLDER.iter().find(|(now, older)| now == name && !has(now) && has(older));
            older.map_or(name.as_str(), |(_, older)| *older)
        })
        .collect()
}

fn read<T: Send>(py: Python<'_>, path: &Path, names: &[String], read: Reader<T>) -> PyResult<Vec<Vec<T>>> {
    py.detach(|| {
        let names = stored_names(path, names);
        read(path, &names).map_err(|e| raise("parquet", &format!("{}: {e}", path.display())))
    })
}

/// Return integer columns of a Parquet file, each as native i64 bytes; the smallest i64 represents null.
#[pyfunction]
pub fn read_columns(py: Python<'_>, path: PathBuf, names: Vec<String>) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let columns = read(py, &path, &names, hindmost_table::read_integers)?;
    let bytes = |column: &Vec<i64>| column.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    Ok(columns.iter().map(|column| PyBytes::new(py, &bytes(column))).collect())
}

/// Return numeric columns of any type, each as native f64 bytes; NaN represents null.
#[pyfunction]
pub fn read_reals(py: Python<'_>, path: PathBuf, names: Vec<String>) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let columns = read(py, &path, &names, hindmost_table::read_reals)?;
    let bytes = |column: &Vec<f64>| column.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    Ok(columns.iter().map(|column| PyBytes::new(py, &bytes(column))).collect())
}

/// Return text columns; the empty string represents null.
#[pyfunction]
pub fn read_words(py: Python<'_>, path: PathBuf, names: Vec<String>) -> PyResult<Vec<Vec<String>>> {
    read(py, &path, &names, hindmost_table::read_texts)
}

/// Return name and kind (`whole`, `real`, `words`, or an unsupported type) of each column of a Parquet file.
#[pyfunction]
pub fn parquet_columns(path: PathBuf) -> PyResult<Vec<(String, String)>> {
    column_kinds(&path).map_err(|e| raise("parquet", &format!("{}: {e}", path.display())))
}
