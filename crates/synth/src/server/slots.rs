//! Connections by token. A token of a closed connection is never mistaken for that of its successor.

use std::sync::Arc;

use mio::Token;

use super::job::Client;

/// Connections of one queue.
#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    client: Option<Arc<Client>>,
}

impl Slots {
    /// Return the token of the next connection.
    pub(super) fn next_token(&self) -> Token {
        let index = self.free.last().copied().unwrap_or(self.slots.len());
        let generation = self.slots.get(index).map_or(0, |slot| slot.generation);
        Token((generation as usize) << 32 | index)
    }

    pub(super) fn insert(&mut self, client: Arc<Client>) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[index].client = Some(client);
    }

    pub(super) fn get(&self, token: Token) -> Option<&Arc<Client>> {
        let slot = self.slots.get(token.0 & 0xffff_ffff)?;
        (slot.generation as usize == token.0 >> 32).then_some(slot.client.as_ref())?
    }

    pub(super) fn remove(&mut self, token: Token) {
        if self.get(token).is_none() {
            return;
        }
        let index = token.0 & 0xffff_ffff;
        let slot = &mut self.slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.client = None;
        self.free.push(index);
    }
}
