//! The seeds of the fuzz targets `requests_*`, replayed.
#![allow(clippy::pedantic, reason = "the targets are linted in their own workspace")]

use replay::replay;

#[path = "../../../../fuzz/src/pieces.rs"]
mod pieces;
#[path = "../../../../fuzz/src/seeds.rs"]
mod replay;
#[path = "../../../../fuzz/src/requests.rs"]
mod requests;

#[test]
fn requests_get_the_same_replies_however_the_stream_was_cut() {
    replay("requests_memcached", requests::memcached);
    replay("requests_http", requests::http);
}
