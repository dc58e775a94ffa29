//! Templates for x86-64: legacy SSE, as in the paper, so that every processor of that family runs them.
//!
//! `rdi` data, `r15` rounds left. Vectors: `xmm0`-`xmm7` (A), `xmm8`-`xmm15` (B). Integers: `rcx rbx rbp r8 r9` (A),
//! `r10`-`r14` (B). A division uses `eax edx esi`, a load `rax`, a store `rsi`.

use std::arch::{global_asm, is_x86_feature_detected};

use super::Class;

/// A list of units, as the assembler writes it.
macro_rules! list {
    ($($unit:literal),* $(,)?) => { concat!($(".byte 3f - 2f\n2: ", $unit, "\n3:\n",)* ".byte 0\n") };
}

/// The same instruction on eight vector registers of each bank, after an init of each.
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
/// Four floats 1.0 in each: all ones, moved so that the exponent of one is left.
macro_rules! ones {
    ($($n:literal),*) => {
        concat!($(
            ".byte 3f - 2f\n2: pcmpeqd xmm", $n, ", xmm", $n, "\n pslld xmm", $n, ", 25\n psrld xmm", $n, ", 2\n3:\n",
        )* ".byte 0\n")
    };
}
/// The same instruction on five integer registers of each bank.
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
/// The same word for all of a bank, both in one half of a line: two stores a tick are taken only where they go to
/// the same half (to both in turns: one), and loads of several lines compete for banks.
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
/// The same list in both banks.
macro_rules! both {
    ($($unit:literal),*) => { concat!(list!(), list!($($unit),*), list!(), list!($($unit),*)) };
}

global_asm!(
    ".pushsection .rodata",
    ".globl hindmost_ruler_templates",
    ".hidden hindmost_ruler_templates",
    "hindmost_ruler_templates:",
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
    // A line each: no predictor follows a taken branch every two bytes.
    both!("jmp 4f\n .skip 62, 0x90\n4:"),
    accesses!("mov rax, ", ""),
    accesses!("mov ", ", rsi"),
    ".popsection",
);

/// What the processor lacks for a class.
pub fn missing(class: Class) -> Option<&'static str> {
    (class == Class::VecMul && !is_x86_feature_detected!("sse4.1")).then_some("SSE4.1")
}

/// A jump `forward` bytes from its own first.
pub fn jump(forward: usize) -> Vec<u8> {
    const LENGTH: usize = 5;
    let mut jump = vec![0xe9];
    jump.extend(((forward - LENGTH) as i32).to_le_bytes());
    jump
}

/// As `close`, however far back.
pub fn close_far(back: usize) -> Vec<u8> {
    close(back)
}

/// The jump from here, `back` bytes after the begin of the round, to there: while rounds are left.
pub fn close(back: usize) -> Vec<u8> {
    const LENGTH: usize = 6;
    let mut jump = vec![0x0f, 0x85];
    jump.extend((-((back + LENGTH) as i32)).to_le_bytes());
    jump
}

/// Lets the processor fetch code that was just written: on x86-64 it sees its own stores.
pub fn make_visible(_start: *const u8, _length: usize) {}
