//! Commands of Redis, whatever they are called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::Data;
use super::files::check_template;
use super::listed::Listed;
use super::refusals::check_list;
use crate::error::{refuse, PlanError};

/// Commands of Redis, as often as their weights say. Their words are templates, with fields such as `{{int:1..1000}}`,
/// `{{string:20}}` or `{{data.NAME}}` (docs/reference/workload.md).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// What is asked for, each as often as its weight says.
    pub commands: Vec<Command>,
    /// Where fields such as `{{data.NAME}}` find their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// One request of a list: a command, or several that are sent together and counted as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// What results call it; requests of one name are counted together. Absent: the command's first word, like `lpush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it is made, as a share of the sum of all weights.
    #[serde(default = "one")]
    pub weight: f64,
    /// `"LPUSH list:{{int:1..10}} {{string:20}}"`; or its words, where they hold spaces: `["SET", "greeting", "hello
    /// you"]`; or several commands, whose replies are one: `[["MULTI"], ["INCR", "n"], ["EXEC"]]`.
    pub command: Words,
}

fn one() -> f64 {
    1.0
}

/// A command's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// With spaces between them.
    Line(String),
    /// One by one.
    Words(Vec<String>),
    /// Of several commands.
    Several(Vec<Vec<String>>),
}

impl Words {
    /// The commands, word by word.
    pub fn commands(&self) -> Vec<Vec<String>> {
        match self {
            Self::Line(line) => vec![words(line)],
            Self::Words(words) => vec![words.clone()],
            Self::Several(commands) => commands.clone(),
        }
    }
}

/// The words of a line; spaces within a field part none.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (vec![String::new()], line);
    while let Some(next) = rest.chars().next() {
        let field = rest.starts_with("{{").then(|| rest.find("}}")).flatten();
        let (taken, after) = rest.split_at(field.map_or(next.len_utf8(), |end| end + 2));
        match words.last_mut() {
            Some(word) if field.is_some() || !next.is_whitespace() => word.push_str(taken),
            Some(word) if !word.is_empty() => words.push(String::new()),
            _ => {}
        }
        rest = after;
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Command {
    /// The name in results.
    pub fn called(&self) -> String {
        let first = || {
            self.command.commands().first().and_then(|words| words.first()).map(|word| word.to_lowercase())
        };
        self.name.clone().or_else(first).unwrap_or_default()
    }
}

/// Each command of a request has exactly one reply, without waiting for another client, and leaves its connection as it
/// found it (redis.io, "Commands").
fn check_replies(commands: &[Vec<String>]) -> Result<(), &'static str> {
    let mut in_transaction = false;
    for words in commands {
        let words: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let blocks_at = |option| words.windows(2).any(|two| two == [option, "0"]);
        match words[..] {
            ["SUBSCRIBE" | "PSUBSCRIBE" | "SSUBSCRIBE" | "UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE"
            | "MONITOR" | "SYNC" | "PSYNC", ..] => {
                return Err("commands with one reply each: this one is answered by any number of messages");
            }
            ["CLIENT", "REPLY", ..] => return Err("commands that leave replies on"),
            ["QUIT" | "SHUTDOWN", ..] => return Err("commands that leave the connection open"),
            ["BLPOP" | "BRPOP" | "BZPOPMIN" | "BZPOPMAX" | "BLMOVE" | "BRPOPLPUSH", .., "0"]
            | ["BLMPOP" | "BZMPOP", "0", ..]
            | ["WAIT", _, "0"]
            | ["WAITAOF", _, _, "0"] => {
                return Err("commands that end: with a timeout of 0 this one may wait for ever");
            }
            ["XREAD" | "XREADGROUP", ..] if blocks_at("BLOCK") => {
                return Err("commands that end: with BLOCK 0 this one may wait for ever");
            }
            ["MULTI"] => in_transaction = true,
            ["EXEC" | "DISCARD" | "RESET"] => in_transaction = false,
            _ => {}
        }
    }
    if in_transaction {
        return Err("commands with EXEC or DISCARD behind MULTI, in the same request");
    }
    Ok(())
}

impl Commands {
    /// Names and weights of all requests.
    pub fn listed(&self) -> Vec<Listed> {
        self.commands.iter().map(|one| Listed { kind: one.called(), weight: one.weight }).collect()
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
                other.called() == one.called() && other.command.commands().len() != commands.len()
            };
            if self.commands[..at].iter().any(|other| alike(&other)) {
                let must = "another name: requests of one name have as many commands";
                let field = format!("workload.commands[{at}].name");
                return Err(refuse(field, format!("{:?}", one.called()), must));
            }
        }
        check_list("workload.commands", &self.listed())
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
    fn commands_whose_replies_cannot_be_told_apart_are_refused() {
        let refused = |command: serde_json::Value| {
            let one = serde_json::json!({"commands": [{"command": "GET k"}, {"command": command}]});
            let commands: Commands = serde_json::from_value(one).unwrap();
            commands.check().err().map(|refused| refused.told().0.to_owned())
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
    fn a_line_is_parted_at_spaces_that_stand_in_no_field() {
        for (line, expected) in [
            ("GET a", &["GET", "a"][..]),
            ("  ZADD  z {{ int:1..9 }} m{{string:3}} ", &["ZADD", "z", "{{ int:1..9 }}", "m{{string:3}}"]),
            ("SET k {{choice:a b|c}}x", &["SET", "k", "{{choice:a b|c}}x"]),
            ("SET k {{open", &["SET", "k", "{{open"]),
            ("", &[]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }

    #[test]
    fn a_command_is_called_by_its_first_word_and_several_by_that_of_the_first() {
        for (text, called) in [
            (r#"{"command": "LPUSH l x"}"#, "lpush"),
            (r#"{"command": ["ZADD", "z", "1", "a b"]}"#, "zadd"),
            (r#"{"command": [["MULTI"], ["INCR", "n"], ["EXEC"]]}"#, "multi"),
            (r#"{"name": "order", "command": "EVAL x 0"}"#, "order"),
        ] {
            let command: Command = serde_json::from_str(text).unwrap();
            assert_eq!(command.called(), called);
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
            assert_eq!(refused.told().0, field, "{refused}");
        }
        let mut unknown: Commands =
            serde_json::from_str(r#"{"commands": [{"command": "GET {{itn:1..2}}"}]}"#).unwrap();
        assert_eq!(unknown.read_files().unwrap_err().told().0, "workload.commands[0].command");
    }
}
