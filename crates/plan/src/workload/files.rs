//! Reads the files that a workload names, bodies and data, before the first request.

use std::path::Path;

use super::data::{Data, Rows};
use super::http::{Body, Http, HttpRequest};
use super::template::{parts, Escape, TemplatePart};
use crate::error::{refuse, PlanError};

/// Largest template in bytes: its text is written anew for each request.
const MOST_TEMPLATE_BYTES: u64 = 1 << 20;

impl Data {
    /// Read the rows.
    pub(super) fn read(&mut self) -> Result<(), PlanError> {
        let rows = Rows::read(&self.file).map_err(|why| {
            let value = format!("{}, which cannot be used: {why}", self.file.display());
            refuse("workload.data.file", value, "a CSV file with the names of its columns in the first line")
        })?;
        self.rows = Some(rows.into());
        Ok(())
    }
}

/// Check that a template can be parsed.
pub(super) fn check_template(field: String, text: &str, data: Option<&Data>) -> Result<(), PlanError> {
    let columns = data.and_then(|data| data.rows.as_ref()).map(|rows| &rows.columns[..]);
    let shown = || format!("{:?}", text.chars().take(60).collect::<String>());
    parts(text, columns).map(|_| ()).map_err(|must| refuse(field, shown(), must))
}

/// Check that `check` accepts every text that the template can produce; its error states what it would accept. The
/// error names file, line and columns of the data, and hides a text that may be `secret`.
pub(super) fn check_texts(
    field: &str,
    text: &str,
    data: Option<&Data>,
    usual: Escape,
    secret: bool,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<(), PlanError> {
    let rows = data.and_then(|data| data.rows.as_deref());
    let Ok(parts) = parts(text, rows.map(|rows| &rows.columns[..])) else { return Ok(()) };
    let columns: Vec<usize> = parts.iter().filter_map(|part| part.bare_column(usual)).collect();
    let choices = parts.iter().map(TemplatePart::choices).max().unwrap_or(1);
    for choice in 0..choices {
        for row in 0..rows.filter(|_| !columns.is_empty()).map_or(1, Rows::count) {
            let value = |column| rows.map_or("", |rows| rows.value(row, column));
            let longest: String = parts.iter().map(|part| part.longest(choice, value, usual)).collect();
            let Err(must) = check(&longest) else { continue };
            let shown: String = longest.chars().take(60).collect();
            let shown = if secret { "a value that may be secret".to_owned() } else { format!("{shown:?}") };
            return Err(match data.zip(rows).filter(|_| !columns.is_empty()) {
                Some((data, rows)) => {
                    let names: Vec<&str> = columns.iter().map(|&at| rows.columns[at].as_str()).collect();
                    let place = format!("{}, line {}", data.file.display(), rows.line(row));
                    refuse("workload.data", format!("{place}, column {}: {shown}", names.join(", ")), must)
                }
                None => refuse(field.to_owned(), shown, must),
            });
        }
    }
    Ok(())
}

impl Http {
    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        let data = self.data.as_ref();
        for (name, value) in &self.headers {
            check_header("workload", name, value, data)?;
        }
        for path in self.paths.iter().flatten() {
            check_path("workload.paths", path, data)?;
        }
        for (index, one) in self.requests.iter_mut().enumerate() {
            one.read_files(&format!("workload.requests[{index}]"), data)?;
        }
        Ok(())
    }
}

/// Check that a header's value stays on one line, whatever its fields contain (RFC 9110, 5.5).
fn check_header(of: &str, name: &str, value: &str, data: Option<&Data>) -> Result<(), PlanError> {
    let field = format!("{of}.headers.{name}");
    let line = |text: &str| {
        if text.chars().any(|c| c.is_control() && c != '\t') {
            Err(format!("text without line ends and control characters, since it is inserted into {name}"))
        } else {
            Ok(())
        }
    };
    check_template(field.clone(), value, data).map_err(|e| e.hide_value(name))?;
    check_texts(&field, value, data, Escape::Raw, true, line)
}

