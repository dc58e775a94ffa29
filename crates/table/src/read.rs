use std::path::Path;

use hindmost_sys::file::open_regular;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::{TableError, NULL};

/// Records are read in batches of this many.
const BATCH: usize = 1 << 20;

/// Returns name and kind of each column: `whole`, `real`, `words`, or the name of a type that cannot be read.
///
/// # Errors
/// If it is not a Parquet file.
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

/// Reads columns of integers, in the order of `names`; [`NULL`] for null.
///
/// # Errors
/// If the file cannot be read, has no such column, or the column holds no integers.
pub fn read_integers(path: &Path, names: &[&str]) -> Result<Vec<Vec<i64>>, TableError> {
    read(path, names, &NULL, |column| match column {
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, i64::from)),
        _ => None,
    })
}

/// Reads columns of numbers, in the order of `names`; NaN for null.
///
/// # Errors
/// If the file cannot be read, has no such column, or the column holds no numbers.
pub fn read_reals(path: &Path, names: &[&str]) -> Result<Vec<Vec<f64>>, TableError> {
    read(path, names, &f64::NAN, |column| match column {
        ColumnReader::DoubleColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::FloatColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value as f64)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        _ => None,
    })
}

/// Reads columns of texts, in the order of `names`; the empty text for null.
///
/// # Errors
/// If the file cannot be read, has no such column, or the column holds no texts.
pub fn read_texts(path: &Path, names: &[&str]) -> Result<Vec<Vec<String>>, TableError> {
    let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
    read(path, names, &String::new(), |column| match column {
        ColumnReader::ByteArrayColumnReader(mut reader) => Some(records(&mut reader, text)),
        _ => None,
    })
}

/// The values that are not null, and a definition level for each row: 0 where it is null.
type Records<T> = Result<(Vec<T>, Vec<i16>), ParquetError>;

fn read<T: Clone>(
    path: &Path,
    names: &[&str],
    null: &T,
    values: impl Fn(ColumnReader) -> Option<Records<T>>,
) -> Result<Vec<Vec<T>>, TableError> {
    let file = SerializedFileReader::new(open_regular(path)?)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let mut columns = vec![Vec::new(); names.len()];
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        for (name, into) in names.iter().zip(&mut columns) {
            let at = schema.columns().iter().position(|column| column.name() == *name);
            let at = at.ok_or_else(|| TableError::MissingColumn((*name).to_owned()))?;
            let other = || TableError::OtherKind((*name).to_owned());
            let (values, levels) = values(group.get_column_reader(at)?).ok_or_else(other)??;
            if group.metadata().column(at).column_descr().max_def_level() == 0 {
                into.extend(values);
            } else {
                let mut values = values.into_iter();
                let next = |&level: &i16| if level > 0 { values.next() } else { None };
                into.extend(levels.iter().map(next).map(|value| value.unwrap_or_else(|| null.clone())));
            }
        }
    }
    Ok(columns)
}

fn records<D: DataType, T>(reader: &mut ColumnReaderImpl<D>, convert: impl Fn(D::T) -> T) -> Records<T> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    while reader.read_records(BATCH, Some(&mut levels), None, &mut values)?.0 > 0 {}
    Ok((values.into_iter().map(convert).collect(), levels))
}
