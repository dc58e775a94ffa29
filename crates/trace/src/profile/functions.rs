//! Functions of ELF files and of the kernel, by address.

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::usdt::Elf;

/// Functions, ordered by address.
#[derive(Default)]
pub struct Functions {
    /// First address, the address after the last (0: unknown), and the name.
    symbols: Vec<(u64, u64, String)>,
    /// First addresses of all functions, also of those whose names were stripped.
    starts: Vec<u64>,
    /// Offset in the file, length and address of each segment.
    segments: Vec<(u64, u64, u64)>,
}

impl Functions {
    /// Read the symbols of a file, and of the file with its debug symbols if there is one.
    pub fn of_file(elf: &Elf<'_>, debug: Option<&Elf<'_>>) -> Self {
        let mut symbols: Vec<_> = [Some(elf), debug]
            .into_iter()
            .flatten()
            .flat_map(|one| one.symbols().chain(one.dynamic_symbols()))
            .filter(|one| one.kind() == SymbolKind::Text && one.is_definition())
            .filter_map(|one| {
                let name = one.name().ok().filter(|name| !name.is_empty())?;
                let end = if one.size() == 0 { 0 } else { one.address() + one.size() };
                Some((one.address(), end, name.to_owned()))
            })
            .collect();
        symbols.sort_by(|a, b| (a.0, b.1, &a.2).cmp(&(b.0, a.1, &b.2)));
        symbols.dedup_by_key(|one| one.0);
        let segments = elf.segments().map(|one| {
            let (offset, length) = one.file_range();
            (offset, length, one.address())
        });
        Self { symbols, starts: unwind_starts(elf).unwrap_or_default(), segments: segments.collect() }
    }

    /// Read the lines of `/proc/kallsyms`. The addresses are all 0 if this process may not see them.
    pub fn of_kernel(lines: &str) -> Self {
        let mut symbols: Vec<_> = lines.lines().filter_map(kernel_symbol).collect();
        symbols.sort();
        Self { symbols, ..Self::default() }
    }

    /// Return the name of the function at an offset in the file.
    pub fn name_at_offset(&self, offset: u64) -> Option<String> {
        let inside = |(begin, length, address): &(u64, u64, u64)| {
            offset.checked_sub(*begin).filter(|after| after < length).map(|after| address + after)
        };
        self.name(self.segments.iter().find_map(inside)?)
    }

    /// Return the name of the function at an address. A function without a name is called by its first
    /// address, after a plus sign.
    pub fn name(&self, at: u64) -> Option<String> {
        let symbol = last_until(&self.symbols, at, |one| one.0);
        let start = last_until(&self.starts, at, |one| *one).copied();
        match symbol {
            Some((from, end, name))
                if at < *end || (*end == 0 && start.is_none_or(|start| start <= *from)) =>
            {
                Some(name.clone())
            }
            _ => start.map(|start| format!("+{start:#x}")),
        }
    }
}

fn last_until<T>(all: &[T], at: u64, key: impl Fn(&T) -> u64) -> Option<&T> {
    all[..all.partition_point(|one| key(one) <= at)].last()
}

fn kernel_symbol(line: &str) -> Option<(u64, u64, String)> {
    let mut words = line.split_ascii_whitespace();
    let at = u64::from_str_radix(words.next()?, 16).ok().filter(|at| *at != 0)?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    is_code.then_some(())?;
    Some((at, 0, words.next()?.to_owned()))
}

/// Return the first addresses of all functions by the index for unwinding, which stripped files have, too.
///
/// `.eh_frame_hdr` (Linux Standard Base, core): version 1, three encodings, the offset of `.eh_frame`, the number of
/// entries, and entries of two 32-bit offsets from the section's address: function and description.
fn unwind_starts(elf: &Elf<'_>) -> Option<Vec<u64>> {
    const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let section = elf.section_by_name(".eh_frame_hdr")?;
    let data = section.data().ok()?;
    if data.get(..4)? != USUAL {
        return None;
    }
    let entries = data.get(12..)?.chunks_exact(8);
    let offsets = entries.filter_map(|entry| Some(i32::from_le_bytes(entry.get(..4)?.try_into().ok()?)));
    Some(offsets.map(|offset| section.address().wrapping_add_signed(i64::from(offset))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_the_kernel_is_found_by_any_of_its_addresses() {
        let functions = Functions::of_kernel(
            "ffff800000000100 T first\nffff800000000200 d data\nffff800000000300 t second\t[ext4]\nzz T bad\n",
        );
        let name = |at: u64| functions.name(0xffff_8000_0000_0000 + at);
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x100).as_deref(), Some("first"));
        assert_eq!(name(0x2ff).as_deref(), Some("first"));
        assert_eq!(name(0x300).as_deref(), Some("second"));
        assert_eq!(Functions::of_kernel("0000000000000000 T hidden\n").name(5), None);
    }

    #[test]
    fn an_address_after_a_symbol_belongs_to_the_next_unnamed_function() {
        let functions = Functions {
            symbols: vec![(0x100, 0x140, "named".to_owned()), (0x300, 0, "endless".to_owned())],
            starts: vec![0x100, 0x200, 0x300],
            segments: vec![],
        };
        let name = |at| functions.name(at);
        assert_eq!(name(0x13f).as_deref(), Some("named"));
        assert_eq!(name(0x210).as_deref(), Some("+0x200"));
        assert_eq!(name(0x340).as_deref(), Some("endless"));
        assert_eq!(name(0x10), None);
    }
}