/// Check that a path stays one word, whatever its fields contain (RFC 9112, 3.2).
fn check_path(field: &str, path: &str, data: Option<&Data>) -> Result<(), PlanError> {
    let word = |text: &str| {
        if text.starts_with(['/', '*']) && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(())
        } else {
            Err("a path that starts with `/` and contains neither spaces nor control characters: \
              leave out `|raw`"
                .to_owned())
        }
    };
    check_template(field.to_owned(), path, data)?;
    check_texts(field, path, data, Escape::Url, false, word)
}

impl HttpRequest {
    /// Read one request, such as one imported from another tool, with its files.
    ///
    /// # Errors
    /// [`PlanError`] that names a field of the request.
    pub fn from_value(value: serde_json::Value) -> Result<Self, PlanError> {
        let mut one: Self =
            serde_json::from_value(value).map_err(|e| refuse("request", e.to_string(), "an HTTP request"))?;
        one.check("request", ".path")?;
        one.read_files("request", None)?;
        Ok(one)
    }

    fn read_files(&mut self, field: &str, data: Option<&Data>) -> Result<(), PlanError> {
        check_path(&format!("{field}.path"), &self.path, data)?;
        for (name, value) in &self.headers {
            check_header(field, name, value, data)?;
        }
        let of = || format!("{field}.body");
        let read = match &self.body {
            Some(Body::File(file)) => Body::Bytes(read(of(), file, u64::MAX)?.into()),
            Some(Body::Hex(digits)) => {
                Body::Bytes(bytes_of(digits).map_err(|must| refuse(of(), "{hex}", must))?.into())
            }
            Some(Body::Template(file)) => {
                let text = String::from_utf8(read(of(), file, MOST_TEMPLATE_BYTES)?);
                Body::Text(text.map_err(|_| unusable(of(), file, "it is not UTF-8"))?)
            }
            Some(other) => other.clone(),
            None => return Ok(()),
        };
        if let Body::Text(text) = &read {
            check_template(of(), text, data)?;
        }
        self.body = Some(read);
        Ok(())
    }
}

/// Decode a string of hexadecimal digits.
fn bytes_of(digits: &str) -> Result<Vec<u8>, &'static str> {
    let wrong = "hexadecimal digits, two for each byte";
    if digits.len() % 2 != 0 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong);
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn unusable(field: String, file: &Path, why: &str) -> PlanError {
    refuse(
        field,
        format!("the file {}, which cannot be used: {why}", file.display()),
        "a file that can be read",
    )
}

