//! The same bytes in different packets. The cuts follow from the bytes, so that an input is a plain stream, and a
//! finding can be replayed.

/// Splitting byte by byte costs the square of a head's length: only for short streams.
const BYTE_BY_BYTE: usize = 256;

/// Return several ways to cut `bytes`: in two, at random, byte by byte.
pub fn ways(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut dice = Dice::new(bytes);
    let (first, second) = bytes.split_at(dice.below(bytes.len() + 1));
    let mut random = Vec::new();
    let mut rest = bytes;
    let most = [4, 40, 400][dice.below(3)];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + dice.below(most)).min(rest.len()));
        random.push(piece);
        rest = after;
    }
    let mut ways = vec![vec![first, second], random];
    if bytes.len() <= BYTE_BY_BYTE {
        ways.push(bytes.chunks(1).collect());
    }
    ways
}

/// A pseudo-random sequence that follows from a text (`SplitMix64` over FNV-1a).
pub struct Dice(u64);

impl Dice {
    pub fn new(bytes: &[u8]) -> Self {
        let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
