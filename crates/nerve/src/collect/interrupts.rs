//! Interrupts by kind, and the largest share of device interrupts on one CPU.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::source::Source;
use super::Collector;
use crate::counters::{Id, Values};

/// `/proc/interrupts`, the most expensive file of the host: 50 µs or more.
pub(crate) struct Interrupts {
    source: Option<Source>,
    /// Device interrupts by CPU at the last reading.
    before: BTreeMap<u32, u64>,
}

impl Interrupts {
    pub(crate) fn new(root: &Path) -> Self {
        Self { source: Source::open(root.join("proc/interrupts")).ok(), before: BTreeMap::new() }
    }
}

impl Collector for Interrupts {
    fn name(&self) -> &'static str {
        "interrupts"
    }

    fn period(&self) -> u32 {
        10
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let counts = count(self.source.as_mut()?.read()?);
        let since = |(cpu, now): (&u32, &u64)| now.saturating_sub(*self.before.get(cpu).unwrap_or(now));
        let recent: Vec<u64> = counts.by_processor.iter().map(since).collect();
        let (all, most) = (recent.iter().sum::<u64>(), recent.iter().max().copied().unwrap_or(0));
        values.set(Id::IrqDevices, counts.by_processor.values().sum());
        values.set(Id::IrqReschedule, counts.reschedule);
        values.set(Id::IrqCalls, counts.calls);
        values.set_or_unknown(Id::IrqOnOne, (100 * most).checked_div(all));
        self.before = counts.by_processor;
        None
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct InterruptCounts {
    /// Device interrupts by CPU; only online CPUs have a column.
    by_processor: BTreeMap<u32, u64>,
    /// Interrupts by which a CPU wakes a thread on another.
    reschedule: u64,
    /// Interrupts by which a CPU makes another run a function, including TLB flushes.
    calls: u64,
}

fn count(text: &str) -> InterruptCounts {
    let head = text.lines().next().unwrap_or_default().split_ascii_whitespace();
    let cpus: Vec<u32> = head.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let by_processor = cpus.iter().map(|cpu| (*cpu, 0)).collect();
    let mut counts = InterruptCounts { by_processor, ..InterruptCounts::default() };
    for (name, rest) in text.lines().skip(1).filter_map(|line| line.split_once(':')) {
        let numbers =
            rest.split_ascii_whitespace().take(cpus.len()).map_while(|word| word.parse::<u64>().ok());
        match name.trim() {
            "RES" => counts.reschedule += numbers.sum::<u64>(),
            "CAL" | "TLB" => counts.calls += numbers.sum::<u64>(),
            name if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                for (cpu, count) in cpus.iter().zip(numbers) {
                    *counts.by_processor.entry(*cpu).or_default() += count;
                }
            }
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::UNKNOWN;

    #[test]
    fn devices_are_counted_by_processor_and_kinds_by_name() {
        let text =
            "           CPU0       CPU1       \n  0:  5  7  IO-APIC  timer\n 24:  1  90  PCI-MSI  eth0 7\n\
                    LOC:  900  901  Local timer interrupts\nRES:  3  4  Rescheduling interrupts\n\
                    CAL:  10  20  Function call interrupts\nTLB:  1  2  TLB shootdowns\nERR:  8\n";
        let expected =
            InterruptCounts { by_processor: BTreeMap::from([(0, 6), (1, 97)]), reschedule: 7, calls: 33 };
        assert_eq!(count(text), expected);
    }

    #[test]
    fn the_share_of_one_processor_covers_the_time_since_the_last_reading() {
        let tree = crate::collect::tree::Tree::new("interrupts");
        let text = |one: u32, other: u32| format!("  CPU0 CPU1\n 24:  {one}  {other}  PCI-MSI  eth0\n");
        tree.write("proc/interrupts", &text(1_000, 20));
        let (mut interrupts, mut values) = (Interrupts::new(tree.root()), Values::new());
        interrupts.read(&mut values);
        assert_eq!((values.get(Id::IrqDevices), values.get(Id::IrqOnOne)), (1_020, UNKNOWN));
        tree.write("proc/interrupts", &text(1_010, 50));
        interrupts.read(&mut values);
        assert_eq!((values.get(Id::IrqDevices), values.get(Id::IrqOnOne)), (1_060, 75));
    }

    #[test]
    fn a_processor_that_goes_offline_loses_only_its_own_column() {
        let tree = crate::collect::tree::Tree::new("offline");
        tree.write("proc/interrupts", "  CPU0 CPU1 CPU2\n 24:  10  9000  100  PCI-MSI  eth0\n");
        let (mut interrupts, mut values) = (Interrupts::new(tree.root()), Values::new());
        interrupts.read(&mut values);
        tree.write("proc/interrupts", "  CPU0 CPU2\n 24:  40  110  PCI-MSI  eth0\n");
        interrupts.read(&mut values);
        assert_eq!(values.get(Id::IrqOnOne), 75);
    }
}
