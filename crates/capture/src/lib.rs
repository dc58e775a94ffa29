//! Packet captures as evidence: what was asked and answered on the wire, and when, found by stream
//! position, whatever tool sent it.
//!
//! ```text
//! file (pcap) ── link ── packet (IP, TCP) ──┬── stream ── framing ── exchanges: requests with their replies
//!                                           └── stamps: when was byte N of this connection on the wire?
//! ```
//!
//! A capture is foreign bytes: nothing here panics on any, and memory is bounded by the file's length.

mod error;
mod exchanges;
mod file;
mod flow;
mod framing;
mod link;
mod packet;
mod stamps;
mod stream;
#[cfg(not(fuzzing))]
mod witness;

pub use error::CaptureError;
pub use exchanges::{exchanges, Counts, Exchange, Exchanges, FlowReport};
pub use file::{Reader, Record};
pub use flow::Side;
pub use framing::{Outcome, Protocol};
pub use stamps::Stamps;
#[cfg(not(fuzzing))]
pub use witness::{match_rows, MatchError, Matched};
