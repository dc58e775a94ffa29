//! Documents, and the requests that they draw.

mod documents;
mod requests;
