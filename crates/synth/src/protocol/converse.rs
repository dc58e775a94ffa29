//! A connection without its socket, for tests and fuzz targets.

use hindmost_clock::Nanos;

use super::context::{Context, Disposition};
use super::pipeline::Pipeline;
use crate::shared::Shared;
use crate::{Protocol, ServerConfig};

/// Feeds `chunks` through framing and answering, as one connection of a server would: what it answers, and
/// `<closed>` where it hangs up.
///
/// # Panics
///
/// If the pipeline breaks its own rules: that is what tests and fuzzing are to find.
pub fn converse<'a>(protocol: Protocol, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let config = ServerConfig { memory_mib: 4, ..ServerConfig::default() };
    let shared = Shared::new(&config, config.program().expect("the default makes sense"), Nanos::ZERO);
    let context = Context { shared: &shared, counters: shared.counters(0) };
    let (mut pipeline, mut out, now) = (Pipeline::new(protocol), Vec::new(), Nanos::from_millis(1));
    for mut chunk in chunks {
        while !chunk.is_empty() {
            let space = pipeline.space().expect("everything before was served");
            let taken = space.len().min(chunk.len());
            space[..taken].copy_from_slice(&chunk[..taken]);
            pipeline.fill(taken);
            chunk = &chunk[taken..];
            while let Some(number) = pipeline.advance() {
                let (command, frame) = pipeline.request(number).expect("it was found just now");
                if command.execute(frame, context, now, &mut out) == Disposition::Close {
                    out.extend_from_slice(b"<closed>");
                    return out;
                }
                pipeline.pop();
            }
        }
    }
    out
}