fn read(field: String, file: &Path, most: u64) -> Result<Vec<u8>, PlanError> {
    let found = std::fs::metadata(file).map_err(|e| unusable(field.clone(), file, &e.to_string()))?;
    if !found.is_file() {
        return Err(unusable(field, file, "it is not a regular file"));
    }
    if found.len() > most {
        let why = format!("it has {} bytes, but a template has at most {most}", found.len());
        return Err(unusable(field, file, &why));
    }
    hindmost_sys::file::read_regular(file).map_err(|e| unusable(field, file, &e.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::super::Workload;
    use super::*;

    /// Return the field and the value that are refused.
    fn refusal(workload: Value) -> (String, String) {
        let workload: Workload = serde_json::from_value(workload).unwrap();
        let refused = workload.load_files().unwrap_err();
        let (field, value) = refused.field_and_value();
        (field.to_owned(), value.to_owned())
    }

    #[test]
    fn bytes_are_written_in_hexadecimal_digits() {
        assert_eq!(bytes_of("00fF7a"), Ok(vec![0, 255, 122]));
        assert!(["0", "0g", "é"].into_iter().all(|wrong| bytes_of(wrong).is_err()));
    }

    #[test]
    fn the_error_names_a_missing_file() {
        let (field, value) =
            refusal(json!({"kind": "http", "requests": [{}, {"body": {"file": "/absent.json"}}]}));
        assert!(
            field.starts_with("workload.requests[1].body") && value.contains("/absent.json"),
            "{field} {value}"
        );
        let (field, _) = refusal(json!({"kind": "http", "data": {"file": "/"}}));
        assert_eq!(field, "workload.data.file");
        let (field, _) = refusal(json!({"kind": "http", "requests": [{"body": {"template": "/"}}]}));
        assert!(field.starts_with("workload.requests[0].body"), "{field}");
    }

    #[test]
    fn an_unknown_field_is_refused_with_a_suggestion() {
        let (field, _) = refusal(json!({"kind": "http", "requests": [{"path": "/{{itn:1..5}}"}]}));
        assert_eq!(field, "workload.requests[0].path");
        let (field, value) =
            refusal(json!({"kind": "http", "requests": [{"headers": {"Cookie": "s3cret {{x}}"}}]}));
        assert!(field.ends_with("headers.Cookie") && !value.contains("s3cret"), "{field} {value}");
    }

    #[test]
    fn an_imported_request_is_refused_by_its_field() {
        let refusal = |one: Value| HttpRequest::from_value(one).unwrap_err().field_and_value().0.to_owned();
        assert_eq!(refusal(json!({"method": "CONNECT"})), "request.method");
        assert_eq!(refusal(json!({"path": "x"})), "request.path");
        assert_eq!(refusal(json!({"headers": {"A": "b\r\nC: d"}})), "request.headers.A");
        assert_eq!(refusal(json!({"body": "{{string:9999999}}"})), "request.body");
        assert_eq!(refusal(json!({"headers": {"A": 1}})), "request");
        assert!(HttpRequest::from_value(json!({"method": "GET", "body": {"hex": "ff"}})).is_ok());
    }

    #[test]
    fn a_cell_that_injects_a_line_is_refused_by_file_line_and_column() {
        let folder = std::env::temp_dir().join(format!("hindmost-cells-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let table = folder.join("t.csv");
        for (cell, in_header, raw_in_path) in
            [("a", true, true), ("a b", true, false), ("a\r\nX-Evil: 1", false, false), ("a\0", false, false)]
        {
            std::fs::write(&table, format!("id,name\n1,ok\n2,\"{cell}\"\n")).unwrap();
            let header = json!([{"headers": {"X-N": "s3cret {{data.name}}"}}]);
            let path = json!([{"path": "/{{data.name|raw}}"}]);
            let encoded = json!([{"path": "/{{data.name}}"}, {"headers": {"X-N": "{{data.name|json}}"}}]);
            for (requests, accepted) in [(header, in_header), (path, raw_in_path), (encoded, true)] {
                let workload = json!({"kind": "http", "data": {"file": table}, "requests": requests});
                let opened = serde_json::from_value::<Workload>(workload).unwrap().load_files();
                let value = opened.map(|_| ()).map_err(|refused| refused.field_and_value().1.to_owned());
                assert_eq!(value.is_ok(), accepted, "{cell:?} {requests}");
                let placed = |value: &String| {
                    value.contains("t.csv, line 3, column name") && !value.contains("s3cret")
                };
                assert!(value.as_ref().err().is_none_or(placed), "{value:?}");
            }
        }
        let sql = json!({
            "kind": "sql", "data": {"file": table}, "statements": [{"sql": "SELECT '{{data.name}}'"}],
        });
        assert_eq!(refusal(sql).0, "workload.data");
        let choice = json!({"kind": "http", "requests": [{"path": "/{{choice:a|b c}}"}]});
        assert!(
            serde_json::from_value::<Workload>(choice).unwrap().load_files().is_ok(),
            "it is percent-encoded"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn load_files_reads_bodies_and_columns() {
        let folder = std::env::temp_dir().join(format!("hindmost-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (body, table) = (folder.join("b"), folder.join("t.csv"));
        std::fs::write(&body, [0u8, 255]).unwrap();
        std::fs::write(&table, "id\n7\n").unwrap();
        let workload = json!({
            "kind": "http", "data": {"file": table}, "requests": [{"path": "/{{data.id}}", "body": {"file": body}}],
        });
        let Workload::Http(http) =
            serde_json::from_value::<Workload>(workload).unwrap().load_files().unwrap()
        else {
            panic!()
        };
        assert_eq!(http.requests[0].body, Some(Body::Bytes([0u8, 255][..].into())));
        assert_eq!(http.data.unwrap().rows.unwrap().column(0).collect::<Vec<_>>(), ["7"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
