//! Probes that a program's authors put into it (USDT): a `nop` in its code, told in a note of the ELF file.
//!
//! ```text
//! .note.stapsdt: length of name, length of what follows, kind 3, "stapsdt\0", then
//!     8 bytes where the nop is   8 bytes where .stapsdt.base was   8 bytes where its semaphore is, or 0
//!     provider\0  name\0  arguments\0                              padded to 4 bytes
//! ```
//!
//! The form is that of `SystemTap` (its wiki, "`UserSpaceProbeImplementation`"), which Debian's PostgreSQL, libvirt or
//! Python use; a 64-bit program's words are 8 bytes long.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

/// A program of the kind that can be traced. `object::File` would compile the readers of all formats here.
pub(crate) type Elf<'data> = ElfFile64<'data>;

/// One place of a probe; a probe that was compiled into several functions has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `PROVIDER:NAME`.
    pub(crate) name: String,
    /// Addresses, as the file has them.
    pub(crate) at: u64,
    /// Of the count of those who look, without which the program passes the place by.
    pub(crate) semaphore: Option<u64>,
}

const NOTES: &str = ".note.stapsdt";
const KIND: u32 = 3;
const OWNER: &[u8] = b"stapsdt\0";

/// All that a program has, in the order of the file.
pub(crate) fn places(elf: &Elf<'_>) -> Vec<Place> {
    let Some(notes) = elf.section_by_name(NOTES).and_then(|section| section.data().ok()) else {
        return Vec::new();
    };
    // Where the file was prelinked since, everything moved by as much as this section did.
    let base = elf.section_by_name(".stapsdt.base").map(|section| section.address());
    read(notes, base)
}

fn read(mut notes: &[u8], base: Option<u64>) -> Vec<Place> {
    let mut found = Vec::new();
    while let Some((note, rest)) = next(notes) {
        found.extend(note.and_then(|of| place(of, base)));
        notes = rest;
    }
    found
}

/// What the next note says, if it is one of a probe, and what follows.
fn next(notes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let word = |at: usize| Some(u32::from_le_bytes(notes.get(at..at + 4)?.try_into().ok()?));
    let (owner, length, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let from = 12 + owner.next_multiple_of(4);
    let said = notes.get(from..from.checked_add(length)?)?;
    let ours = kind == KIND && notes.get(12..12 + owner) == Some(OWNER);
    let behind = notes.get(from + length.next_multiple_of(4)..).unwrap_or_default();
    Some((ours.then_some(said), behind))
}

fn place(said: &[u8], base: Option<u64>) -> Option<Place> {
    let word = |at: usize| Some(u64::from_le_bytes(said.get(at..at + 8)?.try_into().ok()?));
    let (at, then, semaphore) = (word(0)?, word(8)?, word(16)?);
    let moved = base.map_or(0, |now| now.wrapping_sub(then));
    let mut words = said.get(24..)?.split(|&byte| byte == 0);
    let mut text = || std::str::from_utf8(words.next()?).ok();
    let name = format!("{}:{}", text()?, text()?);
    let semaphore = (semaphore != 0).then(|| semaphore.wrapping_add(moved));
    Some(Place { name, at: at.wrapping_add(moved), semaphore })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(owner: &[u8], kind: u32, words: [u64; 3], text: &[u8]) -> Vec<u8> {
        let mut said: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        said.extend(text);
        let mut all = Vec::new();
        for number in [owner.len() as u32, said.len() as u32, kind] {
            all.extend(number.to_le_bytes());
        }
        all.extend(owner);
        all.resize(all.len().next_multiple_of(4), 0);
        all.extend(said);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    #[test]
    fn each_place_is_read_moved_where_the_file_was_and_other_notes_are_passed() {
        let notes = [
            note(b"GNU\0", 3, [1, 2, 3], b"a\0b\0\0"),
            note(OWNER, 1, [1, 2, 3], b"a\0b\0\0"),
            note(OWNER, 3, [0x100, 0x1000, 0], b"postgresql\0query__start\08@%rbx\0"),
            note(OWNER, 3, [0x200, 0x1000, 0x300], b"p\0q\0\0"),
        ]
        .concat();
        let place = |name: &str, at, semaphore| Place { name: name.to_owned(), at, semaphore };
        let as_it_was = [place("postgresql:query__start", 0x100, None), place("p:q", 0x200, Some(0x300))];
        let moved = [place("postgresql:query__start", 0x150, None), place("p:q", 0x250, Some(0x350))];
        assert_eq!(read(&notes, None), as_it_was);
        assert_eq!(read(&notes, Some(0x1000)), as_it_was);
        assert_eq!(read(&notes, Some(0x1050)), moved);
    }

    #[test]
    fn a_note_that_is_cut_off_or_nonsense_ends_it() {
        let whole = note(OWNER, 3, [1, 2, 0], b"p\0q\0\0");
        for end in 0..whole.len() - 3 {
            assert!(read(&whole[..end], None).len() <= 1);
        }
        assert!(read(&[0xff; 40], None).is_empty());
        assert!(read(&note(OWNER, 3, [1, 2, 0], b"\xff\xff"), None).is_empty());
    }
}
