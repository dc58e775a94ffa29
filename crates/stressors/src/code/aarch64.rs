//! Templates for aarch64: NEON and the base instruction set.
//!
//! `x0`: data, `x1`: remaining rounds. Vectors: `v0`-`v7` (A), `v16`-`v23` (B). Integers: `x2`-`x6` (A), `x9`-`x13`
//! (B).
//! A division uses `x7 x8`, a load `x14`, a store `x15`. No callee-saved register is used.

use std::arch::{asm, global_asm};

use super::Class;

/// Emits a list of units.
macro_rules! list {
    ($($unit:literal),* $(,)?) => { concat!($(".byte 3f - 2f\n2: ", $unit, "\n3:\n",)* ".byte 0\n") };
}
/// Emits the same instruction on eight vector registers of each bank, after an initialisation of each.
macro_rules! vectors {
    ($init:literal, $value:literal, $op:literal, $form:literal, $tail:literal) => {
        concat!(
            vectors!(init $init, $value, "0", "1", "2", "3", "4", "5", "6", "7"),
            vectors!(@ $op, $form, $tail, "0", "1", "2", "3", "4", "5", "6", "7"),
            vectors!(init $init, $value, "16", "17", "18", "19", "20", "21", "22", "23"),
            vectors!(@ $op, $form, $tail, "16", "17", "18", "19", "20", "21", "22", "23"),
        )
    };
    (init $init:literal, $value:literal, $($n:literal),*) => {
        concat!($(".byte 3f - 2f\n2: ", $init, " v", $n, ".4s, #", $value, "\n3:\n",)* ".byte 0\n")
    };
    (@ $op:literal, $form:literal, $tail:literal, $($n:literal),*) => {
        concat!($(
            ".byte 3f - 2f\n2: ", $op, " v", $n, $form, ", v", $n, $form, ", v", $n, $form, $tail, "\n3:\n",
        )* ".byte 0\n")
    };
}
/// Emits the same instruction on five integer registers of each bank.
macro_rules! integers {
    ($op:literal) => {
        concat!(
            list!(),
            integers!(@ $op, "x2", "x3", "x4", "x5", "x6"),
            list!(),
            integers!(@ $op, "x9", "x10", "x11", "x12", "x13"),
        )
    };
    (@ $op:literal, $($r:literal),*) => {
        concat!($(".byte 3f - 2f\n2: ", $op, " ", $r, ", ", $r, ", ", $r, "\n3:\n",)* ".byte 0\n")
    };
}
/// Emits accesses to one word per bank, both in one cache line.
macro_rules! accesses {
    ($op:literal) => {
        concat!(
            list!(),
            ".byte 3f - 2f\n2: ",
            $op,
            ", [x0]\n3:\n.byte 0\n",
            list!(),
            ".byte 3f - 2f\n2: ",
            $op,
            ", [x0, #32]\n3:\n.byte 0\n",
        )
    };
}
/// Emits the same list for both banks.
macro_rules! both {
    ($($unit:literal),*) => { concat!(list!(), list!($($unit),*), list!(), list!($($unit),*)) };
}

global_asm!(
    ".pushsection .rodata",
    ".globl hindmost_stressor_templates",
    ".hidden hindmost_stressor_templates",
    "hindmost_stressor_templates:",
    list!(
        "mov x2, #0",
        "mov x3, #0",
        "mov x4, #0",
        "mov x5, #0",
        "mov x6, #0",
        "mov x7, #7",
        "mov x8, #1",
        "mov x9, #0",
        "mov x10, #0",
        "mov x11, #0",
        "mov x12, #0",
        "mov x13, #0",
        "mov x15, #1",
    ),
    list!("subs x1, x1, #1"),
    list!("ret"),
    list!("add x2, x2, x2"),
    vectors!("fmov", "1.0", "fmul", ".4s", ""),
    vectors!("movi", "0", "fadd", ".4s", ""),
    vectors!("movi", "0", "ext", ".16b", ", #4"),
    vectors!("fmov", "1.0", "fdiv", ".4s", ""),
    vectors!("movi", "0", "and", ".16b", ""),
    vectors!("movi", "0", "add", ".4s", ""),
    vectors!("movi", "0", "mul", ".4s", ""),
    integers!("add"),
    integers!("mul"),
    concat!(list!(), list!("udiv w14, w7, w8"), list!(), list!("udiv w16, w7, w8")),
    both!("b.vs 4f\n4:"),
    both!("b 4f\n4:"),
    accesses!("ldr x14"),
    accesses!("str x15"),
    ".popsection",
);

/// Return what the CPU lacks for a class: nothing, because NEON belongs to the base set.
pub fn missing(_class: Class) -> Option<&'static str> {
    None
}

/// Encode a jump `forward` bytes from its first byte (`b`).
pub fn jump(forward: usize) -> Vec<u8> {
    (0x1400_0000_u32 | (forward / 4) as u32).to_le_bytes().to_vec()
}

/// Encode `close` beyond the range of a conditional branch, 1 MiB, by a jump (`b.eq`, `b`).
pub fn close_far(back: usize) -> Vec<u8> {
    let words = -((back / 4) as i32 + 1);
    [0x5400_0040_u32, 0x1400_0000 | ((words as u32) & 0x3ff_ffff)].map(u32::to_le_bytes).concat()
}

/// Encode the jump back to the begin of the round, `back` bytes before, while rounds are left (`b.ne`).
pub fn close(back: usize) -> Vec<u8> {
    let words = -((back / 4) as i32);
    (0x5400_0001_u32 | ((words as u32) & 0x7_ffff) << 5).to_le_bytes().to_vec()
}

/// Make newly written code visible to instruction fetch: data and instruction caches are not coherent.
pub fn make_visible(start: *const u8, length: usize) {
    // The smallest possible cache line has four words.
    for at in (0..length).step_by(16) {
        // SAFETY: cleans and invalidates lines of our own mapping; memory does not change.
        unsafe {
            let line = start.add(at);
            asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", in(reg) line, options(nostack, preserves_flags));
        }
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}
