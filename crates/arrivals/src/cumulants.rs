/// The first four cumulants of a gap, in mean gaps. Those of a sum of independent gaps are their sums, so that they
/// tell of the gaps of a part as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cumulants(pub [f64; 4]);

impl Cumulants {
    /// From the moments about zero, of any mean.
    pub fn of_moments([m1, m2, m3, m4]: [f64; 4]) -> Self {
        let [m2, m3, m4] = [m2 / m1.powi(2), m3 / m1.powi(3), m4 / m1.powi(4)];
        let third = m3 - 3.0 * m2 + 2.0;
        let fourth = m4 - 4.0 * m3 - 3.0 * m2 * m2 + 12.0 * m2 - 6.0;
        Self([1.0, m2 - 1.0, third, fourth])
    }

    /// Squared coefficient of variation.
    pub const fn scv(&self) -> f64 {
        self.0[1]
    }

    /// Those of the gaps of one of `n` parts that take turns, in their mean.
    #[must_use]
    pub fn of_turns(&self, n: f64) -> Self {
        let [_, second, third, fourth] = self.0;
        Self([1.0, second / n, third / (n * n), fourth / (n * n * n)])
    }
}
