//! Replay of the seeds of the fuzz targets `requests_*`.
#![allow(clippy::pedantic, reason = "the targets are linted in their own workspace")]

use replay::replay;

#[path = "../../../../fuzz/src/pieces.rs"]
mod pieces;
#[path = "../../../../fuzz/src/seeds.rs"]
mod replay;
#[path = "../../../../fuzz/src/requests.rs"]
mod requests;

#[test]
fn replies_do_not_depend_on_chunks() {
    replay("requests_memcached", requests::memcached);
    replay("requests_http", requests::http);
}
