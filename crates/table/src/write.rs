use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::TableError;

/// Writes a Parquet file, compressed with Snappy.
pub struct Writer<'o> {
    file: SerializedFileWriter<Box<dyn Write + Send + 'o>>,
}

impl<'o> Writer<'o> {
    /// Start a file with the columns of `schema`, in Parquet's message format.
    ///
    /// # Errors
    /// If the schema is invalid, or the file cannot be written.
    pub fn new(out: Box<dyn Write + Send + 'o>, schema: &str) -> Result<Self, TableError> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(parse_message_type(schema)?);
        Ok(Self { file: SerializedFileWriter::new(out, schema, Arc::new(properties))? })
    }

    /// Start a row group. Close it before starting the next one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin_group(&mut self) -> Result<Group<'_, 'o>, TableError> {
        Ok(Group { group: self.file.next_row_group()? })
    }

    /// Write the footer of the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.file.finish()?;
        Ok(())
    }
}

/// A row group. Each call writes the next column of the schema, with one value per row.
pub struct Group<'w, 'o> {
    group: SerializedRowGroupWriter<'w, Box<dyn Write + Send + 'o>>,
}

impl Group<'_, '_> {
    /// Write a column `required int32`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn int32(&mut self, values: impl Iterator<Item = i32>) -> Result<(), TableError> {
        self.write_int32(&values.collect::<Vec<_>>())
    }

    /// Write a column `required int64`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn int64(&mut self, values: impl Iterator<Item = i64>) -> Result<(), TableError> {
        self.write_int64(&values.collect::<Vec<_>>(), None)
    }

    /// Write a column `optional int64`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn optional_int64(&mut self, values: impl Iterator<Item = Option<i64>>) -> Result<(), TableError> {
        let mut levels = Vec::with_capacity(values.size_hint().0);
        let note_null = |value: &Option<i64>| levels.push(i16::from(value.is_some()));
        let values: Vec<i64> = values.inspect(note_null).flatten().collect();
        self.write_int64(&values, Some(&levels))
    }

    /// Write a column `required binary (UTF8)`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn text<'t>(&mut self, mut values: impl Iterator<Item = &'t str>) -> Result<(), TableError> {
        self.write_text(&mut values)
    }

    /// Close the row group.
    ///
    /// # Errors
    /// If the file cannot be written, or a column is missing.
    pub fn close(self) -> Result<(), TableError> {
        self.group.close()?;
        Ok(())
    }

    // Not generic, so that it is compiled here and not by each caller.

    fn write_int32(&mut self, values: &[i32]) -> Result<(), TableError> {
        self.write::<Int32Type>(values, None)
    }

    fn write_int64(&mut self, values: &[i64], levels: Option<&[i16]>) -> Result<(), TableError> {
        self.write::<Int64Type>(values, levels)
    }

    fn write_text(&mut self, values: &mut dyn Iterator<Item = &str>) -> Result<(), TableError> {
        self.write::<ByteArrayType>(&values.map(ByteArray::from).collect::<Vec<_>>(), None)
    }

    fn write<D: DataType>(&mut self, values: &[D::T], levels: Option<&[i16]>) -> Result<(), TableError> {
        let full = || TableError::Format("there are more columns than the schema has".to_owned());
        let mut column = self.group.next_column()?.ok_or_else(full)?;
        column.typed::<D>().write_batch(values, levels, None)?;
        column.close()?;
        Ok(())
    }
}
