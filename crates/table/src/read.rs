use std::collections::HashMap;
use std::path::Path;

use hindmost_sys::file::open_regular;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::{TableError, NULL};

/// Records are read in batches of this many.
const BATCH: usize = 1 << 20;

/// Return name and kind of each column: `whole`, `real`, `words`, or the name of an unsupported type.
///
/// # Errors
/// If the file is not a Parquet file.
pub fn column_kinds(path: &Path) -> Result<Vec<(String, String)>, TableError> {
    let file = SerializedFileReader::new(open_regular(path)?)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let kind = |physical: Physical| match physical {
        Physical::INT64 | Physical::INT32 => "whole".to_owned(),
        Physical::DOUBLE | Physical::FLOAT => "real".to_owned(),
        Physical::BYTE_ARRAY => "words".to_owned(),
        other => other.to_string(),
    };
    let columns = schema.columns().iter();
    Ok(columns.map(|column| (column.name().to_owned(), kind(column.physical_type()))).collect())
}

/// Read columns of integers, in the order of `names`; [`NULL`] for null.
///
/// # Errors
/// If the file cannot be read, or a column is missing or has another type.
pub fn read_integers(path: &Path, names: &[&str]) -> Result<Vec<Vec<i64>>, TableError> {
    read(path, names, &NULL, |column| match column {
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, i64::from)),
        _ => None,
    })
}

/// Read columns of numbers, in the order of `names`; NaN for null.
///
/// # Errors
/// If the file cannot be read, or a column is missing or has another type.
pub fn read_reals(path: &Path, names: &[&str]) -> Result<Vec<Vec<f64>>, TableError> {
    read(path, names, &f64::NAN, as_reals)
}

fn as_reals(column: ColumnReader) -> Option<Records<f64>> {
    match column {
        ColumnReader::DoubleColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::FloatColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value as f64)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        _ => None,
    }
}

/// Read columns of text, in the order of `names`; the empty string for null.
///
/// # Errors
/// If the file cannot be read, or a column is missing or has another type.
pub fn read_texts(path: &Path, names: &[&str]) -> Result<Vec<Vec<String>>, TableError> {
    let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
    read(path, names, &String::new(), |column| match column {
        ColumnReader::ByteArrayColumnReader(mut reader) => Some(records(&mut reader, text)),
        _ => None,
    })
}

/// The non-null values, and a definition level for each row: 0 for null.
type Records<T> = Result<(Vec<T>, Vec<i16>), ParquetError>;

fn read<T: Clone>(
    path: &Path,
    names: &[&str],
    null: &T,
    values: impl Fn(ColumnReader) -> Option<Records<T>>,
) -> Result<Vec<Vec<T>>, TableError> {
    let file = SerializedFileReader::new(open_regular(path)?)?;
    let mut columns = vec![Vec::new(); names.len()];
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        for (name, into) in names.iter().zip(&mut columns) {
            into.extend(column(&*group, name, null, &values)?);
        }
    }
    Ok(columns)
}

/// Read one column of a row group.
fn column<T: Clone>(
    group: &dyn RowGroupReader,
    name: &str,
    null: &T,
    values: impl Fn(ColumnReader) -> Option<Records<T>>,
) -> Result<Vec<T>, TableError> {
    let columns = group.metadata().columns();
    let at = columns.iter().position(|column| column.column_descr().name() == name);
    let at = at.ok_or_else(|| TableError::MissingColumn(name.to_owned()))?;
    let other = || TableError::OtherKind(name.to_owned());
    let (values, levels) = values(group.get_column_reader(at)?).ok_or_else(other)??;
    if columns[at].column_descr().max_def_level() == 0 {
        return Ok(values);
    }
    let mut values = values.into_iter();
    let next = |&level: &i16| if level > 0 { values.next() } else { None };
    Ok(levels.iter().map(next).map(|value| value.unwrap_or_else(|| null.clone())).collect())
}

/// The rows of a row group: columns of reals, and one of text, encoded by its distinct values.
pub struct Rows {
    /// Columns in the order of their names; NaN for null.
    pub reals: Vec<Vec<f64>>,
    /// For each row, the index of its text in `texts`.
    pub codes: Vec<u32>,
    /// The distinct texts; the empty one stands for null.
    pub texts: Vec<String>,
}

/// Read columns of reals and one of text, one row group at a time, so that no whole column is in memory.
///
/// # Errors
/// If the file cannot be read, or a column is missing or has another type.
pub fn read_groups(
    path: &Path,
    reals: &[&str],
    text: &str,
    mut each: impl FnMut(Rows),
) -> Result<(), TableError> {
    let file = SerializedFileReader::new(open_regular(path)?)?;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let reals = reals.iter().map(|name| column(&*group, name, &f64::NAN, as_reals));
        let reals = reals.collect::<Result<Vec<_>, _>>()?;
        let words = column(&*group, text, &ByteArray::new(), |column| match column {
            ColumnReader::ByteArrayColumnReader(mut reader) => Some(records(&mut reader, |bytes| bytes)),
            _ => None,
        })?;
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut texts = Vec::new();
        let mut codes = Vec::with_capacity(words.len());
        for word in &words {
            let bytes = if word.is_empty() { &[] } else { word.data() };
            codes.push(*known.entry(bytes).or_insert_with(|| {
                texts.push(String::from_utf8_lossy(bytes).into_owned());
                texts.len() as u32 - 1
            }));
        }
        each(Rows { reals, codes, texts });
    }
    Ok(())
}

fn records<D: DataType, T>(reader: &mut ColumnReaderImpl<D>, convert: impl Fn(D::T) -> T) -> Records<T> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    while reader.read_records(BATCH, Some(&mut levels), None, &mut values)?.0 > 0 {}
    Ok((values.into_iter().map(convert).collect(), levels))
}
