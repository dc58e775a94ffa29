use crate::tree::field;
use crate::Tree;

/// Return the peak resident memory of this process in bytes (`VmHWM`, `proc_pid_status(5)`). getrusage(2)'s
/// `ru_maxrss` would include the parent's memory before exec.
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
    fn the_peak_is_in_bytes_or_absent() {
        let check = |text: &str, expected| {
            let fake = FakeTree::new(&[("proc/self/status", text)]);
            assert_eq!(peak_memory(&fake.tree()), expected, "{text:?}");
        };
        check("VmPeak:\t  9 kB\nVmHWM:\t   28 kB\nVmRSS:\t 7 kB\n", Some(28 * 1024));
        check("VmHWM:\t28 MB\n", None);
        check("", None);
    }
}
