//! Framing: find the end of a request, and parse it.

use crate::protocol::frame::{self, skip, Span};
use crate::store::{Mode, MAX_KEY, MAX_VALUE};

/// Longest command line, enough for a get of 260 keys of the greatest length. A longer line gets an error, and the
/// connection is closed.
pub(super) const MAX_LINE: usize = 64 << 10;

/// A request. Spans are relative to the start of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Get {
        keys: Span,
        with_cas: bool,
    },
    Store {
        mode: Mode,
        key: Span,
        flags: u32,
        exptime: i64,
        data: Span,
        noreply: bool,
    },
    Delete {
        key: Span,
        noreply: bool,
    },
    /// A store of a too large value; the value is skipped.
    TooLarge {
        key: Span,
        noreply: bool,
    },
    FlushAll {
        noreply: bool,
    },
    Version,
    Stats,
    StatsHindmost,
    Quit,
    /// A refused request with its reply.
    Refuse(&'static str),
    /// Like `Refuse`, but the rest of the stream cannot be parsed.
    Malformed(&'static str),
    /// A request to ignore without a reply.
    Ignore,
}

impl Command {
    /// Whether the request takes a service time; all others are answered at once.
    pub(crate) fn takes_service(&self) -> bool {
        matches!(self, Self::Get { .. } | Self::Store { .. } | Self::Delete { .. })
    }

    /// Return the first key up to a colon, which may name the request's kind.
    pub(crate) fn kind_name<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let key = match self {
            Self::Get { keys, .. } => {
                let keys = keys.of(frame);
                Words::new(keys).next()?.of(keys)
            }
            Self::Store { key, .. } | Self::Delete { key, .. } => key.of(frame),
            _ => return None,
        };
        key.split(|&byte| byte == b':').next()
    }
}

type Step = frame::Step<Command>;

/// A parser that splits a byte stream into requests. The caller keeps the bytes; the parser keeps only its position.
#[derive(Default)]
pub(crate) struct Parser(State);

enum State {
    /// Inside a command line; its first `scanned` bytes contain no line feed.
    Line { scanned: usize },
    /// After the line of a store; its frame ends after `length` bytes.
    Data { command: Command, line: usize, length: usize },
    /// Inside a value that is skipped.
    Skipping { left: usize },
    /// All further bytes are ignored.
    Closed,
}

impl Default for State {
    fn default() -> Self {
        Self::Line { scanned: 0 }
    }
}

pub(super) const ERROR: &str = "ERROR\r\n";
const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";
const BAD_DELETE: &str = "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument\r\n";
const BAD_DATA: &str = "CLIENT_ERROR bad data chunk\r\n";
const LATE_FLUSH: &str = "SERVER_ERROR flush_all with a delay is not supported\r\n";
const LONG_LINE: &str = "CLIENT_ERROR line too long\r\n";

impl Parser {
    /// Return the total length of the current request, or 0 if it is unknown.
    pub(crate) fn need(&self) -> usize {
        match self.0 {
            State::Data { length, .. } => length,
            _ => 0,
        }
    }

    /// Parse the bytes that follow the consumed ones.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self.0 {
            State::Line { scanned } => self.line(bytes, scanned),
            State::Data { command, line, length } => self.data(bytes, command, line, length),
            State::Skipping { left } => {
                let skipped = left.min(bytes.len());
                self.0 =
                    if skipped == left { State::default() } else { State::Skipping { left: left - skipped } };
                skip(skipped)
            }
            State::Closed => skip(bytes.len()),
        }
    }

    fn line(&mut self, bytes: &[u8], scanned: usize) -> Step {
        // The limit applies only to the position of the line feed, not to the bytes received so far: replies must not
        // depend on how the stream was split into packets.
        let window = &bytes[..bytes.len().min(MAX_LINE)];
        let Some(offset) = window[scanned..].iter().position(|&byte| byte == b'\n') else {
            if window.len() == MAX_LINE {
                self.0 = State::Closed;
                return Step::Frame(Command::Malformed(LONG_LINE), window.len());
            }
            self.0 = State::Line { scanned: window.len() };
            return Step::More;
        };
        let feed = scanned + offset;
        let end = feed + 1;
        let text = &bytes[..if feed > 1 && bytes[feed - 1] == b'\r' { feed - 1 } else { feed }];
        let (command, value) = parse_line(text);
        self.0 = match (command, value) {
            (Command::Quit, _) => State::Closed,
            (Command::TooLarge { .. }, value) => State::Skipping { left: value + 2 },
            (Command::Store { .. }, value) => {
                let length = end + value + 2;
                return self.data(bytes, command, end, length);
            }
            _ => State::default(),
        };
        Step::Frame(command, end)
    }

    fn data(&mut self, bytes: &[u8], mut command: Command, line: usize, length: usize) -> Step {
        if bytes.len() < length {
            self.0 = State::Data { command, line, length };
            return Step::More;
        }
        self.0 = State::default();
        if let Command::Store { data, noreply, .. } = &mut command {
            *data = Span::new(line..length - 2);
            if &bytes[length - 2..length] != b"\r\n" {
                command = refuse(BAD_DATA, *noreply);
            }
        }
        Step::Frame(command, length)
    }
}

