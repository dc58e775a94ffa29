//! Neighbours: processes outside the application, with their CPU time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::app::Members;
use super::process::Turn;
use super::source::{numeric_entries, stat_fields, stat_name, ProcessBirths, Source};
use super::Collector;
use crate::counters::{Id, Values};

struct Neighbour {
    stat: Source,
    ticks: Option<u64>,
    idle: u8,
}

/// All other processes of the host.
pub(crate) struct Neighbours {
    members: Rc<RefCell<Members>>,
    proc: PathBuf,
    births: ProcessBirths,
    open: HashMap<u32, Neighbour>,
    turn: u32,
    total: u64,
    reported: Vec<(u32, u64)>,
}

/// Readings within which an idle neighbour is read again, so that it is noticed within a minute; the host's figures
/// show the load at once.
const TURNS: u32 = 6;
/// Number of neighbours that are reported.
const REPORTED: usize = 4;
/// Least ticks between two readings to report a neighbour: 1 % of a CPU in ten seconds.
const LEAST_TICKS: u64 = 10;

impl Neighbours {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        let proc = root.join("proc");
        let births = ProcessBirths::new(&proc);
        Self { members, proc, births, open: HashMap::new(), turn: 0, total: 0, reported: Vec::new() }
    }

    /// Return the cgroup path of a process below the root; the longest if there are several hierarchies.
    fn cgroup(&self, pid: u32) -> String {
        let text =
            hindmost_sys::file::read_kernel(self.proc.join(format!("{pid}/cgroup"))).unwrap_or_default();
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        paths.max_by_key(|path| path.len()).unwrap_or_default().trim_start_matches('/').to_owned()
    }

    fn find_neighbours(&mut self, own: &[u32]) {
        for pid in numeric_entries(&self.proc) {
            if !self.open.contains_key(&pid) && !own.contains(&pid) {
                if let Ok(stat) = Source::open(self.proc.join(format!("{pid}/stat"))) {
                    self.open.insert(pid, Neighbour { stat, ticks: None, idle: 0 });
                }
            }
        }
    }
}

impl Collector for Neighbours {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn period(&self) -> u32 {
        10
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let mut own = self.members.borrow().pids();
        own.push(std::process::id());
        if self.births.has_new() {
            self.find_neighbours(&own);
        }
        self.turn = self.turn.wrapping_add(1);
        let turn = Turn::new(self.turn, self.open.len(), TURNS);
        let (mut rows, mut total) = (Vec::new(), 0);
        self.open.retain(|pid, neighbour| {
            if turn.skips(*pid, neighbour.idle) {
                return true;
            }
            let Some(text) = neighbour.stat.read() else { return false };
            let Some(fields) = stat_fields(text) else { return false };
            let at = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            let ticks = at(11) + at(12);
            let used = ticks.saturating_sub(neighbour.ticks.unwrap_or(ticks));
            total += used;
            if used >= LEAST_TICKS {
                rows.push((used, *pid, stat_name(text).to_owned()));
            }
            neighbour.idle = if used == 0 { neighbour.idle.saturating_add(1) } else { 0 };
            neighbour.ticks = Some(ticks);
            !own.contains(pid)
        });
        self.total += total;
        values.set(Id::NeighboursCpu, self.total);
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.truncate(REPORTED);
        // Do not report the same neighbours again while each is about as busy, within a factor of two.
        let mut now: Vec<(u32, u64)> =
            rows.iter().map(|(used, pid, _)| (*pid, u64::from(used.ilog2()))).collect();
        now.sort_unstable();
        let is_similar =
            |(one, other): (&(u32, u64), &(u32, u64))| one.0 == other.0 && one.1.abs_diff(other.1) <= 1;
        if rows.is_empty()
            || (now.len() == self.reported.len() && now.iter().zip(&self.reported).all(is_similar))
        {
            return None;
        }
        self.reported = now;
        let row = |(ticks, pid, name): &(u64, u32, String)| json!([name, pid, ticks, self.cgroup(*pid)]);
        Some(json!({"neighbours": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tree::Tree;
    use crate::collect::Scope;

    #[test]
    fn a_busy_neighbour_is_reported_and_again_only_when_far_busier() {
        let tree = Tree::new("neighbours");
        tree.write("proc/loadavg", "0.1 0.1 0.1 1/3 20\n");
        let stat = |pid: u32, name: &str, ticks: u64| {
            let text =
                format!("{pid} ({name}) S 1 {pid} {pid} 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 1 1\n");
            tree.write(&format!("proc/{pid}/stat"), &text);
        };
        stat(10, "web", 5_000);
        stat(20, "hog", 700);
        tree.write("proc/20/cgroup", "1:cpu:/batch/one\n0::/\n");
        let members = Members::find(tree.root(), Scope::Process(10));
        let mut neighbours = Neighbours::new(members, tree.root());
        let mut values = Values::new();
        assert_eq!(neighbours.read(&mut values), None);
        let mut ticks = 700;
        let mut read_after = |more: u64, values: &mut Values| {
            ticks += more;
            stat(20, "hog", ticks);
            stat(10, "web", 5_000 + 10 * ticks);
            neighbours.read(values)
        };
        // 0.09 s of CPU time in 10 s.
        assert_eq!(read_after(9, &mut values), None);
        assert_eq!(
            read_after(200, &mut values),
            Some(json!({"neighbours": [["hog", 20, 200, "batch/one"]]}))
        );
        assert_eq!(read_after(250, &mut values), None);
        assert_eq!(read_after(390, &mut values), None);
        assert_eq!(
            read_after(900, &mut values),
            Some(json!({"neighbours": [["hog", 20, 900, "batch/one"]]}))
        );
        // The total excludes the application's own time.
        assert_eq!(values.get(Id::NeighboursCpu), 9 + 200 + 250 + 390 + 900);
    }
}
