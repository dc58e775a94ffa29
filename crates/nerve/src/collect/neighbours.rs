//! Who else runs here: processes that are not the application's, by the processor time that they use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::app::Members;
use super::process::Turn;
use super::source::{numbered, stat_fields, stat_name, Births, Source};
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
    births: Births,
    open: HashMap<u32, Neighbour>,
    turn: u32,
    total: u64,
    told: Vec<(u32, u64)>,
}

/// An idle neighbour that wakes is seen within a minute; that somebody runs is in the host's figures at once.
const TURNS: u32 = 6;
/// Neighbours that are told by name.
const TOLD: usize = 4;
/// Ticks between two readings below which a neighbour is not worth its name: 1 % of a processor in ten seconds.
const WORTH: u64 = 10;

impl Neighbours {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        let proc = root.join("proc");
        let births = Births::of(&proc);
        Self { members, proc, births, open: HashMap::new(), turn: 0, total: 0, told: Vec::new() }
    }

    /// The cgroup of a process, below the root; of several hierarchies the longest path.
    fn cgroup(&self, pid: u32) -> String {
        let text =
            hindmost_sys::file::read_kernel(self.proc.join(format!("{pid}/cgroup"))).unwrap_or_default();
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        paths.max_by_key(|path| path.len()).unwrap_or_default().trim_start_matches('/').to_owned()
    }

    fn look(&mut self, own: &[u32]) {
        for pid in numbered(&self.proc) {
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
        if self.births.any() {
            self.look(&own);
        }
        self.turn = self.turn.wrapping_add(1);
        let turn = Turn::of(self.turn, self.open.len(), TURNS);
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
            if used >= WORTH {
                rows.push((used, *pid, stat_name(text).to_owned()));
            }
            neighbour.idle = if used == 0 { neighbour.idle.saturating_add(1) } else { 0 };
            neighbour.ticks = Some(ticks);
            !own.contains(pid)
        });
        self.total += total;
        values.set(Id::NeighboursCpu, self.total);
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.truncate(TOLD);
        // The same ones, each about as busy (within a factor of two), are not told again.
        let mut now: Vec<(u32, u64)> =
            rows.iter().map(|(used, pid, _)| (*pid, u64::from(used.ilog2()))).collect();
        now.sort_unstable();
        let alike =
            |(one, other): (&(u32, u64), &(u32, u64))| one.0 == other.0 && one.1.abs_diff(other.1) <= 1;
        if rows.is_empty() || (now.len() == self.told.len() && now.iter().zip(&self.told).all(alike)) {
            return None;
        }
        self.told = now;
        let row = |(ticks, pid, name): &(u64, u32, String)| json!([name, pid, ticks, self.cgroup(*pid)]);
        Some(json!({"neighbours": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tree::Tree;
    use crate::collect::Whose;

    #[test]
    fn a_neighbour_is_named_where_it_is_worth_it_and_again_only_where_it_is_far_busier() {
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
        let members = Members::find(tree.root(), Whose::Process(10));
        let mut neighbours = Neighbours::new(members, tree.root());
        let mut values = Values::new();
        assert_eq!(neighbours.read(&mut values), None);
        let mut ticks = 700;
        let mut uses = |more: u64, values: &mut Values| {
            ticks += more;
            stat(20, "hog", ticks);
            stat(10, "web", 5_000 + 10 * ticks);
            neighbours.read(values)
        };
        // 9 hundredths of a second in ten.
        assert_eq!(uses(9, &mut values), None);
        assert_eq!(uses(200, &mut values), Some(json!({"neighbours": [["hog", 20, 200, "batch/one"]]})));
        assert_eq!(uses(250, &mut values), None);
        assert_eq!(uses(390, &mut values), None);
        assert_eq!(uses(900, &mut values), Some(json!({"neighbours": [["hog", 20, 900, "batch/one"]]})));
        // None of the application's own.
        assert_eq!(values.get(Id::NeighboursCpu), 9 + 200 + 250 + 390 + 900);
    }
}
