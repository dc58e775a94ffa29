//! Whole numbers in Parquet files: reads columns of an instance's rows, writes what was matched.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// What stands for a value that is not there.
pub const NULL: i64 = i64::MIN;

/// The named columns of a flat file, in that order; [`NULL`] for what is null.
///
/// # Errors
/// Where it cannot be read, has no such column, or one that holds no whole numbers.
pub fn read(path: &Path, names: &[&str]) -> Result<Vec<Vec<i64>>, ParquetError> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let mut columns = vec![Vec::new(); names.len()];
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        for (name, into) in names.iter().zip(&mut columns) {
            let at = schema.columns().iter().position(|column| column.name() == *name);
            let at = at.ok_or_else(|| ParquetError::General(format!("there is no column {name}")))?;
            numbers(group.as_ref(), at, name, into)?;
        }
    }
    Ok(columns)
}

fn numbers(
    group: &dyn RowGroupReader,
    at: usize,
    name: &str,
    into: &mut Vec<i64>,
) -> Result<(), ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut there: Vec<i16> = Vec::new();
    let optional = group.metadata().column(at).column_descr().max_def_level() > 0;
    macro_rules! all {
        ($reader:expr) => {{
            let mut values = Vec::new();
            while $reader.read_records(rows.max(1), Some(&mut there), None, &mut values)?.0 > 0 {}
            values.into_iter().map(i64::from).collect::<Vec<i64>>()
        }};
    }
    let values = match group.get_column_reader(at)? {
        ColumnReader::Int64ColumnReader(mut reader) => all!(reader),
        ColumnReader::Int32ColumnReader(mut reader) => all!(reader),
        _ => return Err(ParquetError::General(format!("column {name} holds no whole numbers"))),
    };
    if !optional {
        into.extend(values);
        return Ok(());
    }
    let mut values = values.into_iter();
    into.extend(there.iter().map(|&level| if level > 0 { values.next().unwrap_or(NULL) } else { NULL }));
    Ok(())
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
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found.unwrap(), [columns[1].clone(), columns[0].clone()]);
        assert!(missing.unwrap_err().to_string().contains("no column c"));
    }
}
