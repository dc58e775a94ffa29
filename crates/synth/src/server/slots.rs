//! Connections by number, where a number that has been given back is not mistaken for its successor.

use mio::Token;

use super::connection::Connection;

/// Connections of one thread.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

impl Slots {
    /// The token that the next connection will have.
    pub(super) fn next_token(&self) -> Token {
        let index = self.free.last().copied().unwrap_or(self.slots.len());
        let generation = self.slots.get(index).map_or(0, |slot| slot.generation);
        Token((generation as usize) << 32 | index)
    }

    pub(super) fn insert(&mut self, connection: Connection) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[index].connection = Some(Box::new(connection));
    }

    pub(super) fn get(&mut self, token: Token) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(token.0 & 0xffff_ffff)?;
        (slot.generation as usize == token.0 >> 32).then_some(slot.connection.as_deref_mut())?
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<Box<Connection>> {
        self.get(token)?;
        let index = token.0 & 0xffff_ffff;
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        slot.connection.take()
    }
}
