//! Columns of flat Parquet files: reads those of an instance's rows, or of anyone's, and writes what was matched.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// What stands for a value that is not there.
pub const NULL: i64 = i64::MIN;

/// Names and kinds of a flat file's columns: `whole`, `real`, `words`, or what it is that cannot be read.
///
/// # Errors
/// Where it is no Parquet file.
pub fn columns(path: &Path) -> Result<Vec<(String, String)>, ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
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

/// The named columns of a flat file, in that order; [`NULL`] for what is null.
///
/// # Errors
/// Where it cannot be read, has no such column, or one that holds no whole numbers.
pub fn read(path: &Path, names: &[&str]) -> Result<Vec<Vec<i64>>, ParquetError> {
    read_as(path, names, &NULL, |column| match column {
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, i64::from)),
        _ => None,
    })
}

/// The same for numbers of any sort; NaN for what is null.
///
/// # Errors
/// Where it cannot be read, has no such column, or one that holds no numbers.
pub fn read_reals(path: &Path, names: &[&str]) -> Result<Vec<Vec<f64>>, ParquetError> {
    read_as(path, names, &f64::NAN, |column| match column {
        ColumnReader::DoubleColumnReader(mut reader) => Some(records(&mut reader, |value| value)),
        ColumnReader::FloatColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        ColumnReader::Int64ColumnReader(mut reader) => Some(records(&mut reader, |value| value as f64)),
        ColumnReader::Int32ColumnReader(mut reader) => Some(records(&mut reader, f64::from)),
        _ => None,
    })
}

/// The same for texts; empty for what is null.
///
/// # Errors
/// Where it cannot be read, has no such column, or one that holds no texts.
pub fn read_words(path: &Path, names: &[&str]) -> Result<Vec<Vec<String>>, ParquetError> {
    let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
    read_as(path, names, &String::new(), |column| match column {
        ColumnReader::ByteArrayColumnReader(mut reader) => Some(records(&mut reader, text)),
        _ => None,
    })
}

/// Values that are there, and for each row whether one is.
type Found<T> = Result<(Vec<T>, Vec<i16>), ParquetError>;

fn read_as<T: Clone>(
    path: &Path,
    names: &[&str],
    null: &T,
    values: impl Fn(ColumnReader) -> Option<Found<T>>,
) -> Result<Vec<Vec<T>>, ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let mut columns = vec![Vec::new(); names.len()];
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        for (name, into) in names.iter().zip(&mut columns) {
            let at = schema.columns().iter().position(|column| column.name() == *name);
            let at = at.ok_or_else(|| ParquetError::General(format!("there is no column {name}")))?;
            let unfit = || ParquetError::General(format!("column {name} holds something else"));
            let (found, there) = values(group.get_column_reader(at)?).ok_or_else(unfit)??;
            if group.metadata().column(at).column_descr().max_def_level() == 0 {
                into.extend(found);
            } else {
                let mut found = found.into_iter();
                let next = |&level: &i16| if level > 0 { found.next() } else { None };
                into.extend(there.iter().map(next).map(|value| value.unwrap_or_else(|| null.clone())));
            }
        }
    }
    Ok(columns)
}

/// Records are asked for in batches of this many, until none comes.
const BATCH: usize = 1 << 20;

fn records<D: DataType, T>(reader: &mut ColumnReaderImpl<D>, convert: impl Fn(D::T) -> T) -> Found<T> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    while reader.read_records(BATCH, Some(&mut there), None, &mut values)?.0 > 0 {}
    Ok((values.into_iter().map(convert).collect(), there))
}

/// Writes columns of equal length; [`NULL`] becomes null.
///
/// # Errors
/// Where it cannot be written.
pub fn write(out: impl Write + Send, names: &[&str], columns: &[Vec<i64>]) -> Result<(), ParquetError> {
    let field = |name: &&str| {
        let column = Type::primitive_type_builder(name, Physical::INT64);
        column.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = names.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("request").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        let Some(mut writer) = group.next_column()? else { break };
        let there: Vec<i16> = column.iter().map(|&value| i16::from(value != NULL)).collect();
        let values: Vec<i64> = column.iter().copied().filter(|&value| value != NULL).collect();
        writer.typed::<Int64Type>().write_batch(&values, Some(&there), None)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nulls_stay_null() {
        let path = std::env::temp_dir().join(format!("hindmost-table-{}.parquet", std::process::id()));
        let columns = [vec![1, NULL, -3], vec![NULL, NULL, i64::MAX]];
        write(File::create(&path).unwrap(), &["a", "b"], &columns).unwrap();
        let found = read(&path, &["b", "a"]);
        let missing = read(&path, &["c"]);
        let (reals, words, known) =
            (read_reals(&path, &["a"]), read_words(&path, &["a"]), super::columns(&path));
        std::fs::remove_file(&path).unwrap();
        let reals = reals.unwrap().remove(0);
        assert_eq!((reals[0], reals[1].is_nan(), reals[2]), (1.0, true, -3.0));
        assert!(words.unwrap_err().to_string().contains("column a holds something else"));
        let whole = |name: &str| (name.to_owned(), "whole".to_owned());
        assert_eq!(known.unwrap(), [whole("a"), whole("b")]);
        assert_eq!(found.unwrap(), [columns[1].clone(), columns[0].clone()]);
        assert!(missing.unwrap_err().to_string().contains("no column c"));
    }
}
