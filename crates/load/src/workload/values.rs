//! The values of one request of a list: its entry, its data row and its random numbers.

use hindmost_plan::{kinds, Data, Order, WeightedKind};
use hindmost_random::Draws;

use super::Kind;

/// The values of a request. They depend only on the seed and the request's number.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    draws: Draws,
    /// Number of the request over all clients.
    pub item: u32,
    /// Its data row.
    pub row: usize,
}

/// Purposes of random words: the choice of the entry and of the row. Fields use 2 and up.
const ENTRY: u32 = 0;
const ROW: u32 = 1;

impl Values {
    /// Return 64 random bits for a purpose.
    #[inline]
    pub fn random_word(self, purpose: u32) -> u64 {
        self.draws.word(purpose)
    }

    /// Return a random number below `n`, which must be positive.
    #[inline]
    pub fn below(self, purpose: u32, n: usize) -> usize {
        ((u128::from(self.random_word(purpose)) * n as u128) >> 64) as usize
    }
}

/// A list of weighted requests.
#[derive(Clone, Debug)]
pub struct List {
    seed: u64,
    /// Cumulative weights; the last is 1.
    upto: Vec<f64>,
    kinds: Vec<Kind>,
    rows: usize,
    order: Order,
    in_turn: bool,
    /// Number of requests of a session; 1 without sessions.
    session: u32,
}

impl List {
    /// Create a list of the plan, with the data for its fields.
    pub fn new(seed: u64, list: &[WeightedKind], data: Option<&Data>) -> Self {
        let names = kinds(list);
        let place = |one: &WeightedKind| names.iter().position(|name| *name == one.kind).unwrap_or(0);
        let total: f64 = list.iter().map(|one| one.weight).sum();
        let mut sum = 0.0;
        let rows = data.and_then(|data| data.rows.as_ref()).map_or(0, |rows| rows.count());
        Self {
            seed,
            upto: list
                .iter()
                .map(|one| {
                    sum += one.weight / total;
                    sum
                })
                .collect(),
            kinds: list.iter().map(|one| Kind(place(one) as u8)).collect(),
            rows,
            order: data.map(|data| data.order).unwrap_or_default(),
            in_turn: false,
            session: 1,
        }
    }

    /// Switch between round-robin over the entries, ignoring their weights, and random choice.
    #[must_use]
    pub fn in_turn(mut self, on: bool) -> Self {
        self.in_turn = on;
        self
    }

    /// Make sessions of all entries in their order, which share a data row. Request `i` of session number `n` is
    /// request number `n * length + i`.
    #[must_use]
    pub fn in_sessions(mut self, on: bool) -> Self {
        (self.in_turn, self.session) = if on { (true, self.upto.len() as u32) } else { (self.in_turn, 1) };
        self
    }

    /// Return the number of requests of a session; 1 without sessions.
    pub fn session_length(&self) -> u32 {
        self.session
    }

    /// Return the values of request number `item`.
    #[inline]
    pub fn values(&self, item: u32) -> Values {
        let draws = Draws::new(self.seed, u64::from(item));
        let mut values = Values { draws, item, row: 0 };
        if self.rows > 1 {
            values.row = match self.order {
                Order::Random if self.session > 1 => {
                    let draws = Draws::new(self.seed, u64::from(item / self.session));
                    Values { draws, ..values }.below(ROW, self.rows)
                }
                Order::Random => values.below(ROW, self.rows),
                Order::Sequential => (item / self.session) as usize % self.rows,
            };
        }
        values
    }

    /// Return the index of the request's entry.
    #[inline]
    pub fn index(&self, values: Values) -> usize {
        if self.upto.len() == 1 {
            return 0;
        }
        if self.in_turn {
            return values.item as usize % self.upto.len();
        }
        let at = values.draws.unit(ENTRY);
        self.upto.partition_point(|&upto| upto <= at).min(self.upto.len() - 1)
    }

    /// Return the kind of request number `item`.
    #[inline]
    pub fn kind(&self, item: u32) -> Kind {
        self.kinds[self.index(self.values(item))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(weights: &[(&str, f64)]) -> Vec<WeightedKind> {
        weights.iter().map(|&(kind, weight)| WeightedKind { kind: kind.into(), weight }).collect()
    }

    #[test]
    fn requests_follow_their_weights_and_are_counted_by_name() {
        let list = List::new(1, &weighted(&[("a", 1.0), ("never", 0.0), ("b", 2.0), ("a", 1.0)]), None);
        let (mut which, mut kinds) = ([0_u32; 4], [0_u32; 3]);
        for item in 0..40_000 {
            which[list.index(list.values(item))] += 1;
            kinds[usize::from(list.kind(item).0)] += 1;
        }
        // Five standard deviations of a count of 10,000 of 40,000.
        for (count, expected) in which.into_iter().zip([10_000.0, 0.0, 20_000.0, 10_000.0]) {
            assert!((f64::from(count) - expected).abs() <= 450.0, "{which:?}");
        }
        assert_eq!((which[1], kinds), (0, [which[0] + which[3], 0, which[2]]));
    }

    #[test]
    fn a_session_makes_every_request_once_and_keeps_its_row() {
        let entries = weighted(&[("a", 1.0), ("b", 1.0), ("a", 1.0)]);
        for order in [Order::Random, Order::Sequential] {
            let mut list = List::new(1, &entries, None).in_sessions(true);
            (list.rows, list.order) = (5, order);
            let mut rows = [0; 5];
            for session in 0..100 {
                let first = session * list.session_length();
                let values = [0, 1, 2].map(|step| list.values(first + step));
                assert_eq!(values.map(|each| list.index(each)), [0, 1, 2]);
                assert_eq!(values.map(|each| list.kind(each.item).0), [0, 1, 0]);
                assert!(values.iter().all(|each| each.row == values[0].row));
                rows[values[0].row] += 1;
            }
            assert!(rows.iter().all(|&count| count > 5), "{rows:?}");
        }
    }
}
