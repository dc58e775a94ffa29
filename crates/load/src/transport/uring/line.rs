//! The state of one connection in the ring.

use std::net::TcpStream;

use crate::transport::Stamp;

/// Marks the absence of a buffer.
pub const NO_CHUNK: u16 = u16::MAX;
/// Most bytes of a send entry; a larger request takes several.
const OUT_BYTES: usize = 64 * 1024;

/// The unread bytes of a buffer, and the receive stamp of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Piece {
    pub start: u32,
    pub length: u32,
    pub stamp: Stamp,
}

/// A buffer with unread bytes, and the buffer after it.
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

/// One slot. Its generation distinguishes the completions of consecutive connections.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "four independent facts")]
pub struct Line {
    pub socket: Option<TcpStream>,
    pub generation: u32,
    /// The oldest and the newest buffer with unread bytes.
    pub first: u16,
    last: u16,
    /// The end of the stream: 0 if the server closed it, otherwise an error number.
    pub ended: Option<i32>,
    /// The error number of a failed send.
    pub failed: Option<i32>,
    /// Number of bytes in a pending send entry. They lie in `out` from `at` on and must not change.
    pub sending: u32,
    pub out: Vec<u8>,
    pub at: usize,
    pub connected: bool,
    pub watched: bool,
    pub announced: bool,
    /// Stream offset of the last byte written.
    pub written: u32,
    /// Whether received bytes come with control messages.
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
    /// Create a slot that never allocates again.
    pub fn new() -> Self {
        Self { out: Vec::with_capacity(OUT_BYTES), ..Self::default() }
    }

    /// Store bytes for the next send entry. Return how many were taken. Only valid without a pending send.
    pub fn take(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(OUT_BYTES);
        self.out.clear();
        self.out.extend_from_slice(&bytes[..n]);
        self.at = 0;
        self.written = self.written.wrapping_add(n as u32);
        n
    }

    /// Append buffer `id` with the bytes of `piece`.
    pub fn append(&mut self, chunks: &mut [Chunk], id: u16, piece: Piece) {
        chunks[usize::from(id)] = Chunk { piece, next: NO_CHUNK };
        if self.first == NO_CHUNK {
            self.first = id;
        } else {
            chunks[usize::from(self.last)].next = id;
        }
        self.last = id;
    }

    /// Remove the oldest buffer.
    pub fn pop(&mut self, chunks: &[Chunk]) -> Option<u16> {
        let id = self.first;
        if id == NO_CHUNK {
            return None;
        }
        self.first = chunks[usize::from(id)].next;
        Some(id)
    }

    /// Reset the slot. A pending send entry keeps its bytes until it completes.
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
