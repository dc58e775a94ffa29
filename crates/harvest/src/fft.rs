//! Discrete Fourier transform of any length with small prime factors (Cooley and Tukey 1965, mixed radix).
//!
//! A month of two-minute slots has 22,320 = 2^4 3^2 5 31 slots. Padding to a power of two would smear the
//! lines at which a period shows.

use std::f64::consts::TAU;

/// Largest prime factor. [`smooth`] shortens a series until it has no larger one.
const LARGEST: usize = 31;

/// A complex number as (real, imaginary).
pub type Complex = (f64, f64);

fn multiply(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn add(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

fn subtract(a: Complex, b: Complex) -> Complex {
    (a.0 - b.0, a.1 - b.1)
}

/// Return the longest length up to `n` whose prime factors are all small.
pub fn smooth(n: usize) -> usize {
    (1..=n).rev().find(|&length| factors(length).iter().all(|&f| f <= LARGEST)).unwrap_or(0)
}

/// Return the radices of a length: factors of 4 first, which cost least.
fn factors(mut n: usize) -> Vec<usize> {
    let mut radices = Vec::new();
    let mut radix = 4;
    while n > 1 {
        if n % radix == 0 {
            radices.push(radix);
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
    radices
}

/// A transform of one length, with its radices and all roots of unity.
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

    /// Transform `from` into `to`; both have the length of this transform.
    pub fn run(&self, from: &[Complex], to: &mut [Complex]) {
        debug_assert!(from.len() == self.n && to.len() == self.n);
        self.step(from, 1, to, &self.radices);
    }

    /// Decimate in time: `to` receives the transform of every `stride`-th element.
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
            2 => self.radix_2(to, m, stride),
            4 => self.radix_4(to, m, stride),
            _ => self.odds(to, m, stride, radix),
        }
    }

    fn radix_2(&self, to: &mut [Complex], m: usize, stride: usize) {
        for k in 0..m {
            let (a, b) = (to[k], multiply(to[m + k], self.roots[k * stride]));
            (to[k], to[m + k]) = (add(a, b), subtract(a, b));
        }
    }

    fn radix_4(&self, to: &mut [Complex], m: usize, stride: usize) {
        for k in 0..m {
            let term = |r: usize| multiply(to[r * m + k], self.roots[r * k * stride]);
            let (terms, first) = ([term(1), term(2), term(3)], to[k]);
            let even = (add(first, terms[1]), subtract(first, terms[1]));
            let odd = (add(terms[0], terms[2]), subtract(terms[0], terms[2]));
            let rotated = (odd.1 .1, -odd.1 .0); // times -i
            to[k] = add(even.0, odd.0);
            to[m + k] = add(even.1, rotated);
            to[2 * m + k] = subtract(even.0, odd.0);
            to[3 * m + k] = subtract(even.1, rotated);
        }
    }

    /// Combine with radix 3 or above. Terms j and p - j share cosines and sines, which needs a quarter of the
    /// products.
    fn odds(&self, to: &mut [Complex], m: usize, stride: usize, p: usize) {
        let half = p / 2;
        let root = self.n / p;
        let mut sums = [(0.0, 0.0); LARGEST / 2];
        let mut differences = [(0.0, 0.0); LARGEST / 2];
        for k in 0..m {
            let first = to[k];
            let mut all = first;
            for j in 1..=half {
                let a = multiply(to[j * m + k], self.roots[j * k * stride]);
                let b = multiply(to[(p - j) * m + k], self.roots[(p - j) * k * stride]);
                sums[j - 1] = add(a, b);
                differences[j - 1] = subtract(a, b);
                all = add(all, sums[j - 1]);
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
                let rotated = (-odd.1, odd.0); // times i
                to[q * m + k] = add(even, rotated);
                to[(p - q) * m + k] = subtract(even, rotated);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_equals_its_definition_at_every_kind_of_length() {
        for n in [1, 2, 4, 8, 9, 15, 16, 31, 60, 62, 93, 7 * 11 * 13, 720] {
            let from: Vec<Complex> =
                (0..n).map(|i| ((i as f64 * 0.7).sin() + 0.1 * i as f64, (i as f64).cos())).collect();
            let mut to = vec![(0.0, 0.0); n];
            Fft::new(n).run(&from, &mut to);
            for (k, value) in to.iter().enumerate() {
                let exact = from.iter().enumerate().fold((0.0, 0.0), |sum, (i, &x)| {
                    let (s, c) = (-TAU * ((i * k) % n) as f64 / n as f64).sin_cos();
                    add(sum, multiply(x, (c, s)))
                });
                let distance = (value.0 - exact.0).hypot(value.1 - exact.1);
                assert!(distance < 1e-9 * (n * n) as f64, "length {n}, line {k}: off by {distance}");
            }
        }
    }

    #[test]
    fn smooth_keeps_a_month_and_shortens_other_lengths_little() {
        assert_eq!(smooth(22_320), 22_320);
        assert_eq!(smooth(8_634), 8_632 - 7);
        assert_eq!(smooth(0), 0);
        assert!((20_000..20_200).all(|n| n - smooth(n) < 60));
    }
}
