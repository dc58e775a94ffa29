//! The comment with the values that bins cannot represent: `#[Hindmost: censored=2 min=7 max=9 sum=24]`.

use std::fmt;
use std::ops::RangeInclusive;

use crate::layout;
use crate::{Bin, Histogram};

const OPENING: &str = "[Hindmost: ";

/// Exact values of a histogram that its bins do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    censored: u64,
    /// Minimum, maximum and sum of the finite values, if there are any.
    finite: Option<(u64, u64, u128)>,
}

impl Exact {
    pub(super) fn new(histogram: &Histogram) -> Self {
        Self {
            censored: histogram.censored,
            finite: (histogram.finite > 0).then_some((histogram.min, histogram.max, histogram.sum)),
        }
    }

    /// Whether `line` starts like such a comment.
    pub(super) fn is_in(line: &str) -> bool {
        line.strip_prefix('#').is_some_and(|comment| comment.starts_with(OPENING))
    }

    /// Parse the comment in `line`; `None` if a value is missing or is not a number.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let facts = line.strip_prefix('#')?.strip_prefix(OPENING)?;
        let mut facts = facts.strip_suffix(']')?.split(' ');
        let censored = number(facts.next()?, "censored=")?.try_into().ok()?;
        let Some(min) = facts.next() else {
            return Some(Self { censored, finite: None });
        };
        let min = number(min, "min=")?.try_into().ok()?;
        let max = number(facts.next()?, "max=")?.try_into().ok()?;
        let sum = number(facts.next()?, "sum=")?;
        facts.next().is_none().then_some(Self { censored, finite: Some((min, max, sum)) })
    }

    /// Write the values into `histogram`, which has the bins. If they contradict the bins, return `false` and
    /// change nothing.
    pub(super) fn restore(self, histogram: &mut Histogram) -> bool {
        if let Some((min, max, sum)) = self.finite {
            let used = histogram.used();
            let claimed = layout::index_of(min)..layout::index_of(max) + 1;
            if min > max || used != claimed || !sums(histogram).contains(&sum) {
                return false;
            }
            (histogram.min, histogram.max, histogram.sum) = (min, max, sum);
        } else if histogram.finite > 0 {
            return false;
        }
        histogram.censored = self.censored;
        true
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPENING}censored={}", self.censored)?;
        if let Some((min, max, sum)) = self.finite {
            write!(f, " min={min} max={max} sum={sum}")?;
        }
        f.write_str("]")
    }
}

/// Return the sums that are possible for the bins of `histogram`. Most damage to the counts makes the recorded sum
/// impossible.
fn sums(histogram: &Histogram) -> RangeInclusive<u128> {
    let sum = |edge: fn(&Bin) -> u64| {
        histogram
            .bins()
            .fold(0_u128, |sum, bin| sum.saturating_add(u128::from(edge(&bin)) * u128::from(bin.count)))
    };
    sum(|bin| bin.low)..=sum(|bin| bin.high)
}

fn number(fact: &str, name: &str) -> Option<u128> {
    fact.strip_prefix(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram_of(values: &[u64], censored: u64) -> Histogram {
        let mut histogram: Histogram = values.iter().copied().collect();
        histogram.add_censored(censored);
        histogram
    }

    #[test]
    fn the_comment_comes_back_as_it_was_written() {
        for histogram in [
            histogram_of(&[], 0),
            histogram_of(&[], 3),
            histogram_of(&[0], 0),
            histogram_of(&[7, u64::MAX], u64::MAX),
        ] {
            let exact = Exact::new(&histogram);
            let line = format!("#{exact}");
            assert!(Exact::is_in(&line));
            assert_eq!(Exact::parse(&line), Some(exact), "{line}");
        }
    }

    #[test]
    fn damaged_comments_are_refused() {
        for line in [
            "#[Hindmost: censored=1",
            "#[Hindmost: censored=-1]",
            "#[Hindmost: censored=1 min=2]",
            "#[Hindmost: censored=1 min=2 max=3 sum=x]",
            "#[Hindmost: censored=1 min=2 max=3 sum=5 more=1]",
            "#[Hindmost: ]",
        ] {
            assert!(Exact::is_in(line));
            assert_eq!(Exact::parse(line), None, "{line}");
        }
    }

    #[test]
    fn facts_of_another_histogram_are_refused() {
        let mut histogram = histogram_of(&[10, 20], 0);
        for other in [
            histogram_of(&[10, 21], 0),
            histogram_of(&[9, 20], 0),
            histogram_of(&[10, 15, 20], 0),
            histogram_of(&[], 1),
        ] {
            assert!(!Exact::new(&other).restore(&mut histogram));
        }
        assert!(!Exact::new(&histogram).restore(&mut histogram_of(&[], 0)));
    }
}
