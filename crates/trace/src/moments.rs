//! Moments of stages: means and central products from the kernel's exact sums.

use serde::Serialize;

use crate::framing::Framing;
use crate::layout::{RawSums, KINDS, PRODUCTS, VARIABLES};

/// Names of the stages from e1 to e6.
pub const STAGES: [&str; 5] =
    ["network_to_tcp", "tcp_to_read", "read_to_start", "start_to_response", "response_to_network"];

/// Sums over CPUs: exact integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    n: u64,
    sum: [u64; VARIABLES],
    total: u64,
    total_square: u128,
    product: [u128; PRODUCTS],
}

impl Sums {
    /// Add the sums of one CPU.
    pub fn add(&mut self, raw: &RawSums) {
        self.n += raw[0];
        for (sum, more) in self.sum.iter_mut().zip(&raw[1..]) {
            *sum += more;
        }
        let [total, low, high] = [7, 8, 9].map(|at| raw[at]);
        self.total += total;
        self.total_square += join_words(low, high);
        for (at, product) in self.product.iter_mut().enumerate() {
            *product += join_words(raw[10 + at], raw[10 + PRODUCTS + at]);
        }
    }

    /// Return the growth since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut new = self.clone();
        new.n -= earlier.n;
        new.total -= earlier.total;
        new.total_square -= earlier.total_square;
        for (sum, before) in new.sum.iter_mut().zip(&earlier.sum) {
            *sum -= before;
        }
        for (product, before) in new.product.iter_mut().zip(&earlier.product) {
            *product -= before;
        }
        new
    }

    fn kind(&self, kind: &'static str) -> Option<Kind> {
        let n = self.n;
        (n > 0).then(|| Kind {
            kind,
            n,
            mean_ns: self.sum.map(|sum| sum as f64 / n as f64).to_vec(),
            products: pairs()
                .zip(&self.product)
                .map(|((i, j), p)| self.central(*p, self.sum[i], self.sum[j]))
                .collect(),
            latency_ns: self.total as f64 / n as f64,
            latency_square: self.central(self.total_square, self.total, self.total),
        })
    }

    /// Return the sum of (x - mean x)(y - mean y). The difference of big integers is computed before rounding.
    fn central(&self, product: u128, x: u64, y: u64) -> f64 {
        let n = u128::from(self.n);
        let both = u128::from(x) * u128::from(y);
        let (whole, rest) = (both / n, both % n);
        (product as i128 - whole as i128) as f64 - rest as f64 / n as f64
    }
}

fn join_words(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..VARIABLES).flat_map(|i| (i..VARIABLES).map(move |j| (i, j)))
}

/// Moments of one kind of requests within a block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// Name of the kind.
    pub kind: &'static str,
    /// Number of requests.
    pub n: u64,
    /// Means: five stages in ns, then the size of the batch.
    pub mean_ns: Vec<f64>,
    /// Sums of products of deviations from the means: the upper triangle of their matrix, row by row.
    pub products: Vec<f64>,
    /// Mean of e6 - e1, summed separately.
    pub latency_ns: f64,
    /// Sum of squared deviations of e6 - e1, summed separately.
    pub latency_square: f64,
}

/// Moments of a time block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Start, in nanoseconds since the trace started.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// Kinds of requests in the block.
    pub kinds: Vec<Kind>,
}

impl Block {
    pub(crate) fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    pub(crate) fn new(from_ns: u64, to_ns: u64, framing: Framing, sums: &[Sums; KINDS]) -> Self {
        let kinds = sums.iter().enumerate().filter_map(|(at, sums)| sums.kind(framing.kind(at))).collect();
        Self { from_ns, to_ns, kinds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::SUMS;

    /// Sum like the probes.
    fn raw(rows: &[[u64; VARIABLES]]) -> RawSums {
        let mut raw: RawSums = [0; SUMS];
        let mut add = |at: usize, high: usize, by: u64| {
            let (sum, over) = raw[at].overflowing_add(by);
            raw[at] = sum;
            raw[high] += u64::from(over);
        };
        for row in rows {
            add(0, 0, 1);
            let total: u64 = row[..5].iter().sum();
            add(7, 7, total);
            add(8, 9, total.wrapping_mul(total));
            for (at, x) in row.iter().enumerate() {
                add(1 + at, 1 + at, *x);
            }
            for (at, (i, j)) in pairs().enumerate() {
                add(10 + at, 10 + PRODUCTS + at, row[i].wrapping_mul(row[j]));
            }
        }
        raw
    }

    #[test]
    fn moments_beyond_64_bits_are_exact() {
        // Four seconds each: squares of 1.6e19, so the second one overflows a word. The values differ by nanoseconds.
        let long = 4_000_000_000;
        let rows = [[long, 1, 2, 3, 4, 1], [long + 2, 1, 2, 3, 4, 1], [long + 4, 1, 2, 3, 4, 4]];
        let mut sums = Sums::default();
        sums.add(&raw(&rows[..2]));
        sums.add(&raw(&rows[2..]));
        let kind = sums.kind("get").unwrap();
        assert_eq!(kind.n, 3);
        assert_eq!(kind.mean_ns, [4_000_000_002.0, 1.0, 2.0, 3.0, 4.0, 2.0]);
        let products = [8.0, 0.0, 0.0, 0.0, 0.0, 6.0]; // the first stage with all others, then with the batch
        assert_eq!(kind.products[..6], products);
        assert_eq!(kind.products[20..], [6.0]);
    }

    #[test]
    fn a_block_is_the_growth_since_the_last_one() {
        let rows = [[1, 2, 3, 4, 5, 1], [9, 9, 9, 9, 9, 2], [7, 0, 0, 0, 1, 3]];
        let all = |rows: &[[u64; 6]]| {
            let mut sums = Sums::default();
            sums.add(&raw(rows));
            sums
        };
        assert_eq!(all(&rows).since(&all(&rows[..1])), all(&rows[1..]));
        assert_eq!(Sums::default().kind("get"), None, "a kind without requests is left out");
    }
}
