//! Packet captures as independent evidence: which requests and replies were on the wire, and when. They are found
//! by stream position, whatever tool sent them.
//!
//! ```text
//! file (pcap) ── link ── packet (IP, TCP) ──┬── stream ── framing ── exchanges: requests with their replies
//!                                           └── stamps: when was byte N of this connection on the wire?
//! ```
//!
//! A capture is untrusted input: no bytes make this code panic, and memory is bounded by the file's length.

mod error;
mod exchanges;
mod file;
mod flow;
mod framing;
mod link;
#[cfg(not(fuzzing))]
mod matching;
mod packet;
mod stamps;
mod stream;

pub use error::CaptureError;
pub use exchanges::{exchanges, Counts, Exchange, Exchanges, FlowReport};
pub use file::{Reader, Record};
pub use flow::Side;
pub use framing::{Outcome, Protocol};
#[cfg(not(fuzzing))]
pub use matching::{match_rows, MatchCounts, MatchError};
pub use stamps::Stamps;
