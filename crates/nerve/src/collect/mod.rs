//! What is read, by whom, how often. Files stay open: a read is then a quarter of the cost of opening.

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

pub(crate) use app::{App, Calls, Members, Places, Whose};
pub(crate) use cgroup::Cgroup;
pub(crate) use host::{Costly, Load, Network, Pressure};
pub(crate) use interrupts::Interrupts;
pub(crate) use neighbours::Neighbours;
pub(crate) use sockets::Sockets;
pub(crate) use speed::Speed;

/// One reader of a few files.
pub(crate) trait Collector {
    /// Its name, for people.
    fn name(&self) -> &'static str;
    /// Samples from one reading to the next.
    fn period(&self) -> u32 {
        1
    }
    /// Reads into the sample. What is worth telling (who else runs, which threads moved) is returned as JSON.
    fn read(&mut self, values: &mut Values) -> Option<Value>;
}
