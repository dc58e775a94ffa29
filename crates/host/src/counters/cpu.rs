use serde::Serialize;

use super::share;
use crate::Tree;

/// Time of one CPU in ticks (usually 10 ms, so one second resolves 1 %). The columns are disjoint; `user` includes
/// guests, as in the kernel (proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTime {
    /// The number of the CPU.
    pub cpu: u32,
    /// Programs, including virtual machines.
    pub user: u64,
    /// Programs with a positive nice value.
    pub nice: u64,
    /// The kernel on behalf of programs.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a disk request is outstanding.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Deferred interrupt work, including network receive.
    pub softirq: u64,
    /// The hypervisor ran something else while this CPU was ready to run.
    pub steal: u64,
}

impl CpuTime {
    /// Parse `cpu3 1 2 3 ...`. Old kernels print fewer columns; the missing ones are zero.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let mut columns = [0; 8];
        let mut found = 0;
        for (column, word) in columns.iter_mut().zip(words) {
            *column = word.parse().ok()?;
            found += 1;
        }
        // Shares are relative to the sum: a sum beyond 64 bits is garbage.
        columns.iter().try_fold(0_u64, |sum, &column| sum.checked_add(column))?;
        let [user, nice, system, idle, iowait, irq, softirq, steal] = columns;
        (found >= 4).then_some(Self { cpu, user, nice, system, idle, iowait, irq, softirq, steal })
    }

    fn since(&self, earlier: &Self) -> Self {
        // `iowait` and `idle` may decrease slightly (proc(5)), and all columns do after a CPU was offline.
        Self {
            cpu: self.cpu,
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// Return all ticks.
    pub fn total(&self) -> u64 {
        self.busy() + self.idle + self.iowait + self.steal
    }

    /// Return the ticks in which this CPU ran something.
    pub fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    /// Return the fraction of time that the hypervisor took, 0 to 1.
    pub fn steal_share(&self) -> f64 {
        share(self.steal, self.total())
    }

    /// Return the fraction of time in which this CPU ran something, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        share(self.busy(), self.total())
    }
}

/// Times of every online CPU, since boot or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuTimes {
    /// One entry per online CPU, by ascending number.
    pub cpus: Vec<CpuTime>,
}

impl CpuTimes {
    /// Read `/proc/stat`; no CPUs if it cannot be read.
    pub fn read(tree: &Tree) -> Self {
        let stat = tree.text("proc/stat").unwrap_or_default();
        let mut cpus: Vec<CpuTime> = stat.lines().filter_map(CpuTime::parse).collect();
        cpus.sort_by_key(|time| time.cpu);
        // The kernel lists each CPU once; do not count a repeated one twice.
        cpus.dedup_by_key(|time| time.cpu);
        Self { cpus }
    }

    /// Return the difference to `earlier`, for the CPUs in both readings.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let cpus = self.cpus.iter().filter_map(|now| {
            let then = earlier.cpus.iter().find(|then| then.cpu == now.cpu)?;
            Some(now.since(then))
        });
        Self { cpus: cpus.collect() }
    }

    /// Return the times of these CPUs only.
    #[must_use]
    pub fn select(&self, cpus: &[u32]) -> Self {
        let chosen = self.cpus.iter().filter(|time| cpus.contains(&time.cpu));
        Self { cpus: chosen.copied().collect() }
    }

    /// Return the fraction of these CPUs' time that the hypervisor took; `None` without a tick.
    pub fn steal_share(&self) -> Option<f64> {
        let total = self.cpus.iter().map(CpuTime::total).fold(0, u64::saturating_add);
        let steal = self.cpus.iter().map(|time| time.steal).fold(0, u64::saturating_add);
        (total > 0).then(|| share(steal, total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    const BEFORE: &str = "cpu  30 0 30 300 0 0 0 10 0 0\n\
                          cpu0 10 0 10 100 0 0 0 0 0 0\n\
                          cpu1 20 0 20 200 0 0 0 10 0 0\n\
                          intr 12345 0 0\nctxt 99\n";
    const AFTER: &str = "cpu  30 0 30 300 0 0 0 10 0 0\n\
                         cpu0 60 0 20 130 0 0 5 5 50 0\n\
                         cpu1 20 0 20 299 0 0 0 11 0 0\n\
                         cpu2 7 0 7 7 0 0 0 7 0 0\n";

    #[test]
    fn steal_is_a_share_of_all_ticks_between_two_readings() {
        let fake = FakeTree::new(&[("proc/stat", BEFORE)]);
        let before = CpuTimes::read(&fake.tree());
        fake.write("proc/stat", AFTER.as_bytes());
        let span = CpuTimes::read(&fake.tree()).since(&before);

        assert_eq!(span.cpus.len(), 2, "a CPU that came online later has no earlier reading");
        assert!((span.cpus[0].steal_share() - 0.05).abs() < 1e-12);
        assert!((span.cpus[0].busy_share() - 0.65).abs() < 1e-12, "guest time is not counted twice");
        assert!((span.cpus[1].steal_share() - 0.01).abs() < 1e-12);
        assert!((span.steal_share().unwrap() - 0.03).abs() < 1e-12);
        assert!((span.select(&[1]).steal_share().unwrap() - 0.01).abs() < 1e-12);
        assert_eq!(span.select(&[9]).steal_share(), None);
    }

    #[test]
    fn lines_that_are_not_cpus_are_skipped() {
        let check = |text: &str, expected: usize| {
            let fake = FakeTree::new(&[("proc/stat", text)]);
            assert_eq!(CpuTimes::read(&fake.tree()).cpus.len(), expected, "{text:?}");
        };
        check("cpu0 1 2 3 4\n", 1);
        check("cpu0 1 2 3\n", 0);
        check("cpu0 1 2 x 4\n", 0);
        check(&format!("cpu0 1 2 3 {0}\ncpu1 {0} 0 0 0\ncpu2 {0} 0 0 0\n", u64::MAX), 2);
        check("cpuX 1 2 3 4\ncpu  1 2 3 4\n", 0);
        check("cpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu0 9 9 9 9\n", 2);
        check("", 0);
        assert_eq!(CpuTimes::read(&Tree::new("/nowhere/at/all")).steal_share(), None);
    }

    #[test]
    fn a_decreasing_counter_counts_as_zero() {
        let earlier = CpuTime { idle: 100, ..CpuTime::default() };
        let later = CpuTime { idle: 99, user: 3, ..CpuTime::default() };
        assert_eq!(later.since(&earlier).total(), 3);
    }
}
