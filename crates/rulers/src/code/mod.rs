//! Kinds of instructions, and their encodings as templates.
//!
//! An assembler writes the templates when this crate is compiled: each is a list of units, a byte of length before
//! each, a zero after the last. A unit is one instruction (a division is three, as it needs its operands set), stands
//! anywhere in a stream, and keeps its values: factors are 1, summands 0, so that nothing overflows or is denormal,
//! and no flag ever changes. Banks A and B have the same instructions with other registers, at least six chains each,
//! enough for latency 3 at two an instruction clock.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{close, close_far, jump, make_visible, missing};
use serde::Serialize;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{close, close_far, jump, make_visible, missing};

/// A kind of instruction that keeps some execution port busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Multiplications of four floats.
    FpMul,
    /// Additions of four floats.
    FpAdd,
    /// Shuffles of four floats.
    FpShuffle,
    /// Divisions of four floats.
    FpDiv,
    /// Bitwise logic on vectors.
    FpLogic,
    /// Additions of four integers.
    VecAdd,
    /// Multiplications of four integers.
    VecMul,
    /// Integer additions.
    IntAdd,
    /// Integer multiplications.
    IntMul,
    /// Integer divisions, 32 bits, fixed operands.
    IntDiv,
    /// Branches that are never taken.
    Branch,
    /// Branches that are always taken.
    BranchTaken,
    /// Loads that hit the first cache.
    Load,
    /// Stores that hit the first cache.
    Store,
}

impl Class {
    /// All of them, in the order of the templates.
    pub const ALL: [Self; 14] = [
        Self::FpMul,
        Self::FpAdd,
        Self::FpShuffle,
        Self::FpDiv,
        Self::FpLogic,
        Self::VecAdd,
        Self::VecMul,
        Self::IntAdd,
        Self::IntMul,
        Self::IntDiv,
        Self::Branch,
        Self::BranchTaken,
        Self::Load,
        Self::Store,
    ];

    /// Its name, as in certificates.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FpMul => "fp_mul",
            Self::FpAdd => "fp_add",
            Self::FpShuffle => "fp_shuffle",
            Self::FpDiv => "fp_div",
            Self::FpLogic => "fp_logic",
            Self::VecAdd => "vec_add",
            Self::VecMul => "vec_mul",
            Self::IntAdd => "int_add",
            Self::IntMul => "int_mul",
            Self::IntDiv => "int_div",
            Self::Branch => "branch",
            Self::BranchTaken => "branch_taken",
            Self::Load => "load",
            Self::Store => "store",
        }
    }
}

/// Which registers.
#[derive(Clone, Copy, Debug)]
pub enum Bank {
    /// The first half.
    A,
    /// The second.
    B,
}

/// What comes before a class's units, and those.
pub struct Template {
    /// Sets its registers.
    pub init: Vec<Vec<u8>>,
    /// Its instructions, one chain after the other.
    pub units: Vec<Vec<u8>>,
}

extern "C" {
    /// Lists in this order: prologue, end of a round, epilogue, the dependent addition, then for each class: init A,
    /// units A, init B, units B.
    #[link_name = "hindmost_ruler_templates"]
    static TEMPLATES: u8;
}

fn list(index: usize) -> Vec<Vec<u8>> {
    let mut at = &raw const TEMPLATES;
    let mut lists_left = index;
    let mut units = Vec::new();
    loop {
        // SAFETY: `at` begins at the table and goes from length byte to length byte, as the assembler wrote them;
        // the walk ends in the list asked for, and all callers ask for lists that are there (a test walks them all).
        let unit = unsafe {
            let length = usize::from(*at);
            let unit = std::slice::from_raw_parts(at.add(1), length);
            at = at.add(1 + length);
            unit
        };
        match (unit.is_empty(), lists_left) {
            (true, 0) => return units,
            (true, _) => lists_left -= 1,
            (false, 0) => units.push(unit.to_vec()),
            (false, _) => {}
        }
    }
}

/// What a function of ours begins with.
pub fn prologue() -> Vec<u8> {
    list(0).concat()
}

/// Counts a round down; a jump follows.
pub fn round() -> Vec<u8> {
    list(1).concat()
}

/// What it ends with.
pub fn epilogue() -> Vec<u8> {
    list(2).concat()
}

/// An addition that waits for the one before: one tick of the core each.
pub fn dependent() -> Vec<u8> {
    list(3).concat()
}

/// The templates of a class.
pub fn template(class: Class, bank: Bank) -> Template {
    let at = 4 + 4 * (class as usize) + if matches!(bank, Bank::A) { 0 } else { 2 };
    Template { init: list(at), units: list(at + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_two_banks_of_units_that_differ() {
        for class in Class::ALL {
            let (a, b) = (template(class, Bank::A), template(class, Bank::B));
            assert!(!a.units.is_empty() && a.units.len() == b.units.len(), "{class:?}");
            // A branch has no registers.
            let alike = matches!(class, Class::Branch | Class::BranchTaken);
            assert_eq!(a.units == b.units, alike, "{class:?}");
        }
        assert!(!prologue().is_empty() && !round().is_empty() && !epilogue().is_empty());
        assert!(!dependent().is_empty());
    }
}
