//! Statements, compiled once.

use hindmost_plan::{Data, Escape, Statement};

use super::opening::{message, write_text};
use crate::workload::{Template, Values};

/// A compiled statement of the list.
pub enum CompiledStatement {
    /// A simple query.
    Simple(Template),
    /// A prepared statement: its Bind message up to the number of parameters, and the parameters.
    Prepared { bind: Vec<u8>, parameters: Vec<Template> },
}

/// Execute the unnamed portal for all rows, then Sync.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
/// Format code for results and parameters in text form, as in simple queries.
const AS_TEXTS: &[u8] = &[0, 0];

/// Whether one of the commands in `sql` begins a transaction.
pub fn begins_transaction(sql: &str) -> bool {
    let begins = |command: &str| {
        let mut words = command.split_whitespace().map(str::to_ascii_uppercase);
        match words.next().as_deref() {
            Some("BEGIN") => true,
            Some("START") => words.next().as_deref() == Some("TRANSACTION"),
            _ => false,
        }
    };
    sql.split(';').any(begins)
}

fn name(at: usize) -> String {
    format!("s{at}")
}

/// Return the messages that prepare the statements with parameters, named by number, and a Sync.
pub fn prepare_messages<'s>(statements: impl Iterator<Item = (usize, &'s Statement)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, one) in statements.filter(|(_, one)| one.parameters.is_some()) {
        message(b'P', &mut out, |out| {
            write_text(&name(at), out);
            write_text(&one.sql, out);
            // The server infers the parameter types.
            out.extend_from_slice(&[0, 0]);
        });
    }
    if !out.is_empty() {
        message(b'S', &mut out, |_| ());
    }
    out
}

impl CompiledStatement {
    /// Compile statement number `at` of the plan.
    pub fn new(at: usize, statement: &Statement, data: Option<&Data>) -> Self {
        let mut before = Template::default();
        let Some(parameters) = &statement.parameters else {
            before.text(&statement.sql, data, Escape::Raw);
            return Self::Simple(before);
        };
        let mut bind = Vec::new();
        write_text("", &mut bind);
        write_text(&name(at), &mut bind);
        bind.extend_from_slice(AS_TEXTS);
        bind.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        let compiled = parameters.iter().map(|parameter| {
            let mut template = Template::after(&before);
            template.text(parameter, data, Escape::Raw);
            before = Template::after(&template);
            template
        });
        Self::Prepared { parameters: compiled.collect(), bind }
    }

    /// Append the request with `values`.
    #[inline]
    pub fn write(&self, values: Values, out: &mut Vec<u8>) {
        match self {
            Self::Simple(sql) => message(b'Q', out, |out| {
                sql.write(values, out);
                out.push(0);
            }),
            Self::Prepared { bind, parameters } => {
                message(b'B', out, |out| {
                    out.extend_from_slice(bind);
                    for parameter in parameters {
                        out.extend_from_slice(&(parameter.length(values) as u32).to_be_bytes());
                        parameter.write(values, out);
                    }
                    out.extend_from_slice(AS_TEXTS);
                });
                out.extend_from_slice(EXECUTE);
            }
        }
    }

    /// Return an upper bound on a request's bytes.
    pub fn largest(&self) -> usize {
        match self {
            Self::Simple(sql) => sql.largest() + 8,
            Self::Prepared { bind, parameters } => {
                let all: usize = parameters.iter().map(|one| one.largest() + 4).sum();
                bind.len() + all + EXECUTE.len() + 8
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_plan::WeightedKind;

    use super::*;
    use crate::workload::List;

    fn encode(sql: &str, parameters: Option<&[&str]>) -> Vec<u8> {
        let parameters = parameters.map(|all| all.iter().map(|&one| one.to_owned()).collect());
        let statement = Statement { name: None, weight: 1.0, sql: sql.to_owned(), parameters };
        let one = CompiledStatement::new(3, &statement, None);
        let list = List::new(1, &[WeightedKind { kind: "a".to_owned(), weight: 1.0 }], None);
        let mut out = Vec::new();
        one.write(list.values(7), &mut out);
        assert!(out.len() <= one.largest());
        out
    }

    #[test]
    fn a_simple_query_is_its_text() {
        assert_eq!(encode("SELECT {{sequence}}", None), b"Q\0\0\0\x0dSELECT 7\0");
    }

    #[test]
    fn a_prepared_statement_is_bound_executed_and_synced() {
        let bound = b"B\0\0\0\x19\0s3\0\0\0\0\x02\0\0\0\x017\0\0\0\x02ab\0\0";
        assert_eq!(encode("SELECT $1, $2", Some(&["{{sequence}}", "ab"])), [&bound[..], EXECUTE].concat());
    }

    #[test]
    fn statements_with_parameters_are_prepared_by_number() {
        let one = |sql: &str, parameters: Option<Vec<String>>| Statement {
            name: None,
            weight: 1.0,
            sql: sql.to_owned(),
            parameters,
        };
        let all = [one("A", None), one("B", Some(Vec::new()))];
        assert_eq!(prepare_messages(all.iter().enumerate()), b"P\0\0\0\x0bs1\0B\0\0\0S\0\0\0\x04");
        assert!(prepare_messages(all[..1].iter().enumerate()).is_empty());
    }
}
