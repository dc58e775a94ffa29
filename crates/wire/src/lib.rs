//! The table of protocols: what is known of each without speaking it.
//!
//! Rust owns it, Python reads it through the bridge. Codecs are elsewhere and two by intent: those of the load
//! generator (`load`), and the grammars of the packet capture (`capture`), which checks it.

mod entry;
mod greeting;
mod table;

pub use entry::{Entry, Framing, Mix};
pub use greeting::{Answer, Ask, Meaning, Shows, Version};
pub use table::Protocol;
