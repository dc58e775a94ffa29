/// A piecewise linear quantile function with a guide table for look-ups.
#[derive(Clone, Debug)]
pub(crate) struct Knots {
    points: Box<[(f64, f64)]>,
    /// `guide[b]`: the last point at or below `b / guide.len()`.
    guide: Box<[u32]>,
}

impl Knots {
    /// Create the function from points `(p, value)`, both increasing, from p = 0 to p = 1.
    pub(crate) fn new(points: Vec<(f64, f64)>) -> Self {
        let cells = points.len();
        let mut last = 0;
        let guide = (0..=cells)
            .map(|cell| {
                let p = cell as f64 / cells as f64;
                while last + 2 < points.len() && points[last + 1].0 <= p {
                    last += 1;
                }
                last as u32
            })
            .collect();
        Self { points: points.into(), guide }
    }

    /// Return the value at `u` in `[0, 1]`.
    #[inline]
    pub(crate) fn value_at(&self, u: f64) -> f64 {
        let cell = ((u * (self.guide.len() - 1) as f64) as usize).min(self.guide.len() - 2);
        let (from, to) = (self.guide[cell] as usize, self.guide[cell + 1] as usize + 1);
        // Few cells have many points: those of a tail.
        let above =
            from + self.points[from..=to.min(self.points.len() - 1)].partition_point(|&(p, _)| p <= u);
        let above = above.clamp(1, self.points.len() - 1);
        let ((p0, v0), (p1, v1)) = (self.points[above - 1], self.points[above]);
        if p1 > p0 {
            v0 + (v1 - v0) * ((u - p0) / (p1 - p0)).clamp(0.0, 1.0)
        } else {
            v1
        }
    }

    /// Return mean and second moment: exact integrals of the linear pieces.
    pub(crate) fn moments(&self) -> (f64, f64) {
        self.points.windows(2).fold((0.0, 0.0), |(mean, second), pair| {
            let ((p0, a), (p1, b)) = (pair[0], pair[1]);
            let weight = p1 - p0;
            (mean + weight * (a + b) / 2.0, second + weight * (a * a + a * b + b * b) / 3.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_linear_between_its_points() {
        let knots =
            Knots::new(vec![(0.0, 1.0), (0.5, 2.0), (0.5, 4.0), (0.999, 5.0), (0.9999, 50.0), (1.0, 60.0)]);
        for (u, value) in
            [(0.0, 1.0), (0.25, 1.5), (0.499_999, 1.999_998), (0.999, 5.0), (0.999_45, 27.5), (1.0, 60.0)]
        {
            assert!((knots.value_at(u) - value).abs() < 1e-6, "{u}: {}", knots.value_at(u));
        }
        assert!(knots.value_at(0.500_001) >= 4.0);
        let n = 1_000_000;
        let mean =
            (0..n).map(|i| knots.value_at((f64::from(i) + 0.5) / f64::from(n))).sum::<f64>() / f64::from(n);
        assert!((knots.moments().0 / mean - 1.0).abs() < 1e-6);
    }
}
