use std::fs::File;
use std::path::PathBuf;

use super::*;

const SCHEMA: &str =
    "message row { required int64 a; optional int64 b; required int32 c; required binary d (UTF8); }";

fn write(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hindmost-table-{name}-{}.parquet", std::process::id()));
    let mut writer = Writer::new(Box::new(File::create(&path).unwrap()), SCHEMA).unwrap();
    for rows in [0..2, 2..3] {
        let mut group = writer.begin_group().unwrap();
        group.int64(rows.clone().map(|row| [1, -2, i64::MAX][row])).unwrap();
        group.optional_int64(rows.clone().map(|row| [None, Some(5), None][row])).unwrap();
        group.int32(rows.clone().map(|row| [7, 8, i32::MIN][row])).unwrap();
        group.text(rows.map(|row| ["x", "", "ä"][row])).unwrap();
        group.close().unwrap();
    }
    writer.finish().unwrap();
    path
}

#[test]
fn values_and_nulls_of_all_row_groups_survive_a_round_trip() {
    let path = write("read");
    let integers = read_integers(&path, &["c", "b", "a"]);
    let reals = read_reals(&path, &["b"]);
    let texts = read_texts(&path, &["d"]);
    let kinds = column_kinds(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        integers.unwrap(),
        [vec![7, 8, i64::from(i32::MIN)], vec![NULL, 5, NULL], vec![1, -2, i64::MAX]]
    );
    let reals = reals.unwrap().remove(0);
    assert_eq!((reals[0].is_nan(), reals[1], reals[2].is_nan()), (true, 5.0, true));
    assert_eq!(texts.unwrap(), [["x", "", "ä"]]);
    let kinds = kinds.unwrap();
    let kinds: Vec<_> = kinds.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect();
    assert_eq!(kinds, [("a", "whole"), ("b", "whole"), ("c", "whole"), ("d", "words")]);
}

#[test]
fn errors_name_the_column_or_contain_the_file_error() {
    let path = write("errors");
    let (missing, other) = (read_integers(&path, &["e"]), read_texts(&path, &["a"]));
    std::fs::remove_file(&path).unwrap();
    let gone = read_integers(&path, &["a"]);
    assert!(matches!(missing, Err(TableError::MissingColumn(name)) if name == "e"));
    assert!(matches!(other, Err(TableError::OtherKind(name)) if name == "a"));
    assert!(matches!(gone, Err(TableError::File(error)) if error.kind() == std::io::ErrorKind::NotFound));
}
