//! Tests of reading valid and damaged captures.

mod any_bytes;
mod builder;
mod links;
mod matching;
mod positions;
