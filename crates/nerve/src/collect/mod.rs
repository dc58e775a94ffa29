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

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use crate::counters::Values;

pub(crate) use app::{Members, Scope};

use app::{App, Calls, Places};
use cgroup::Cgroup;
use host::{Load, Network, Pressure, Protocols, Reclaim};
use interrupts::Interrupts;
use neighbours::Neighbours;
use sockets::Sockets;
use speed::Speed;

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

/// Return the collectors of the host, which all applications share.
pub(crate) fn host_collectors(root: &Path) -> Vec<Box<dyn Collector>> {
    vec![
        Box::new(Load::new(root)),
        Box::new(Pressure::new(root)),
        Box::new(Speed),
        Box::new(Reclaim::new(root)),
        Box::new(Interrupts::new(root)),
    ]
}

/// Return the collectors of one application.
pub(crate) fn application_collectors(
    root: &Path,
    members: &Rc<RefCell<Members>>,
    cgroup: Option<&Path>,
) -> Vec<Box<dyn Collector>> {
    let first = members.borrow().pids().first().copied();
    let mut all: Vec<Box<dyn Collector>> = vec![
        Box::new(App::new(Rc::clone(members))),
        Box::new(Calls::new(Rc::clone(members))),
        Box::new(Network::new(root, first)),
        Box::new(Protocols::new(root, first)),
        Box::new(Places::new(Rc::clone(members))),
        Box::new(Neighbours::new(Rc::clone(members), root)),
        Box::new(Sockets::new(Rc::clone(members), root)),
    ];
    let group = cgroup.map(Cgroup::open).or_else(|| first.map(|pid| Cgroup::of_process(root, pid)));
    if let Some(group) = group {
        all.push(Box::new(group));
    }
    all
}
