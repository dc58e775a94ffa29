/// The first four cumulants of a gap, in mean gaps. Cumulants of independent gaps add up, so they also give those of a
/// part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cumulants(pub [f64; 4]);

impl Cumulants {
    /// Return the cumulants from the moments about zero, for any mean.
    pub fn from_moments([m1, m2, m3, m4]: [f64; 4]) -> Self {
        let [m2, m3, m4] = [m2 / m1.powi(2), m3 / m1.powi(3), m4 / m1.powi(4)];
        let third = m3 - 3.0 * m2 + 2.0;
        let fourth = m4 - 4.0 * m3 - 3.0 * m2 * m2 + 12.0 * m2 - 6.0;
        Self([1.0, m2 - 1.0, third, fourth])
    }

    /// Squared coefficient of variation.
    pub const fn scv(&self) -> f64 {
        self.0[1]
    }

    /// Return the cumulants of the gaps of one of `n` interleaved parts, in mean gaps of the part.
    #[must_use]
    pub fn of_interleaved(&self, n: f64) -> Self {
        let [_, second, third, fourth] = self.0;
        Self([1.0, second / n, third / (n * n), fourth / (n * n * n)])
    }
}
