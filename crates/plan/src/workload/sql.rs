//! SQL statements: PostgreSQL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::{check_template, check_texts};
use super::request_checks::check_list;
use super::session::Session;
use super::template::Escape;
use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// SQL statements, chosen by weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sql {
    /// The statements, chosen by weight.
    pub statements: Vec<Statement>,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Make the requests in order, with think times between them, instead of choosing them by weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// One request of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Name in results; requests of one name are counted together. Absent: its first word, such as `select`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Relative frequency: its share of the sum of all weights.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// The statement. Without `parameters` it is sent unchanged, is a template, and may contain several:
    /// `BEGIN; ...; COMMIT`.
    pub sql: String,
    /// The values of `$1`, `$2` and so on, each a template; an empty list if there are none. With them, the
    /// statement is prepared once on each connection before its first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<String>>,
}

fn default_weight() -> f64 {
    1.0
}

impl Default for Sql {
    /// A minimal statement, which reads no table.
    fn default() -> Self {
        let statement = Statement { name: None, weight: 1.0, sql: "SELECT 1".to_owned(), parameters: None };
        Self { statements: vec![statement], data: None, session: None }
    }
}

impl Statement {
    /// Return the name in results.
    pub fn result_name(&self) -> String {
        let first = self.sql.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        self.name.clone().unwrap_or_else(|| first.unwrap_or("sql").to_lowercase())
    }
}

impl Sql {
    /// Return the names and weights of all requests.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        self.statements
            .iter()
            .map(|one| WeightedKind { kind: one.result_name(), weight: one.weight })
            .collect()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.statements.is_empty() {
            return Err(refuse("workload.statements", "empty", "a list of at least one statement"));
        }
        for (at, one) in self.statements.iter().enumerate() {
            let field = format!("workload.statements[{at}].sql");
            if one.sql.trim().is_empty() || one.sql.contains('\0') {
                return Err(refuse(field, format!("{:?}", one.sql), "a statement"));
            }
            if one.parameters.is_some() && one.sql.contains("{{") {
                let must = "without fields, because a statement with `parameters` is prepared once; write $1 and list its value there";
                return Err(refuse(field, format!("{:?}", one.sql), must));
            }
            if one.parameters.as_ref().is_some_and(|all| all.len() > usize::from(u16::MAX)) {
                return Err(refuse(
                    format!("workload.statements[{at}].parameters"),
                    "too long a list",
                    "at most 65535",
                ));
            }
        }
        check_list("workload.statements", &self.weighted_kinds())
    }

    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        let data = self.data.as_ref();
        for (at, one) in self.statements.iter().enumerate() {
            if one.parameters.is_none() {
                let field = format!("workload.statements[{at}].sql");
                check_template(field.clone(), &one.sql, data)?;
                // A zero byte ends a query (PostgreSQL 15, 55.7).
                let whole = |text: &str| {
                    if text.contains('\0') {
                        Err("text without zero bytes".to_owned())
                    } else {
                        Ok(())
                    }
                };
                check_texts(&field, &one.sql, data, Escape::Raw, false, whole)?;
            }
            for value in one.parameters.iter().flatten() {
                check_template(format!("workload.statements[{at}].parameters"), value, data)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_name_is_the_first_word() {
        for (sql, called) in
            [("SELECT 1", "select"), ("  with x as (..) ..", "with"), ("(values (1))", "values")]
        {
            let one = Statement { name: None, weight: 1.0, sql: sql.to_owned(), parameters: None };
            assert_eq!(one.result_name(), called);
        }
    }

    #[test]
    fn statements_that_cannot_be_prepared_are_refused() {
        for (text, field) in [
            (r#"{"statements": []}"#, "workload.statements"),
            (r#"{"statements": [{"sql": " "}]}"#, "workload.statements[0].sql"),
            (
                r#"{"statements": [{"sql": "SELECT {{int:1..2}}", "parameters": []}]}"#,
                "workload.statements[0].sql",
            ),
        ] {
            let sql: Sql = serde_json::from_str(text).unwrap();
            let refused = sql.check().unwrap_err();
            assert_eq!(refused.field_and_value().0, field, "{refused}");
        }
        assert_eq!(Sql::default().check(), Ok(()));
    }
}
