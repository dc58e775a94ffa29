//! One connection as the ring sees it.

use std::net::TcpStream;

use crate::transport::Stamp;

/// No buffer.
pub const NO_CHUNK: u16 = u16::MAX;
/// A send entry carries at most so many bytes; a larger request takes several.
const OUT_BYTES: usize = 64 * 1024;

/// Unread bytes of a buffer, and when the last of them came in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    pub start: u32,
    pub length: u32,
    pub stamp: Stamp,
}

/// A buffer that holds unread bytes, and the one that came after it.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub piece: Piece,
    pub next: u16,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { piece: Piece::default(), next: NO_CHUNK }
    }
}

/// One slot. Its generation tells the completions of its connections apart.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "four facts that do not depend on each other")]
pub struct Line {
    pub socket: Option<TcpStream>,
    pub generation: u32,
    /// The oldest and the newest buffer with unread bytes.
    pub first: u16,
    last: u16,
    /// The stream has ended: 0 by the server's will, else with an error number.
    pub ended: Option<i32>,
    /// A send has failed.
    pub failed: Option<i32>,
    /// Bytes under way in a send entry; they lie in `out` from `at` on, which must not be touched.
    pub sending: u32,
    pub out: Vec<u8>,
    pub at: usize,
    pub connected: bool,
    pub watched: bool,
    pub announced: bool,
    /// Stream position after the last byte written.
    pub written: u32,
    /// What is received comes with control messages.
    pub messages: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            socket: None,
            generation: 0,
            first: NO_CHUNK,
            last: NO_CHUNK,
            ended: None,
            failed: None,
            sending: 0,
            out: Vec::new(),
            at: 0,
            connected: false,
            watched: false,
            announced: false,
            written: 0,
            messages: false,
        }
    }
}

impl Line {
    /// A slot that never allocates again.
    pub fn new() -> Self {
        Self { out: Vec::with_capacity(OUT_BYTES), ..Self::default() }
    }

    /// Bytes for the next send entry; returns how many were taken. Only while nothing is under way.
    pub fn take(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(OUT_BYTES);
        self.out.clear();
        self.out.extend_from_slice(&bytes[..n]);
        self.at = 0;
        self.written = self.written.wrapping_add(n as u32);
        n
    }

    /// Buffer `id` came with the bytes of `piece`.
    pub fn append(&mut self, chunks: &mut [Chunk], id: u16, piece: Piece) {
        chunks[usize::from(id)] = Chunk { piece, next: NO_CHUNK };
        if self.first == NO_CHUNK {
            self.first = id;
        } else {
            chunks[usize::from(self.last)].next = id;
        }
        self.last = id;
    }

    /// Takes the oldest buffer off the list.
    pub fn pop(&mut self, chunks: &[Chunk]) -> Option<u16> {
        let id = self.first;
        if id == NO_CHUNK {
            return None;
        }
        self.first = chunks[usize::from(id)].next;
        Some(id)
    }

    /// Forgets the connection. Its send entry, if any, keeps its bytes until it completes.
    pub fn close(&mut self) {
        let out = std::mem::take(&mut self.out);
        *self = Self {
            generation: (self.generation + 1) & 0xff_ffff,
            announced: self.announced,
            sending: self.sending,
            out,
            at: self.at,
            ..Self::default()
        };
    }
}
