//! TCP and socket buffers.

use super::{row, CatalogueRow, KERNEL};
use crate::find::files;
use crate::format::Format;

pub(super) const ROWS: &[CatalogueRow] = &[
    row(
        "rmem_max",
        "proc/sys/net/core/rmem_max",
        Format::Plain,
        "largest receive buffer in bytes that a socket may request",
        KERNEL,
    ),
    row(
        "wmem_max",
        "proc/sys/net/core/wmem_max",
        Format::Plain,
        "largest send buffer in bytes that a socket may request",
        KERNEL,
    ),
    row(
        "somaxconn",
        "proc/sys/net/core/somaxconn",
        Format::Plain,
        "longest queue of connections not yet accepted",
        KERNEL,
    ),
    row(
        "tcp_idle_slow_start",
        "proc/sys/net/ipv4/tcp_slow_start_after_idle",
        Format::Flag,
        "an idle connection returns to slow start",
        KERNEL,
    ),
    row(
        "tcp_autocorking",
        "proc/sys/net/ipv4/tcp_autocorking",
        Format::Flag,
        "small writes wait to be sent together",
        KERNEL,
    ),
    CatalogueRow {
        name: "congestion",
        about: "congestion control of new connections",
        pattern: "proc/sys/net/ipv4/tcp_congestion_control",
        format: Format::Plain,
        find: files,
        choices: Some("tcp_available_congestion_control"),
        absent: KERNEL,
    },
    row(
        "tcp_moderate_rcvbuf",
        "proc/sys/net/ipv4/tcp_moderate_rcvbuf",
        Format::Flag,
        "receive buffers are sized automatically",
        KERNEL,
    ),
    row(
        "tcp_notsent_lowat",
        "proc/sys/net/ipv4/tcp_notsent_lowat",
        Format::Plain,
        "unsent bytes above which a socket is not writable",
        KERNEL,
    ),
    row(
        "tcp_limit_output",
        "proc/sys/net/ipv4/tcp_limit_output_bytes",
        Format::Plain,
        "bytes of one connection in the queues below TCP",
        KERNEL,
    ),
    row(
        "tcp_pingpong",
        "proc/sys/net/ipv4/tcp_pingpong_thresh",
        Format::Plain,
        "replies after which acknowledgements are delayed to be sent with data",
        KERNEL,
    ),
    row(
        "tcp_timestamps",
        "proc/sys/net/ipv4/tcp_timestamps",
        Format::Plain,
        "time stamps in every segment: 0 off, 1 on, 2 on without random offset",
        KERNEL,
    ),
    row("tcp_sack", "proc/sys/net/ipv4/tcp_sack", Format::Flag, "selective acknowledgements", KERNEL),
    row(
        "tcp_rmem",
        "proc/sys/net/ipv4/tcp_rmem",
        Format::Plain,
        "receive buffers in bytes: minimum, default, maximum",
        KERNEL,
    ),
    row(
        "tcp_wmem",
        "proc/sys/net/ipv4/tcp_wmem",
        Format::Plain,
        "send buffers in bytes: minimum, default, maximum",
        KERNEL,
    ),
];
