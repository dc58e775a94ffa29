//! A connection without its socket, for tests and fuzz targets.

use hindmost_clock::Nanos;

use super::{execute, Desk, Next};
use crate::server::{Inbox, Shared};
use crate::ServerConfig;

/// Feeds `chunks` through framing and answering, as one connection of a server would: what it answers, and
/// `<closed>` where it hangs up.
pub fn converse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let shared = Shared::new(&ServerConfig { memory_mib: 4, ..ServerConfig::default() });
    let desk = Desk { shared: &shared, ledger: shared.ledger(0) };
    let (mut inbox, mut out, now) = (Inbox::default(), Vec::new(), Nanos::from_millis(1));
    for mut chunk in chunks {
        while !chunk.is_empty() {
            let space = inbox.space().expect("everything before was served");
            let taken = space.len().min(chunk.len());
            space[..taken].copy_from_slice(&chunk[..taken]);
            inbox.fill(taken);
            chunk = &chunk[taken..];
            while inbox.advance(now) {
                let (pending, frame) = inbox.front().unwrap();
                if execute(&pending.command, frame, desk, now, &mut out) == Next::Close {
                    out.extend_from_slice(b"<closed>");
                    return out;
                }
                inbox.pop();
            }
        }
    }
    out
}
