//! Redis commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::check_template;
use super::request_checks::check_list;
use super::session::Session;
use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// Redis commands, chosen by weight. Their words are templates with fields such as `{{int:1..1000}}`,
/// `{{string:20}}` or `{{data.NAME}}` (docs/reference/workload.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// The requests, chosen by weight.
    pub commands: Vec<Command>,
    /// The table that fields such as `{{data.NAME}}` read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// Make the requests in order, with think times between them, instead of choosing them by weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// One request: a command, or several that are sent together and counted as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Name in results; requests of one name are counted together. Absent: the command's first word, such as
    /// `lpush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Relative frequency: its share of the sum of all weights.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// `"LPUSH list:{{int:1..10}} {{string:20}}"`; or a list of words if they contain spaces: `["SET",
    /// "greeting", "hello you"]`; or several commands that count as one request: `[["MULTI"], ["INCR", "n"],
    /// ["EXEC"]]`.
    pub command: Words,
}

fn default_weight() -> f64 {
    1.0
}

/// The words of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// One line with spaces between the words.
    Line(String),
    /// A list of words.
    Words(Vec<String>),
    /// Several commands, each a list of words.
    Several(Vec<Vec<String>>),
}

impl Words {
    /// Return the commands as lists of words.
    pub fn commands(&self) -> Vec<Vec<String>> {
        match self {
            Self::Line(line) => vec![split_words(line)],
            Self::Words(words) => vec![words.clone()],
            Self::Several(commands) => commands.clone(),
        }
    }
}

/// Split a line into words; spaces inside a field do not split it.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (vec![String::new()], line);
    while let Some(next) = rest.chars().next() {
        let field = rest.starts_with("{{").then(|| rest.find("}}")).flatten();
        let (text, after) = rest.split_at(field.map_or(next.len_utf8(), |end| end + 2));
        match words.last_mut() {
            Some(word) if field.is_some() || !next.is_whitespace() => word.push_str(text),
            Some(word) if !word.is_empty() => words.push(String::new()),
            _ => {}
        }
        rest = after;
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Command {
    /// Return the name in results.
    pub fn result_name(&self) -> String {
        let first = || {
            self.command.commands().first().and_then(|words| words.first()).map(|word| word.to_lowercase())
        };
        self.name.clone().or_else(first).unwrap_or_default()
    }
}

/// Check that each command of a request has exactly one reply, does not wait for another client, and leaves the
/// state of its connection unchanged (redis.io, "Commands").
fn check_replies(commands: &[Vec<String>]) -> Result<(), &'static str> {
    let mut in_transaction = false;
    for words in commands {
        let words: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let blocks_at = |option| words.windows(2).any(|two| two == [option, "0"]);
        match words[..] {
            ["SUBSCRIBE" | "PSUBSCRIBE" | "SSUBSCRIBE" | "UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE"
            | "MONITOR" | "SYNC" | "PSYNC", ..] => {
                return Err("commands with one reply each: any number of messages answers this one");
            }
            ["CLIENT", "REPLY", ..] => return Err("commands that leave replies on"),
            ["QUIT" | "SHUTDOWN", ..] => return Err("commands that leave the connection open"),
            ["BLPOP" | "BRPOP" | "BZPOPMIN" | "BZPOPMAX" | "BLMOVE" | "BRPOPLPUSH", .., "0"]
            | ["BLMPOP" | "BZMPOP", "0", ..]
            | ["WAIT", _, "0"]
            | ["WAITAOF", _, _, "0"] => {
                return Err("commands that end: with a timeout of 0 this one may wait forever");
            }
            ["XREAD" | "XREADGROUP", ..] if blocks_at("BLOCK") => {
                return Err("commands that end: with BLOCK 0 this one may wait forever");
            }
            ["MULTI"] => in_transaction = true,
            ["EXEC" | "DISCARD" | "RESET"] => in_transaction = false,
            _ => {}
        }
    }
    if in_transaction {
        return Err("commands with EXEC or DISCARD after MULTI, in the same request");
    }
    Ok(())
}

impl Commands {
    /// Return the names and weights of all requests.
    pub fn weighted_kinds(&self) -> Vec<WeightedKind> {
        self.commands.iter().map(|one| WeightedKind { kind: one.result_name(), weight: one.weight }).collect()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.commands.is_empty() {
            return Err(refuse("workload.commands", "empty", "a list of at least one command"));
        }
        for (at, one) in self.commands.iter().enumerate() {
            let commands = one.command.commands();
            if commands.is_empty() || commands.iter().any(Vec::is_empty) {
                return Err(refuse(format!("workload.commands[{at}].command"), "empty", "at least one word"));
            }
            if let Err(must) = check_replies(&commands) {
                let named: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
                let value = format!("{:?}", named.join("; "));
                return Err(refuse(format!("workload.commands[{at}].command"), value, must));
            }
            let alike = |other: &&Command| {
                other.result_name() == one.result_name() && other.command.commands().len() != commands.len()
            };
            if self.commands[..at].iter().any(|other| alike(&other)) {
                let must = "another name: requests of one name have the same number of commands";
                let field = format!("workload.commands[{at}].name");
                return Err(refuse(field, format!("{:?}", one.result_name()), must));
            }
        }
        check_list("workload.commands", &self.weighted_kinds())
    }

