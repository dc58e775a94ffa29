//! Commands as arrays of bulk strings, compiled once.

use std::io::Write;

use hindmost_plan::{Command, Data, Escape};

use crate::workload::{Template, Values};

/// A compiled request of the list: one command, or several consecutive ones.
pub struct CompiledCommand {
    parts: Vec<Part>,
    /// Number of its replies.
    pub replies: u32,
}

enum Part {
    /// Constant bytes.
    Same(Vec<u8>),
    /// A variable word, written with its length.
    Word(Template),
}

impl CompiledCommand {
    /// Compile a request of the plan.
    pub fn new(command: &Command, data: Option<&Data>) -> Self {
        let commands = command.command.commands();
        let (mut parts, mut same, mut before) = (Vec::new(), Vec::new(), Template::default());
        for words in &commands {
            begin(words.len(), &mut same);
            for word in words {
                let mut template = Template::after(&before);
                template.text(word, data, Escape::Raw);
                if let Some(bytes) = template.constant() {
                    bulk(bytes, &mut same);
                } else {
                    before = Template::after(&template);
                    parts.push(Part::Same(std::mem::take(&mut same)));
                    parts.push(Part::Word(template));
                }
            }
        }
        parts.push(Part::Same(same));
        Self { parts, replies: commands.len() as u32 }
    }

    /// Append the request with `values`.
    #[inline]
    pub fn write(&self, values: Values, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Same(bytes) => out.extend_from_slice(bytes),
                Part::Word(template) => {
                    // Writing to a Vec cannot fail.
                    let _ = write!(out, "${}\r\n", template.length(values));
                    template.write(values, out);
                    out.extend_from_slice(b"\r\n");
                }
            }
        }
    }

    /// Return an upper bound on a request's bytes.
    pub fn largest(&self) -> usize {
        let part_bytes = |part: &Part| match part {
            Part::Same(bytes) => bytes.len(),
            Part::Word(template) => template.largest() + 16,
        };
        self.parts.iter().map(part_bytes).sum()
    }
}

fn begin(words: usize, out: &mut Vec<u8>) {
    let _ = write!(out, "*{words}\r\n");
}

fn bulk(word: &[u8], out: &mut Vec<u8>) {
    let _ = write!(out, "${}\r\n", word.len());
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// Append a command of constant words.
pub fn command(words: &[&str], out: &mut Vec<u8>) {
    begin(words.len(), out);
    for word in words {
        bulk(word.as_bytes(), out);
    }
}
