//! Documents and the requests drawn from them.

mod documents;
mod requests;
