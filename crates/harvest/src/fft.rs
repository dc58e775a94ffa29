//! The discrete Fourier transform of any length with small prime factors (Cooley, Tukey 1965, mixed radix).
//!
//! A month of two-minute slots is 22,320 = 2^4 3^2 5 31 of them: padding to a power of two would smear the lines at
//! which a period shows.

use std::f64::consts::TAU;

/// Factors above it are left to [`smooth`], which shortens the series a little.
const LARGEST: usize = 31;

/// A complex number as (real, imaginary).
pub type Complex = (f64, f64);

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn plus(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

fn minus(a: Complex, b: Complex) -> Complex {
    (a.0 - b.0, a.1 - b.1)
}

/// The longest length up to `n` whose prime factors are all small.
pub fn smooth(n: usize) -> usize {
    (1..=n).rev().find(|&length| factors(length).iter().all(|&f| f <= LARGEST)).unwrap_or(0)
}

/// Radices of a length: fours first, which cost least.
fn factors(mut n: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut radix = 4;
    while n > 1 {
        if n % radix == 0 {
            found.push(radix);
            n /= radix;
        } else {
            radix = match radix {
                4 => 2,
                2 => 3,
                _ if radix * radix > n => n,
                _ => radix + 2,
            };
        }
    }
    found
}

/// A transform of one length: its radices and all roots of unity.
pub struct Fft {
    n: usize,
    radices: Vec<usize>,
    roots: Vec<Complex>,
}

impl Fft {
    /// Prepares transforms of length `n`.
    pub fn new(n: usize) -> Self {
        let roots = (0..n).map(|k| (TAU * k as f64 / n as f64).sin_cos()).map(|(s, c)| (c, -s)).collect();
        Self { n, radices: factors(n), roots }
    }

    /// Transforms `from` into `to`, both of this length.
    pub fn run(&self, from: &[Complex], to: &mut [Complex]) {
        debug_assert!(from.len() == self.n && to.len() == self.n);
        self.step(from, 1, to, &self.radices);
    }

    /// Decimation in time: `to` gets the transform of every `stride`-th element.
    fn step(&self, from: &[Complex], stride: usize, to: &mut [Complex], radices: &[usize]) {
        let Some((&radix, rest)) = radices.split_first() else {
            to[0] = from[0];
            return;
        };
        let m = to.len() / radix;
        for (r, part) in to.chunks_exact_mut(m).enumerate() {
            self.step(&from[r * stride..], stride * radix, part, rest);
        }
        match radix {
            2 => self.twos(to, m, stride),
            4 => self.fours(to, m, stride),
            _ => self.odds(to, m, stride, radix),
        }
    }

    fn twos(&self, to: &mut [Complex], m: usize, stride: usize) {
        for k in 0..m {
            let (a, b) = (to[k], times(to[m + k], self.roots[k * stride]));
            (to[k], to[m + k]) = (plus(a, b), minus(a, b));
        }
    }

    fn fours(&self, to: &mut [Complex], m: usize, stride: usize) {
        for k in 0..m {
            let term = |r: usize| times(to[r * m + k], self.roots[r * k * stride]);
            let (terms, first) = ([term(1), term(2), term(3)], to[k]);
            let even = (plus(first, terms[1]), minus(first, terms[1]));
            let odd = (plus(terms[0], terms[2]), minus(terms[0], terms[2]));
            let turned = (odd.1 .1, -odd.1 .0); // times -i
            to[k] = plus(even.0, odd.0);
            to[m + k] = plus(even.1, turned);
            to[2 * m + k] = minus(even.0, odd.0);
            to[3 * m + k] = minus(even.1, turned);
        }
    }

    /// Radix 3 and above: terms j and p - j share cosines and sines, a quarter of the products.
    fn odds(&self, to: &mut [Complex], m: usize, stride: usize, p: usize) {
        let half = p / 2;
        let root = self.n / p;
        let mut sums = [(0.0, 0.0); LARGEST / 2];
        let mut differences = [(0.0, 0.0); LARGEST / 2];
        for k in 0..m {
            let first = to[k];
            let mut all = first;
            for j in 1..=half {
                let a = times(to[j * m + k], self.roots[j * k * stride]);
                let b = times(to[(p - j) * m + k], self.roots[(p - j) * k * stride]);
                sums[j - 1] = plus(a, b);
                differences[j - 1] = minus(a, b);
                all = plus(all, sums[j - 1]);
            }
            to[k] = all;
            for q in 1..=half {
                let (mut even, mut odd) = (first, (0.0, 0.0));
                let mut turn = 0;
                for j in 0..half {
                    turn += q;
                    if turn >= p {
                        turn -= p;
                    }
                    let (cos, sin) = self.roots[turn * root];
                    even = (even.0 + sums[j].0 * cos, even.1 + sums[j].1 * cos);
                    odd = (odd.0 + differences[j].0 * sin, odd.1 + differences[j].1 * sin);
                }
                let turned = (-odd.1, odd.0); // times i
                to[q * m + k] = plus(even, turned);
                to[(p - q) * m + k] = minus(even, turned);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sum_that_defines_it_at_every_kind_of_length() {
        for n in [1, 2, 4, 8, 9, 15, 16, 31, 60, 62, 93, 7 * 11 * 13, 720] {
            let from: Vec<Complex> =
                (0..n).map(|i| ((i as f64 * 0.7).sin() + 0.1 * i as f64, (i as f64).cos())).collect();
            let mut to = vec![(0.0, 0.0); n];
            Fft::new(n).run(&from, &mut to);
            for (k, found) in to.iter().enumerate() {
                let exact = from.iter().enumerate().fold((0.0, 0.0), |sum, (i, &x)| {
                    let (s, c) = (-TAU * ((i * k) % n) as f64 / n as f64).sin_cos();
                    plus(sum, times(x, (c, s)))
                });
                let off = (found.0 - exact.0).hypot(found.1 - exact.1);
                assert!(off < 1e-9 * (n * n) as f64, "length {n}, line {k}: off by {off}");
            }
        }
    }

    #[test]
    fn a_month_is_smooth_and_other_lengths_lose_little() {
        assert_eq!(smooth(22_320), 22_320);
        assert_eq!(smooth(8_634), 8_632 - 7);
        assert_eq!(smooth(0), 0);
        assert!((20_000..20_200).all(|n| n - smooth(n) < 60));
    }
}
