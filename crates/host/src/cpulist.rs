//! Parses the kernel's list format of CPUs, `0-3,8,10-11` (cpuset(7), "List format").

/// More CPUs than any kernel supports (`NR_CPUS` is at most 8192): a longer list is garbage.
const MOST_CPUS: u32 = 1 << 16;

/// Return the numbers of a list, ascending and without duplicates; `None` if the text is not such a list. Empty
/// text is the empty set.
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
        // The kernel lists each CPU once; a list with repeated ones could grow without bound.
        if cpus.len() > MOST_CPUS as usize {
            return None;
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_of_cpus_are_read_and_garbage_is_refused() {
        let check = |text, expected: Option<&[u32]>| {
            assert_eq!(super::parse(text).as_deref(), expected, "{text:?}");
        };
        check("0-1\n", Some(&[0, 1]));
        check("0", Some(&[0]));
        check("8,0-2,10-11", Some(&[0, 1, 2, 8, 10, 11]));
        check("0-2,1-3", Some(&[0, 1, 2, 3]));
        check("", Some(&[]));
        check("3-1", None);
        check("0-4294967295", None);
        check("0-65535", Some(&(0..65536).collect::<Vec<_>>()));
        check("0-65535,0-65535", None);
        check("zero", None);
        check("0-", None);
        check("-1", None);
    }
}
