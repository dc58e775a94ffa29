use hindmost_plan::Size;

/// A distribution of sizes, drawn by inversion from one number in `[0, 1)`.
#[derive(Clone, Debug)]
pub enum SizeLaw {
    /// Always the same.
    Fixed(u32),
    /// Uniform over both ends.
    Uniform(u32, u32),
    /// `(cumulative weight, bytes)`, the last weight being 1.
    Choice(Vec<(f64, u32)>),
}

impl SizeLaw {
    /// The law of the plan.
    pub fn new(size: &Size) -> Self {
        match size {
            Size::Fixed(n) => Self::Fixed(*n),
            Size::Uniform(low, high) => Self::Uniform(*low, *high),
            Size::Choice(options) => {
                let total: f64 = options.iter().map(|&(_, w)| w).sum();
                let mut sum = 0.0;
                Self::Choice(
                    options
                        .iter()
                        .map(|&(n, w)| {
                            sum += w / total;
                            (sum, n)
                        })
                        .collect(),
                )
            }
        }
    }

    /// The size at probability `u` in `[0, 1)`.
    #[inline]
    pub fn at(&self, u: f64) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(low, high) => low + (u * f64::from(high - low + 1)) as u32,
            Self::Choice(options) => {
                let i = options.partition_point(|&(cumulative, _)| cumulative <= u);
                options[i.min(options.len() - 1)].1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversion_meets_both_ends_and_every_choice() {
        let uniform = SizeLaw::new(&Size::Uniform(3, 5));
        assert_eq!([0.0, 0.34, 0.999_999].map(|u| uniform.at(u)), [3, 4, 5]);
        let choice = SizeLaw::new(&Size::Choice(vec![(10, 1.0), (20, 3.0)]));
        assert_eq!([0.0, 0.249, 0.25, 0.999_999].map(|u| choice.at(u)), [10, 10, 20, 20]);
    }
}
