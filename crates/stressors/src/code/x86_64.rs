//! Templates for x86-64: legacy SSE, as in the paper, which every CPU of that family supports.
//!
//! `rdi`: data, `r15`: remaining rounds. Vectors: `xmm0`-`xmm7` (A), `xmm8`-`xmm15` (B). Integers: `rcx rbx rbp r8
//! r9` (A), `r10`-`r14` (B). A division uses `eax edx esi`, a load `rax`, a store `rsi`.

use std::arch::{global_asm, is_x86_feature_detected};

use super::Class;

/// Emits a list of units.
macro_rules! list {
    ($($unit:literal),* $(,)?) => { concat!($(".byte 3f - 2f\n2: ", $unit, "\n3:\n",)* ".byte 0\n") };
}

/// Emits the same instruction on eight vector registers of each bank, after an initialisation of each.
macro_rules! vectors {
    ($init:tt, $op:literal, $tail:literal) => {
        concat!(
            $init!("0", "1", "2", "3", "4", "5", "6", "7"),
            vectors!(@ $op, $tail, "0", "1", "2", "3", "4", "5", "6", "7"),
            $init!("8", "9", "10", "11", "12", "13", "14", "15"),
            vectors!(@ $op, $tail, "8", "9", "10", "11", "12", "13", "14", "15"),
        )
    };
    (@ $op:literal, $tail:literal, $($n:literal),*) => {
        concat!($(".byte 3f - 2f\n2: ", $op, " xmm", $n, ", xmm", $n, $tail, "\n3:\n",)* ".byte 0\n")
    };
}
macro_rules! zeros {
    ($($n:literal),*) => { concat!($(".byte 3f - 2f\n2: pxor xmm", $n, ", xmm", $n, "\n3:\n",)* ".byte 0\n") };
}
/// Emits four floats 1.0 in each register: all ones, shifted so that the exponent of one remains.
macro_rules! ones {
    ($($n:literal),*) => {
        concat!($(
            ".byte 3f - 2f\n2: pcmpeqd xmm", $n, ", xmm", $n, "\n pslld xmm", $n, ", 25\n psrld xmm", $n, ", 2\n3:\n",
        )* ".byte 0\n")
    };
}
/// Emits the same instruction on five integer registers of each bank.
macro_rules! integers {
    ($op:literal) => {
        concat!(
            list!(),
            integers!(@ $op, "rcx", "rbx", "rbp", "r8", "r9"),
            list!(),
            integers!(@ $op, "r10", "r11", "r12", "r13", "r14"),
        )
    };
    (@ $op:literal, $($r:literal),*) => {
        concat!($(".byte 3f - 2f\n2: ", $op, " ", $r, ", ", $r, "\n3:\n",)* ".byte 0\n")
    };
}
/// Emits accesses to one word per bank, both in one half of a cache line: two stores per tick are possible only to
/// the same half (alternating halves: one), and loads of several lines compete for cache banks.
macro_rules! accesses {
    ($before:literal, $after:literal) => {
        concat!(
            list!(),
            ".byte 3f - 2f\n2: ",
            $before,
            "[rdi]",
            $after,
            "\n3:\n.byte 0\n",
            list!(),
            ".byte 3f - 2f\n2: ",
            $before,
            "[rdi + 16]",
            $after,
            "\n3:\n.byte 0\n",
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
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov r15, rsi",
        "mov esi, 1",
        "xor eax, eax",
        "xor ecx, ecx",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
    ),
    list!("dec r15"),
    list!("pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx", "ret"),
    list!("add rcx, rcx"),
    vectors!(ones, "mulps", ""),
    vectors!(zeros, "addps", ""),
    vectors!(zeros, "shufps", ", 0x1b"),
    vectors!(ones, "divps", ""),
    vectors!(zeros, "andps", ""),
    vectors!(zeros, "paddd", ""),
    vectors!(zeros, "pmulld", ""),
    integers!("add"),
    integers!("imul"),
    concat!(
        list!(),
        list!("xor edx, edx\n mov eax, 7\n div esi"),
        list!(),
        list!("xor edx, edx\n mov eax, 9\n div esi"),
    ),
    both!("jo 4f\n4:"),
    // One cache line each: no predictor follows a taken branch every two bytes.
    both!("jmp 4f\n .skip 62, 0x90\n4:"),
    accesses!("mov rax, ", ""),
    accesses!("mov ", ", rsi"),
    ".popsection",
);

/// Return what the CPU lacks for a class.
pub fn missing(class: Class) -> Option<&'static str> {
    (class == Class::VecMul && !is_x86_feature_detected!("sse4.1")).then_some("SSE4.1")
}

/// Encode a jump `forward` bytes from its first byte.
pub fn jump(forward: usize) -> Vec<u8> {
    const LENGTH: usize = 5;
    let mut jump = vec![0xe9];
    jump.extend(((forward - LENGTH) as i32).to_le_bytes());
    jump
}

/// Encode `close` for any distance.
pub fn close_far(back: usize) -> Vec<u8> {
    close(back)
}

/// Encode the jump back to the begin of the round, `back` bytes before, while rounds are left.
pub fn close(back: usize) -> Vec<u8> {
    const LENGTH: usize = 6;
    let mut jump = vec![0x0f, 0x85];
    jump.extend((-((back + LENGTH) as i32)).to_le_bytes());
    jump
}

/// Nothing to do: on x86-64, instruction fetch sees newly written code.
pub fn make_visible(_start: *const u8, _length: usize) {}
