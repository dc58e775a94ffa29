//! Classes of instructions, and their encodings as templates.
//!
//! An assembler writes the templates when this crate is compiled. Each is a list of units: a length byte before
//! each unit, a zero after the last. A unit is one instruction (a division is three, because it needs its operands
//! set), works at any place of a stream, and keeps its values: factors are 1 and summands 0, so that no value
//! overflows or is denormal, and no flag changes. Banks A and B have the same instructions on different registers,
//! with at least six chains each, enough for a latency of 3 at two instructions per tick.
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

/// A class of instructions that occupies an execution port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Multiplication of four floats.
    FpMul,
    /// Addition of four floats.
    FpAdd,
    /// Shuffle of four floats.
    FpShuffle,
    /// Division of four floats.
    FpDiv,
    /// Bitwise vector logic.
    FpLogic,
    /// Addition of four integers.
    VecAdd,
    /// Multiplication of four integers.
    VecMul,
    /// Integer addition.
    IntAdd,
    /// Integer multiplication.
    IntMul,
    /// Integer division, 32 bits, fixed operands.
    IntDiv,
    /// Branch that is never taken.
    Branch,
    /// Branch that is always taken.
    BranchTaken,
    /// Load that hits the first-level cache.
    Load,
    /// Store that hits the first-level cache.
    Store,
}

impl Class {
    /// All classes, in the order of the templates.
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

    /// Return the name, as in certificates.
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

/// A bank of registers.
#[derive(Clone, Copy, Debug)]
pub enum Bank {
    /// The first half.
    A,
    /// The second half.
    B,
}

/// Initialisation and units of a class.
pub struct Template {
    /// Instructions that initialise the registers.
    pub init: Vec<Vec<u8>>,
    /// The measured instructions, one chain after another.
    pub units: Vec<Vec<u8>>,
}

extern "C" {
    /// Lists in this order: prologue, end of a round, epilogue, dependent addition; then for each class: init
    /// A, units A, init B, units B.
    #[link_name = "hindmost_stressor_templates"]
    static TEMPLATES: u8;
}

fn list(index: usize) -> Vec<Vec<u8>> {
    let mut at = &raw const TEMPLATES;
    let mut lists_left = index;
    let mut units = Vec::new();
    loop {
        // SAFETY: `at` starts at the table and moves from length byte to length byte, as the assembler wrote
        // them; the walk ends in the requested list, and callers request existing lists only (a test walks
        // them all).
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

/// Return the prologue of a generated function.
pub fn prologue() -> Vec<u8> {
    list(0).concat()
}

/// Return the code that counts a round down; a jump follows.
pub fn round() -> Vec<u8> {
    list(1).concat()
}

/// Return the epilogue of a generated function.
pub fn epilogue() -> Vec<u8> {
    list(2).concat()
}

/// Return an addition that depends on the one before: one tick of the core each.
pub fn dependent() -> Vec<u8> {
    list(3).concat()
}

/// Return the template of a class.
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
            // Branches use no registers.
            let alike = matches!(class, Class::Branch | Class::BranchTaken);
            assert_eq!(a.units == b.units, alike, "{class:?}");
        }
        assert!(!prologue().is_empty() && !round().is_empty() && !epilogue().is_empty());
        assert!(!dependent().is_empty());
    }
}
