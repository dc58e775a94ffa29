use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;

/// Most sources that are reported, the most frequent first.
const MAX_SOURCES: usize = 12;

/// Number of interrupts per source and CPU (`/proc/interrupts`, `/proc/softirqs`), since boot or between two
/// readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    hard: Table,
    soft: Table,
}

/// A source of interrupts and its count on the selected CPUs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Hits {
    /// `NET_RX`, `Local timer interrupts`, or a device's action such as `virtio3-rx`.
    pub source: String,
    /// Number of interrupts.
    pub count: u64,
}

/// Interrupts on some CPUs between two readings, the most frequent source first.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InterruptSpan {
    /// Hardware interrupts, including timers and calls from other CPUs.
    pub hard: Vec<Hits>,
    /// Number of hardware interrupts, including sources that are not listed.
    pub hard_total: u64,
    /// Deferred work, including a worker's own sends on loopback (`NET_RX`).
    pub soft: Vec<Hits>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    cpus: Vec<u32>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// The first column. A number may belong to different devices at different times.
    key: String,
    source: String,
    counts: Vec<u64>,
}

impl Table {
    /// Parse a head of `CPU0 CPU1 ...`, then lines of `key: count count ... words`.
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default().split_ascii_whitespace();
        let cpus: Vec<u32> = head.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
        let rows = lines.filter_map(|line| {
            let (key, rest) = line.split_once(':')?;
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            let counts: Vec<u64> =
                words.iter().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
            // `ERR` and `MIS` have one number for all CPUs, so they belong to no CPU.
            let words_after =
                (counts.len() == cpus.len() && !counts.is_empty()).then(|| &words[counts.len()..])?;
            Some(Row { key: key.trim().to_owned(), source: source(key.trim(), words_after), counts })
        });
        Self { rows: rows.collect(), cpus }
    }

    fn since(&self, earlier: &Self, cpus: &[u32]) -> Vec<Hits> {
        let on = |table: &Self, row: &Row| -> u64 {
            let here = table.cpus.iter().zip(&row.counts).filter(|(cpu, _)| cpus.contains(cpu));
            here.map(|(_, &count)| count).fold(0, u64::saturating_add)
        };
        let hits = self.rows.iter().map(|row| {
            let then = earlier.rows.iter().find(|then| (&then.key, &then.source) == (&row.key, &row.source));
            let count = on(self, row).saturating_sub(then.map_or(0, |then| on(earlier, then)));
            Hits { source: row.source.clone(), count }
        });
        let mut hits: Vec<Hits> = hits.filter(|one| one.count > 0).collect();
        hits.sort_by_key(|one| std::cmp::Reverse(one.count));
        hits
    }
}

/// Return the source that a line describes. After a number: the chip, its pin and trigger, and last the device's
/// action. After letters: their meaning.
fn source(key: &str, words: &[&str]) -> String {
    match words {
        [] => key.to_owned(),
        [.., last] if key.parse::<u32>().is_ok() => (*last).to_owned(),
        _ => words.join(" "),
    }
}

impl Interrupts {
    /// Read both tables; a table that cannot be read is empty.
    pub fn read(tree: &Tree) -> Self {
        let table = |path| Table::parse(&tree.text(path).unwrap_or_default());
        // `text` trims white space from the head, which leaves the columns unchanged.
        Self { hard: table("proc/interrupts"), soft: table("proc/softirqs") }
    }

    /// Return the interrupts of `cpus` after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self, cpus: &[u32]) -> InterruptSpan {
        let mut hard = self.hard.since(&earlier.hard, cpus);
        let mut soft = self.soft.since(&earlier.soft, cpus);
        let hard_total = hard.iter().map(|one| one.count).fold(0, u64::saturating_add);
        hard.truncate(MAX_SOURCES);
        soft.truncate(MAX_SOURCES);
        InterruptSpan { hard, hard_total, soft }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    const HARD: &str = "           CPU0       CPU2       \n\
        \x20 24:          1          5  IO-APIC   5-edge      ACPI:Ged\n\
        \x20 41:       5448          0 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx\n\
        LOC:    3951960    5314242   Local timer interrupts\n\
        ERR:          0\n";
    const LATER: &str = "           CPU0       CPU2       \n\
        \x20 24:          1          5  IO-APIC   5-edge      ACPI:Ged\n\
        \x20 41:       5450         40 PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx\n\
        \x20 42:          0          7 PCI-MSIX-0000:00:05.0   1-edge      new\n\
        LOC:    3951999    5314342   Local timer interrupts\n\
        ERR:          9\n";

    fn hits(pairs: &[(&str, u64)]) -> Vec<Hits> {
        pairs.iter().map(|&(source, count)| Hits { source: source.to_owned(), count }).collect()
    }

    #[test]
    fn interrupts_are_named_and_counted_per_cpu() {
        let soft = (
            "proc/softirqs",
            "                    CPU0       CPU2\n      NET_RX:    8   9\n     SCHED:  3   4\n",
        );
        let fake = FakeTree::new(&[("proc/interrupts", HARD), soft]);
        let before = Interrupts::read(&fake.tree());
        fake.write("proc/interrupts", LATER.as_bytes());
        fake.write("proc/softirqs", b"CPU0 CPU2\nNET_RX: 8 29\nSCHED: 5 4\n");
        let after = Interrupts::read(&fake.tree());
        let span = after.since(&before, &[2]);
        assert_eq!(span.hard, hits(&[("Local timer interrupts", 100), ("virtio3-rx", 40), ("new", 7)]));
        assert_eq!((span.hard_total, span.soft), (147, hits(&[("NET_RX", 20)])));
        let both = after.since(&before, &[0, 2]);
        assert_eq!(both.hard[1], Hits { source: "virtio3-rx".to_owned(), count: 42 });
        assert_eq!(after.since(&before, &[1]), InterruptSpan::default());
    }

    #[test]
    fn missing_and_malformed_tables_have_no_interrupts() {
        for text in ["", "CPU0", "CPU0\nLOC: x\n", "no head\nLOC: 5 timer\n"] {
            let fake = FakeTree::new(&[("proc/interrupts", text)]);
            let read = Interrupts::read(&fake.tree());
            assert_eq!(read.since(&Interrupts::default(), &[0]), InterruptSpan::default(), "{text:?}");
        }
    }
}
