//! zstd: pieces of a corpus, from hundreds of bytes to a quarter of a MiB, are compressed at several levels or
//! expanded.

use std::fmt::Write as _;
use std::path::Path;

use rand::Rng as _;
use rand_pcg::Pcg64;
use zstd::bulk::{Compressor, Decompressor};

use super::words::Words;
use crate::program::{Fault, Outcome, Program, Worker};
use crate::random::{self, below, choose, log_uniform, Purpose};

const KINDS: &[&str] = &["text", "records", "noise", "expand"];
const SHARES: &[f64] = &[0.40, 0.30, 0.05, 0.25];
const LEVELS: [i32; 3] = [1, 3, 6];
/// Bytes of each corpus: more than fits into the caches of a core.
const CORPUS: usize = 4 << 20;
const LARGEST: usize = 256 << 10;
/// Number of pieces that are stored compressed, to be expanded.
const PACKED: usize = 200;

struct Compress {
    /// Texts, records, noise.
    corpora: [Vec<u8>; 3],
    packed: Vec<Vec<u8>>,
}

struct Session<'a> {
    program: &'a Compress,
    compressors: Vec<Compressor<'static>>,
    decompressor: Decompressor<'static>,
    result: Vec<u8>,
}

/// Create the corpora.
pub fn make(seed: u64, _: &Path) -> Result<Box<dyn Program>, Fault> {
    let mut random = random::generator_of_purpose(seed, Purpose::Build);
    let words = Words::new(&mut random, 20_000, 1.0);
    let corpora = [text(&mut random, &words), records(&mut random, &words), noise(&mut random)];
    let mut program = Compress { corpora, packed: Vec::new() };
    for _ in 0..PACKED {
        let corpus = choose(&mut random, &SHARES[..3]);
        let piece = program.piece(corpus, &mut random);
        program.packed.push(zstd::bulk::compress(piece, 3)?);
    }
    Ok(Box::new(program))
}

fn text(random: &mut Pcg64, words: &Words) -> Vec<u8> {
    let mut text = String::with_capacity(CORPUS + 4096);
    while text.len() < CORPUS {
        words.write(random, 200, &mut text);
        text.push('\n');
    }
    text.into_bytes()
}

fn records(random: &mut Pcg64, words: &Words) -> Vec<u8> {
    let mut text = String::with_capacity(CORPUS + 4096);
    let mut time = 1_700_000_000_000_u64;
    while text.len() < CORPUS {
        time += below(random, 5_000) as u64;
        let (user, action, took) = (words.draw(random), words.draw_rank(random) % 12, below(random, 90_000));
        let _ = writeln!(
            text,
            "{{\"time\":{time},\"user\":\"{user}\",\"action\":{action},\"took_us\":{took},\"ok\":true}}"
        );
    }
    text.into_bytes()
}

fn noise(random: &mut Pcg64) -> Vec<u8> {
    let mut bytes = vec![0; CORPUS];
    random.fill_bytes(&mut bytes);
    bytes
}

impl Compress {
    fn piece(&self, corpus: usize, random: &mut Pcg64) -> &[u8] {
        let length = log_uniform(random, 512.0, LARGEST as f64) as usize;
        let begin = below(random, self.corpora[corpus].len() - length);
        &self.corpora[corpus][begin..begin + length]
    }
}

impl Program for Compress {
    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault> {
        let compressors = LEVELS.iter().map(|level| Compressor::new(*level)).collect::<Result<_, _>>()?;
        let result = vec![0; zstd::zstd_safe::compress_bound(LARGEST)];
        Ok(Box::new(Session { program: self, compressors, decompressor: Decompressor::new()?, result }))
    }
}

impl Worker for Session<'_> {
    fn serve(&mut self, random: &mut Pcg64) -> Outcome {
        let kind = choose(random, SHARES);
        let length = if kind == 3 {
            let packed = &self.program.packed[below(random, PACKED)];
            self.decompressor.decompress_to_buffer(packed, &mut self.result[..])
        } else {
            let level = choose(random, &[0.5, 0.4, 0.1]);
            let piece = self.program.piece(kind, random);
            self.compressors[level].compress_to_buffer(piece, &mut self.result[..])
        };
        let length = length.expect("the buffer holds the longest result");
        let digest = length as u64 * 256 + u64::from(self.result[length / 2]);
        Outcome { kind, digest }
    }
}
