//! USDT probes: `nop` instructions that a program's authors put into its code, described by notes in the ELF file.
//!
//! ```text
//! .note.stapsdt: length of owner, length of content, kind 3, "stapsdt\0", content:
//!     8 bytes address of the nop   8 bytes address of .stapsdt.base   8 bytes address of the semaphore, or 0
//!     provider\0  name\0  arguments\0                              padded to 4 bytes
//! ```
//!
//! The format is that of `SystemTap` (its wiki, "`UserSpaceProbeImplementation`"), which Debian's PostgreSQL, libvirt
//! and Python use; words of 64-bit programs have 8 bytes.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

/// A program of the kind that can be traced. `object::File` would compile the readers of all formats.
pub(crate) type Elf<'data> = ElfFile64<'data>;

/// One location of a probe; a probe that is compiled into several functions has several locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// `PROVIDER:NAME`.
    pub(crate) name: String,
    /// Address, as in the file.
    pub(crate) at: u64,
    /// Address of the counter of tracers; the program skips the probe while it is 0.
    pub(crate) semaphore: Option<u64>,
}

const NOTES: &str = ".note.stapsdt";
const KIND: u32 = 3;
const OWNER: &[u8] = b"stapsdt\0";

/// Return all probes of a program, in file order.
pub(crate) fn locations(elf: &Elf<'_>) -> Vec<Location> {
    let Some(notes) = elf.section_by_name(NOTES).and_then(|section| section.data().ok()) else {
        return Vec::new();
    };
    // If the file was prelinked, all addresses moved by as much as this section.
    let base = elf.section_by_name(".stapsdt.base").map(|section| section.address());
    read(notes, base)
}

fn read(mut notes: &[u8], base: Option<u64>) -> Vec<Location> {
    let mut found = Vec::new();
    while let Some((note, rest)) = next(notes) {
        found.extend(note.and_then(|content| parse_location(content, base)));
        notes = rest;
    }
    found
}

/// Return the content of the next note, if it describes a probe, and the notes after it.
fn next(notes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(notes.get(at..at + 4)?.try_into().ok()?));
    let (owner, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let from = 12 + owner.next_multiple_of(4);
    let content = notes.get(from..from.checked_add(length)?)?;
    let is_probe = kind == KIND && notes.get(12..12 + owner) == Some(OWNER);
    let rest = notes.get(from + length.next_multiple_of(4)..).unwrap_or_default();
    Some((is_probe.then_some(content), rest))
}

fn parse_location(content: &[u8], base: Option<u64>) -> Option<Location> {
    let word = |at: usize| Some(u64::from_le_bytes(content.get(at..at + 8)?.try_into().ok()?));
    let (at, linked_base, semaphore) = (word(0)?, word(8)?, word(16)?);
    let moved = base.map_or(0, |now| now.wrapping_sub(linked_base));
    let mut words = content.get(24..)?.split(|&byte| byte == 0);
    let mut text = || std::str::from_utf8(words.next()?).ok();
    let name = format!("{}:{}", text()?, text()?);
    let semaphore = (semaphore != 0).then(|| semaphore.wrapping_add(moved));
    Some(Location { name, at: at.wrapping_add(moved), semaphore })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(owner: &[u8], kind: u32, words: [u64; 3], text: &[u8]) -> Vec<u8> {
        let mut content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        content.extend(text);
        let mut all = Vec::new();
        for number in [owner.len() as u32, content.len() as u32, kind] {
            all.extend(number.to_le_bytes());
        }
        all.extend(owner);
        all.resize(all.len().next_multiple_of(4), 0);
        all.extend(content);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    #[test]
    fn locations_are_read_with_prelinking_and_other_notes_are_skipped() {
        let notes = [
            note(b"GNU\0", 3, [1, 2, 3], b"a\0b\0\0"),
            note(OWNER, 1, [1, 2, 3], b"a\0b\0\0"),
            note(OWNER, 3, [0x100, 0x1000, 0], b"postgresql\0query__start\08@%rbx\0"),
            note(OWNER, 3, [0x200, 0x1000, 0x300], b"p\0q\0\0"),
        ]
        .concat();
        let location = |name: &str, at, semaphore| Location { name: name.to_owned(), at, semaphore };
        let original =
            [location("postgresql:query__start", 0x100, None), location("p:q", 0x200, Some(0x300))];
        let moved = [location("postgresql:query__start", 0x150, None), location("p:q", 0x250, Some(0x350))];
        assert_eq!(read(&notes, None), original);
        assert_eq!(read(&notes, Some(0x1000)), original);
        assert_eq!(read(&notes, Some(0x1050)), moved);
    }

    #[test]
    fn a_truncated_or_invalid_note_ends_the_list() {
        let whole = note(OWNER, 3, [1, 2, 0], b"p\0q\0\0");
        for end in 0..whole.len() - 3 {
            assert!(read(&whole[..end], None).len() <= 1);
        }
        assert!(read(&[0xff; 40], None).is_empty());
        assert!(read(&note(OWNER, 3, [1, 2, 0], b"\xff\xff"), None).is_empty());
    }
}
