use super::HostFacts;
use crate::tree::field;
use crate::Tree;

impl HostFacts {
    pub(super) fn add_memory(&mut self, tree: &Tree) {
        let meminfo = tree.text("proc/meminfo").unwrap_or_default();
        let bytes = |key| {
            let kilobytes = field(&meminfo, key, ':')?.strip_suffix("kB")?.trim();
            kilobytes.parse::<u64>().ok()?.checked_mul(1024)
        };
        self.memory_bytes = bytes("MemTotal");
        self.memory_available_bytes = bytes("MemAvailable");
        let swap = bytes("SwapTotal").zip(bytes("SwapFree"));
        self.swap_used_bytes = swap.map(|(total, free)| total.saturating_sub(free));
        self.transparent_hugepages =
            tree.text("sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| bracketed_word(&text));
        // 1 balances for speed, 2 between memory tiers; both move pages (sysctl/kernel.rst).
        self.numa_balancing = tree.value::<u8>("proc/sys/kernel/numa_balancing").map(|mode| mode != 0);
    }
}

/// Return the word in square brackets: `always [madvise] never`.
fn bracketed_word(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn memory_is_in_bytes() {
        let fake = FakeTree::new(&[
            (
                "proc/meminfo",
                "MemTotal:       16 kB\nMemFree:  1 kB\nMemAvailable:   8 kB\nSwapTotal: 4 kB\nSwapFree: 3 kB\n",
            ),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/sys/kernel/numa_balancing", "2\n"),
        ]);
        let facts = HostFacts::read(&fake.tree());
        assert_eq!(facts.memory_bytes, Some(16_384));
        assert_eq!(facts.memory_available_bytes, Some(8_192));
        assert_eq!(facts.swap_used_bytes, Some(1_024));
        assert_eq!(facts.transparent_hugepages.as_deref(), Some("madvise"));
        assert_eq!(facts.numa_balancing, Some(true));
    }

    #[test]
    fn without_swap_lines_swap_is_unknown() {
        let fake = FakeTree::new(&[("proc/meminfo", "MemTotal: 16 MB\nMemAvailable: x kB\n")]);
        let facts = HostFacts::read(&fake.tree());
        assert_eq!((facts.memory_bytes, facts.memory_available_bytes), (None, None));
        assert_eq!(facts.swap_used_bytes, None);
    }
}
