//! The table of protocols: the properties of each that do not require a codec.
//!
//! Rust owns the table; Python reads it through the bridge. There are two independent sets of codecs on purpose:
//! the load generator's (`load`), and the grammars of the packet capture (`capture`), which verifies it.

mod entry;
mod greeting;
mod table;

pub use entry::{Entry, Framing, Mix};
pub use greeting::{Answer, Ask, Meaning, Shows, Version};
pub use table::Protocol;
