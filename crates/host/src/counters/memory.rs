use crate::tree::field;
use crate::Tree;

/// The most memory that this process ever held at once, in bytes (`VmHWM`, `proc_pid_status(5)`; what
/// getrusage(2) calls `ru_maxrss` would include the parent's before exec).
pub fn peak_memory(tree: &Tree) -> Option<u64> {
    let status = tree.text("proc/self/status")?;
    let kilobytes = field(&status, "VmHWM", ':')?.strip_suffix("kB")?.trim();
    kilobytes.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn the_peak_is_told_in_bytes_or_not_at_all() {
        let check = |text: &str, expected| {
            let fake = FakeTree::new(&[("proc/self/status", text)]);
            assert_eq!(peak_memory(&fake.tree()), expected, "{text:?}");
        };
        check("VmPeak:\t  9 kB\nVmHWM:\t   28 kB\nVmRSS:\t 7 kB\n", Some(28 * 1024));
        check("VmHWM:\t28 MB\n", None);
        check("", None);
    }
}
