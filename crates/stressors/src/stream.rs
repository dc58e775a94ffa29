//! Instruction streams: one class alone, or two interleaved, as a function generated at run time.
#![allow(unsafe_code)]

use crate::code::{
    close, close_far, dependent, epilogue, jump, missing, prologue, round, template, Bank, Class,
};
use crate::mapping::{Code, Mapping, Page, PAGE};
use crate::memory::LINE;
use crate::StressorError;

/// Units per round: enough that the loop (an addition and a jump) is 0.3 % of the work, and few enough for any
/// instruction cache.
pub const ROUND: usize = 600;

/// Taken branches per round, each in a separate cache line: from 600 on, a predictor forgets them (0.68 per tick
/// instead of 0.99).
const BRANCHES: usize = 300;

/// Return the units per round of these classes.
pub fn round_of(classes: &[Class]) -> usize {
    if classes.contains(&Class::BranchTaken) {
        BRANCHES
    } else {
        ROUND
    }
}

/// A function that executes instructions repeatedly and does nothing else.
pub struct Stream {
    code: Code,
    data: Box<Page>,
    units: usize,
}

impl Stream {
    /// Create a stream with `count` instructions of a class per round.
    pub fn of_class(class: Class, count: usize) -> Result<Self, StressorError> {
        Self::interleave(&[(class, count)])
    }

    /// Create a stream of two classes with their numbers of instructions per round, evenly interleaved; they
    /// use separate registers.
    pub fn pair(a: (Class, usize), b: (Class, usize)) -> Result<Self, StressorError> {
        Self::interleave(&[a, b])
    }

    /// Create a stream of dependent additions: one tick of the core each.
    pub fn chain() -> Result<Self, StressorError> {
        Self::assemble(&[], &vec![dependent(); ROUND])
    }

    /// Create a stream of jumps through `pages` pages. The line's offset differs from page to page, so that
    /// lines do not compete for the same sets of the first-level cache.
    pub fn pages(pages: usize) -> Result<Self, StressorError> {
        let place = |page: usize| page * PAGE + page % (PAGE / LINE) * LINE;
        let mut bytes = vec![0; (pages + 2) * PAGE];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        let first = prologue();
        put(0, &first);
        put(first.len(), &jump(place(1) - first.len()));
        for page in 1..pages {
            put(place(page), &jump(place(page + 1) - place(page)));
        }
        let (last, count) = (place(pages), round());
        let end = [count.clone(), close_far(last + count.len() - place(1)), epilogue()].concat();
        put(last, &end);
        Self::from_code(&bytes, pages)
    }

    fn interleave(parts: &[(Class, usize)]) -> Result<Self, StressorError> {
        let mut init = Vec::new();
        let mut placed: Vec<(f64, Vec<u8>)> = Vec::new();
        for (&(class, count), bank) in parts.iter().zip([Bank::A, Bank::B]) {
            if let Some(feature) = missing(class) {
                return Err(StressorError::Unsupported { stressor: class.name().to_owned(), feature });
            }
            let template = template(class, bank);
            init.extend(template.init);
            for at in 0..count {
                let unit = template.units[at % template.units.len()].clone();
                placed.push(((at as f64 + 0.5) / count as f64, unit));
            }
        }
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let units: Vec<_> = placed.into_iter().map(|(_, unit)| unit).collect();
        Self::assemble(&init, &units)
    }

    fn assemble(init: &[Vec<u8>], units: &[Vec<u8>]) -> Result<Self, StressorError> {
        let mut bytes = prologue();
        bytes.extend(init.concat());
        let begin = bytes.len();
        bytes.extend(units.concat());
        bytes.extend(round());
        bytes.extend(close(bytes.len() - begin));
        bytes.extend(epilogue());
        Self::from_code(&bytes, units.len())
    }

    fn from_code(bytes: &[u8], units: usize) -> Result<Self, StressorError> {
        let mut memory = Mapping::new(bytes.len(), "code")?;
        memory.bytes()[..bytes.len()].copy_from_slice(bytes);
        Ok(Self { code: memory.code()?, data: Page::new(), units })
    }

    /// Return the number of instructions per round.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Execute `rounds` rounds, at least one.
    pub fn run(&mut self, rounds: u64) {
        // SAFETY: `assemble` and `pages` wrote prologue, units, a jump to the first of them while rounds are
        // left, and epilogue: a function that saves all callee-saved registers. Units load from and store to
        // the first line of a page.
        unsafe { self.code.run(&mut self.data, rounds.max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_runs_alone_and_with_every_other_and_returns() {
        for a in Class::ALL {
            for b in Class::ALL {
                let mut stream = Stream::pair((a, 37), (b, 11)).unwrap();
                assert_eq!(stream.units(), 48);
                stream.run(3);
            }
        }
    }

    /// Adds 1 to the first word of the data.
    #[cfg(target_arch = "x86_64")]
    const COUNT: [u8; 3] = [0x48, 0xff, 0x07]; // inc qword [rdi]
    #[cfg(target_arch = "aarch64")]
    const COUNT: [u8; 16] = [
        0x0e, 0x00, 0x40, 0xf9, // ldr x14, [x0]
        0xce, 0x05, 0x00, 0x91, // add x14, x14, #1
        0x0e, 0x00, 0x00, 0xf9, // str x14, [x0]
        0xee, 0x03, 0x1f, 0xaa, // mov x14, xzr: shows whether a jump skipped the load
    ];

    #[test]
    fn every_unit_of_every_round_is_executed() {
        for pages in [1, 2, 65, 300] {
            let mut jumping = Stream::pages(pages).unwrap();
            assert_eq!(jumping.units(), pages);
            jumping.run(3);
        }
        for (rounds, expected) in [(0, 7), (1, 7), (2, 14), (1000, 7000)] {
            let mut counting = Stream::assemble(&[], &vec![COUNT.to_vec(); 7]).unwrap();
            counting.run(rounds);
            let seen = u64::from_le_bytes(counting.data.0[..8].try_into().unwrap());
            assert_eq!(seen, expected, "{rounds} rounds");
        }
    }
}
