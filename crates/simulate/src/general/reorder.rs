use std::collections::VecDeque;

use crate::{Row, Sink};

/// Delivers rows in the order of service start, in whatever order they end.
pub(crate) struct Reorder<'a, S> {
    sink: &'a mut S,
    first: u64,
    held: VecDeque<Option<Row>>,
}

impl<'a, S: Sink> Reorder<'a, S> {
    pub(crate) fn new(sink: &'a mut S) -> Self {
        Self { sink, first: 0, held: VecDeque::new() }
    }

    /// Add the row of request number `number` in the order of service start.
    pub(crate) fn put(&mut self, number: u64, row: Row) {
        if number == self.first && self.held.is_empty() {
            self.first += 1;
            self.sink.take(&row);
            return;
        }
        let place = (number - self.first) as usize;
        if place >= self.held.len() {
            self.held.resize(place + 1, None);
        }
        self.held[place] = Some(row);
        while let Some(Some(row)) = self.held.front() {
            self.sink.take(row);
            self.held.pop_front();
            self.first += 1;
        }
    }
}