fn refuse(reply: &'static str, noreply: bool) -> Command {
    if noreply {
        Command::Ignore
    } else {
        Command::Refuse(reply)
    }
}

/// Parse a command line without its line end. Return the command and the length of the value that follows.
fn parse_line(line: &[u8]) -> (Command, usize) {
    let mut words = Words { line, at: 0 };
    let Some(verb) = words.next() else {
        return (Command::Refuse(ERROR), 0);
    };
    let command = match verb.of(line) {
        b"get" => get(line, words, false),
        b"gets" => get(line, words, true),
        b"set" => return store(line, words, Mode::Set),
        b"add" => return store(line, words, Mode::Add),
        b"replace" => return store(line, words, Mode::Replace),
        b"delete" => delete(line, words),
        b"flush_all" => flush_all(line, words),
        b"version" => Command::Version,
        b"stats" => stats(line, words),
        b"quit" => Command::Quit,
        _ => Command::Refuse(ERROR),
    };
    (command, 0)
}

fn get(line: &[u8], mut words: Words, with_cas: bool) -> Command {
    let keys = Span::new(words.at..line.len());
    let Some(first) = words.next() else {
        return Command::Refuse(ERROR);
    };
    if std::iter::once(first).chain(words).any(|key| key.of(line).len() > MAX_KEY) {
        return Command::Refuse(BAD_FORMAT);
    }
    Command::Get { keys, with_cas }
}

fn store(line: &[u8], words: Words, mode: Mode) -> (Command, usize) {
    let mut words_seen = [Span::default(); 5];
    let (count, noreply) = collect(line, words, &mut words_seen);
    if !(4..=5).contains(&count) {
        return (refuse(ERROR, noreply), 0);
    }
    let [key, flags, exptime, length] = [0, 1, 2, 3].map(|index| words_seen[index].of(line));
    let numbers = (integer(flags), integer(exptime), integer(length));
    let (Some(flags), Some(exptime), Some(length)) = numbers else {
        return (refuse(BAD_FORMAT, noreply), 0);
    };
    let Ok(flags) = u32::try_from(flags) else {
        return (refuse(BAD_FORMAT, noreply), 0);
    };
    if key.len() > MAX_KEY || !(0..i64::from(i32::MAX) - 1).contains(&length) {
        return (refuse(BAD_FORMAT, noreply), 0);
    }
    let (key, length) = (words_seen[0], length as usize);
    if length > MAX_VALUE {
        return (Command::TooLarge { key, noreply }, length);
    }
    (Command::Store { mode, key, flags, exptime, data: Span::default(), noreply }, length)
}

fn delete(line: &[u8], words: Words) -> Command {
    let mut words_seen = [Span::default(); 3];
    let (count, noreply) = collect(line, words, &mut words_seen);
    // Old clients still send `delete KEY 0` with a time argument.
    let good = match count {
        1 => true,
        2 => noreply || words_seen[1].of(line) == b"0",
        3 => noreply && words_seen[1].of(line) == b"0",
        _ => return refuse(ERROR, noreply),
    };
    if !good {
        return refuse(BAD_DELETE, noreply);
    }
    if words_seen[0].of(line).len() > MAX_KEY {
        return refuse(BAD_FORMAT, noreply);
    }
    Command::Delete { key: words_seen[0], noreply }
}

fn flush_all(line: &[u8], words: Words) -> Command {
    let mut words_seen = [Span::default(); 2];
    let (count, noreply) = collect(line, words, &mut words_seen);
    let delay = match (count, noreply) {
        (0, _) | (1, true) => return Command::FlushAll { noreply },
        (1, false) | (2, true) => integer(words_seen[0].of(line)),
        _ => return refuse(ERROR, noreply),
    };
    match delay {
        None => refuse(BAD_EXPTIME, noreply),
        Some(1..) => refuse(LATE_FLUSH, noreply),
        Some(..=0) => Command::FlushAll { noreply },
    }
}

fn stats(line: &[u8], mut words: Words) -> Command {
    match (words.next().map(|word| word.of(line)), words.next()) {
        (None, _) => Command::Stats,
        (Some(b"hindmost"), None) => Command::StatsHindmost,
        _ => Command::Refuse(ERROR),
    }
}

/// Store the first words in `places`. Return the number of all words, and whether the last one is `noreply`.
fn collect(line: &[u8], words: Words, places: &mut [Span]) -> (usize, bool) {
    let mut count = 0;
    let mut last = Span::default();
    for word in words {
        if let Some(place) = places.get_mut(count) {
            *place = word;
        }
        (count, last) = (count + 1, word);
    }
    (count, last.of(line) == b"noreply")
}

fn integer(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The words of a line, separated by spaces.
#[derive(Clone)]
pub(super) struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }
}

impl Iterator for Words<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let rest = &self.line[self.at..];
        let from = self.at + rest.iter().position(|&byte| byte != b' ')?;
        let word = &self.line[from..];
        let to = from + word.iter().position(|&byte| byte == b' ').unwrap_or(word.len());
        self.at = to;
        Some(Span::new(from..to))
    }
}
