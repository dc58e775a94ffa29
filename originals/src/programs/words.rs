//! Words that resemble a natural language: short ones are frequent, and frequencies follow Zipf's law.

use rand::distr::Distribution as _;
use rand_distr::Zipf;
use rand_pcg::Pcg64;

use crate::random::below;

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";

/// A vocabulary, the most frequent word first.
pub struct Words {
    words: Vec<String>,
    rank: Zipf<f64>,
}

impl Words {
    /// Create `count` different words; the word of rank r has probability proportional to r to the power of
    /// -`exponent`.
    pub fn new(random: &mut Pcg64, count: usize, exponent: f64) -> Self {
        let mut known = std::collections::HashSet::new();
        let mut words = Vec::with_capacity(count);
        while words.len() < count {
            // There are 90 syllables: one syllable gives 90 words, two give 8,100, three 729,000.
            let least = if words.len() < 60 {
                1
            } else if words.len() < 4_000 {
                2
            } else {
                3
            };
            let mut word = String::new();
            for _ in 0..least + below(random, 2) {
                word.push(CONSONANTS[below(random, CONSONANTS.len())] as char);
                word.push(VOWELS[below(random, VOWELS.len())] as char);
            }
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        Self { words, rank: Zipf::new(count as f64, exponent).expect("a positive count and exponent") }
    }

    /// Iterate over all words by rank.
    #[cfg(feature = "search")]
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Draw a word, frequent ones more often.
    pub fn draw(&self, random: &mut Pcg64) -> &str {
        &self.words[self.draw_rank(random)]
    }

    /// Draw the rank of a word, from 0, with the distribution of [`Self::draw`].
    pub fn draw_rank(&self, random: &mut Pcg64) -> usize {
        self.rank.sample(random) as usize - 1
    }

    /// Append sentences of `count` words.
    pub fn write(&self, random: &mut Pcg64, count: usize, text: &mut String) {
        for index in 0..count {
            text.push_str(self.draw(random));
            text.push_str(if index % 11 == 10 { ". " } else { " " });
        }
    }
}
