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

/// Return what a version before 0.2 called a column.
fn older_name(name: &str) -> &str {
    OLDER.iter().find(|(now, _)| *now == name).map_or(name, |(_, older)| older)
}

fn read<T: Send>(py: Python<'_>, path: &Path, names: &[String], read: Reader<T>) -> PyResult<Vec<Vec<T>>> {
    py.detach(|| {
        let current: Vec<&str> = names.iter().map(String::as_str).collect();
        // Only a file of an older version lacks the current names, and only such a file is opened twice.
        let older: Vec<&str> = current.iter().map(|name| older_name(name)).collect();
        read(path, &current)
            .or_else(
                |missing| if older == current { Err(missing) } else { read(path, &older).or(Err(missing)) },
            )
            .map_err(|e| raise("parquet", &format!("{}: {e}", path.display())))
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
