//! State that commands use, and what happens to the connection afterwards.

use crate::record::RequestCounters;
use crate::shared::Shared;

/// State that a thread executes commands with.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) counters: &'a RequestCounters,
}

/// What happens to the connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    KeepOpen,
    Close,
}
