//! The collectors. Files stay open: a read costs a quarter of opening.

mod app;
mod cgroup;
mod host;
mod interrupts;
mod neighbours;
mod process;
mod sockets;
mod source;
mod speed;
#[cfg(test)]
mod tree;

use serde_json::Value;

use crate::counters::Values;

pub(crate) use app::{App, Calls, Members, Places, Scope};
pub(crate) use cgroup::Cgroup;
pub(crate) use host::{Expensive, Load, Network, Pressure};
pub(crate) use interrupts::Interrupts;
pub(crate) use neighbours::Neighbours;
pub(crate) use sockets::Sockets;
pub(crate) use speed::Speed;

/// A reader of a few files.
pub(crate) trait Collector {
    /// Name of the collector, for people.
    fn name(&self) -> &'static str;
    /// Samples between two readings.
    fn period(&self) -> u32 {
        1
    }
    /// Read into the sample. Return a report as JSON if there is one, such as busy neighbours or moved threads.
    fn read(&mut self, values: &mut Values) -> Option<Value>;
}
