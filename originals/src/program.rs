//! The interface between the frame and a program.

use std::path::Path;

use rand_pcg::Pcg64;

/// An error that prevents a program from running, as text for the user.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A real program around a real library. Created once from a seed and shared by all workers.
pub trait Program: Send + Sync {
    /// Return the names of the kinds of requests in its mix.
    fn kinds(&self) -> &'static [&'static str];

    /// Create the private state of one thread: connections, contexts, buffers.
    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault>;
}

/// One thread's part of a program.
pub trait Worker {
    /// Serve the request that `random` draws from the program's mix.
    fn serve(&mut self, random: &mut Pcg64) -> Outcome;
}

/// The result of a request. It goes into the reply, so that the compiler cannot remove the work.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Index into [`Program::kinds`].
    pub kind: usize,
    /// A number that depends on the whole result. It is the same for the same seed and request, unless data is
    /// updated.
    pub digest: u64,
}

/// Creates a program; its files go below the folder, which is empty.
pub type Make = fn(seed: u64, folder: &Path) -> Result<Box<dyn Program>, Fault>;
