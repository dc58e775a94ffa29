//! What the frame asks of a program.

use std::path::Path;

use rand_pcg::Pcg64;

/// Why a program could not be made or is not to be had, in words for the person who started it.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A real program around a real library. Made once from a seed and shared by all workers.
pub trait Program: Send + Sync {
    /// Names of the kinds of requests in its mix.
    fn kinds(&self) -> &'static [&'static str];

    /// What one thread needs of its own: connections, contexts, buffers.
    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault>;
}

/// One thread's part of a program.
pub trait Worker {
    /// Serves the request that `random` draws from the program's mix.
    fn serve(&mut self, random: &mut Pcg64) -> Outcome;
}

/// What came out of a request: goes into the reply, so that nothing can be optimised away.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Index into [`Program::kinds`].
    pub kind: usize,
    /// A number that depends on the whole result, the same for the same seed and request where nothing is updated.
    pub digest: u64,
}

/// Makes a program; files it needs go below the folder, which is empty.
pub type Make = fn(seed: u64, folder: &Path) -> Result<Box<dyn Program>, Fault>;
