//! Who else runs here: processes that are not the application's, by the processor time that they use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::app::Members;
use super::source::{numbered, stat_fields, stat_name, Source};
use super::Collector;
use crate::counters::{Id, Values};

/// All other processes of the host.
pub(crate) struct Neighbours {
    members: Rc<RefCell<Members>>,
    proc: PathBuf,
    open: HashMap<u32, (Source, Option<u64>)>,
    total: u64,
}

/// Neighbours that are told by name.
const TOLD: usize = 4;
/// Ticks between two readings below which a neighbour is not worth its name: 1 % of a processor in ten seconds.
const WORTH: u64 = 10;

impl Neighbours {
    pub(crate) fn new(members: Rc<RefCell<Members>>, root: &Path) -> Self {
        Self { members, proc: root.join("proc"), open: HashMap::new(), total: 0 }
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
        for pid in numbered(&self.proc) {
            if !self.open.contains_key(&pid) && !own.contains(&pid) {
                if let Ok(source) = Source::open(self.proc.join(format!("{pid}/stat"))) {
                    self.open.insert(pid, (source, None));
                }
            }
        }
        let (mut rows, mut total) = (Vec::new(), 0);
        self.open.retain(|pid, (source, before)| {
            let Some(text) = source.read() else { return false };
            let Some(fields) = stat_fields(text) else { return false };
            let at = |nth: usize| fields.get(nth).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            let ticks = at(11) + at(12);
            if let Some(before) = *before {
                let used = ticks.saturating_sub(before);
                total += used;
                if used >= WORTH {
                    rows.push((used, *pid, stat_name(text).to_owned()));
                }
            }
            *before = Some(ticks);
            !own.contains(pid)
        });
        self.total += total;
        values.set(Id::NeighboursCpu, self.total);
        rows.sort_unstable_by(|a, b| b.cmp(a));
        rows.truncate(TOLD);
        let row = |(ticks, pid, name): &(u64, u32, String)| json!([name, pid, ticks]);
        (!rows.is_empty()).then(|| json!({"neighbours": rows.iter().map(row).collect::<Vec<_>>()}))
    }
}
