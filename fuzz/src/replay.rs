//! Runs a target without libFuzzer: its seeds, then blind mutations of them. It finds less, because it does not see
//! code coverage, but it needs no C++.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::pieces::Dice;

/// The supported subset of libFuzzer's options.
struct Options {
    seconds: u64,
    artifacts: String,
    folders: Vec<PathBuf>,
}

impl Options {
    fn read(words: impl Iterator<Item = String>) -> Self {
        let mut options = Self { seconds: 1, artifacts: String::new(), folders: Vec::new() };
        for word in words {
            if let Some(seconds) = word.strip_prefix("-max_total_time=") {
                options.seconds = seconds.parse().expect("-max_total_time takes seconds");
            } else if let Some(place) = word.strip_prefix("-artifact_prefix=") {
                options.artifacts = place.to_owned();
            } else if !word.starts_with('-') {
                options.folders.push(PathBuf::from(word));
            }
        }
        options
    }
}

/// Run the program: `NAME [-max_total_time=SECONDS] [-artifact_prefix=PREFIX] FILE-OR-FOLDER...`
pub fn run(target: fn(&[u8])) {
    let options = Options::read(std::env::args().skip(1));
    let seeds: Vec<Vec<u8>> = options.folders.iter().flat_map(|folder| files(folder)).collect();
    assert!(!seeds.is_empty(), "no seeds in {:?}", options.folders);
    // The input is written before each run, so that it survives a panic, a memory limit or a hang.
    let last = PathBuf::from(format!("{}crash-last", options.artifacts));
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let mut dice = Dice::new(b"the same in every run");
    let mut runs = 0;
    while runs < seeds.len() || Instant::now() < until {
        let input = seeds.get(runs).cloned().unwrap_or_else(|| mutate(&seeds, &mut dice));
        fs::write(&last, &input).unwrap_or_else(|e| panic!("cannot write {}: {e}", last.display()));
        target(&input);
        runs += 1;
    }
    fs::remove_file(&last).expect("what was written can be removed");
    println!("{} seeds, {runs} runs without libFuzzer: nothing found", seeds.len());
}

fn files(place: &Path) -> Vec<Vec<u8>> {
    if place.is_file() {
        return vec![fs::read(place).expect("a seed can be read")];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed can be read")).collect()
}

/// Return a seed with random changes: a flipped bit, removed bytes, duplicated bytes, bytes of another seed.
fn mutate(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..1 + dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let to = at + dice.below((bytes.len() - at).min(30) + 1);
        match dice.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = dice.next() as u8,
            2 => drop(bytes.drain(at..to)),
            3 => {
                let copy = bytes[at..to].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len() + 1);
                let length = dice.below((other.len() - from).min(60) + 1);
                bytes.splice(at..to, other[from..from + length].iter().copied());
            }
        }
    }
    bytes.truncate(8192);
    bytes
}
