//! What is read out of captures, good ones and bad ones.

mod any_bytes;
mod links;
mod made;
mod matching;
mod positions;