    pub(super) fn read_files(&mut self) -> Result<(), PlanError> {
        if let Some(data) = &mut self.data {
            data.read()?;
        }
        for (at, one) in self.commands.iter().enumerate() {
            for word in one.command.commands().iter().flatten() {
                check_template(format!("workload.commands[{at}].command"), word, self.data.as_ref())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn commands_with_ambiguous_replies_are_refused() {
        let refused = |command: serde_json::Value| {
            let one = serde_json::json!({"commands": [{"command": "GET k"}, {"command": command}]});
            let commands: Commands = serde_json::from_value(one).unwrap();
            commands.check().err().map(|refused| refused.field_and_value().0.to_owned())
        };
        for command in [
            "SUBSCRIBE a b c",
            "subscribe a",
            "MONITOR",
            "CLIENT REPLY OFF",
            "client reply skip",
            "QUIT",
            "BLPOP k 0",
            "BLMOVE a b LEFT RIGHT 0",
            "BZMPOP 0 1 k MIN",
            "XREAD BLOCK 0 STREAMS s $",
            "WAIT 1 0",
            "MULTI",
        ] {
            let field = Some("workload.commands[1].command".to_owned());
            assert_eq!(refused(command.into()), field, "{command}");
        }
        for command in [
            "BLPOP k 1",
            "CLIENT ID",
            "XREAD BLOCK 10 STREAMS s 0",
            "PUBLISH c MONITOR",
            "SET k 0",
            "HELLO 3",
            "LPUSH l 0",
        ] {
            assert_eq!(refused(command.into()), None, "{command}");
        }
        assert_eq!(refused(serde_json::json!([["MULTI"], ["INCR", "n"], ["EXEC"]])), None);
        assert!(refused(serde_json::json!([["MULTI"], ["INCR", "n"]])).is_some());
    }

    use super::*;

    #[test]
    fn a_line_is_split_at_spaces_outside_fields() {
        for (line, expected) in [
            ("GET a", &["GET", "a"][..]),
            ("  ZADD  z {{ int:1..9 }} m{{string:3}} ", &["ZADD", "z", "{{ int:1..9 }}", "m{{string:3}}"]),
            ("SET k {{choice:a b|c}}x", &["SET", "k", "{{choice:a b|c}}x"]),
            ("SET k {{open", &["SET", "k", "{{open"]),
            ("", &[]),
        ] {
            assert_eq!(split_words(line), expected, "{line}");
        }
    }

    #[test]
    fn the_default_name_is_the_first_word_of_the_first_command() {
        for (text, called) in [
            (r#"{"command": "LPUSH l x"}"#, "lpush"),
            (r#"{"command": ["ZADD", "z", "1", "a b"]}"#, "zadd"),
            (r#"{"command": [["MULTI"], ["INCR", "n"], ["EXEC"]]}"#, "multi"),
            (r#"{"name": "order", "command": "EVAL x 0"}"#, "order"),
        ] {
            let command: Command = serde_json::from_str(text).unwrap();
            assert_eq!(command.result_name(), called);
        }
    }

    #[test]
    fn lists_without_commands_and_commands_without_words_are_refused() {
        for (text, field) in [
            (r#"{"commands": []}"#, "workload.commands"),
            (r#"{"commands": [{"command": "GET a"}, {"command": " "}]}"#, "workload.commands[1].command"),
            (r#"{"commands": [{"command": [["GET", "a"], []]}]}"#, "workload.commands[0].command"),
            (r#"{"commands": [{"command": "GET a", "weight": 0}]}"#, "workload.commands"),
            (
                r#"{"commands": [{"command": "GET a"}, {"command": [["GET", "a"], ["GET", "b"]]}]}"#,
                "workload.commands[1].name",
            ),
        ] {
            let commands: Commands = serde_json::from_str(text).unwrap();
            let refused = commands.check().unwrap_err();
            assert_eq!(refused.field_and_value().0, field, "{refused}");
        }
        let mut unknown: Commands =
            serde_json::from_str(r#"{"commands": [{"command": "GET {{itn:1..2}}"}]}"#).unwrap();
        assert_eq!(unknown.read_files().unwrap_err().field_and_value().0, "workload.commands[0].command");
    }
}
