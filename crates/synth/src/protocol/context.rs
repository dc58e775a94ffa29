//! What requests are executed against, and what follows for the connection.

use crate::record::RequestCounters;
use crate::shared::Shared;

/// What a thread executes commands against.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) counters: &'a RequestCounters,
}

/// What becomes of the connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    KeepOpen,
    Close,
}
