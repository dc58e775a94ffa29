//! A connection without a socket, for tests and fuzz targets.

use hindmost_clock::Nanos;

use super::context::{Context, Disposition};
use super::pipeline::Pipeline;
use crate::shared::Shared;
use crate::{Protocol, ServerConfig};

/// Feed `chunks` to a server connection. Return its replies, and `<closed>` where it closes the connection.
///
/// # Panics
///
/// If the pipeline violates an invariant: tests and fuzz targets look for that.
pub fn converse<'a>(protocol: Protocol, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let config = ServerConfig { memory_mib: 4, ..ServerConfig::default() };
    let shared = Shared::new(&config, config.program().expect("the default is valid"), Nanos::ZERO);
    let context = Context { shared: &shared, counters: shared.counters(0) };
    let (mut pipeline, mut out, now) = (Pipeline::new(protocol), Vec::new(), Nanos::from_millis(1));
    for mut chunk in chunks {
        while !chunk.is_empty() {
            let space = pipeline.space().expect("all earlier requests were served");
            let length = space.len().min(chunk.len());
            space[..length].copy_from_slice(&chunk[..length]);
            pipeline.fill(length);
            chunk = &chunk[length..];
            while let Some(number) = pipeline.advance() {
                let (command, frame) = pipeline.request(number).expect("it was just parsed");
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
