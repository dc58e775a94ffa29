//! Network interfaces: interrupts, queues, polling, coalescing, offloads.

use super::{row, CatalogueRow, KERNEL};
use crate::find::interrupts;
use crate::format::Format;

const NETWORK: &str = "there is no network interface, or this kernel lacks it";
const COALESCE: &str = "no interface whose driver reports its interrupt coalescing (ethtool -c)";
const OFFLOAD: &str = "no interface with this offload (ethtool -k)";
const QUEUES: &str = "no network interface with queues";

pub(super) const ROWS: &[CatalogueRow] = &[
    CatalogueRow {
        name: "irqs",
        about: "CPUs that handle the interrupts of this interface",
        pattern: "sys/class/net/@/device/msi_irqs",
        format: Format::Cpus,
        find: interrupts,
        choices: None,
        absent: "no network interface with interrupts of its own",
    },
    row(
        "rps",
        "sys/class/net/@/queues/rx-*/rps_cpus",
        Format::Mask,
        "CPUs that process received packets",
        QUEUES,
    ),
    row(
        "rfs",
        "sys/class/net/@/queues/rx-*/rps_flow_cnt",
        Format::Plain,
        "flows that are steered to the CPU of their reader",
        QUEUES,
    ),
    row(
        "xps",
        "sys/class/net/@/queues/tx-*/xps_cpus",
        Format::Mask,
        "CPUs that send through this queue",
        QUEUES,
    ),
    row(
        "rps_flows",
        "proc/sys/net/core/rps_sock_flow_entries",
        Format::Plain,
        "size of the table that steers flows to their readers",
        KERNEL,
    ),
    row(
        "rx_usecs",
        "ethtool/@/rx-usecs",
        Format::Plain,
        "microseconds before a received packet raises an interrupt",
        COALESCE,
    ),
    row(
        "rx_frames",
        "ethtool/@/rx-frames",
        Format::Plain,
        "received packets before they raise an interrupt",
        COALESCE,
    ),
    row(
        "tx_usecs",
        "ethtool/@/tx-usecs",
        Format::Plain,
        "microseconds before a sent packet raises an interrupt",
        COALESCE,
    ),
    row(
        "tx_frames",
        "ethtool/@/tx-frames",
        Format::Plain,
        "sent packets before they raise an interrupt",
        COALESCE,
    ),
    row(
        "adaptive_rx",
        "ethtool/@/adaptive-rx",
        Format::Flag,
        "the driver adapts the interrupt delay of received packets",
        COALESCE,
    ),
    row(
        "adaptive_tx",
        "ethtool/@/adaptive-tx",
        Format::Flag,
        "the driver adapts the interrupt delay of sent packets",
        COALESCE,
    ),
    row("gro", "ethtool/@/gro", Format::Flag, "the kernel merges received packets of a connection", OFFLOAD),
    row("lro", "ethtool/@/lro", Format::Flag, "the card merges received packets of a connection", OFFLOAD),
    row("gso", "ethtool/@/gso", Format::Flag, "the kernel splits large writes into packets late", OFFLOAD),
    row("tso", "ethtool/@/tso", Format::Flag, "the card splits large writes into packets", OFFLOAD),
    row(
        "rx_checksum",
        "ethtool/@/rx-checksum",
        Format::Flag,
        "the card verifies checksums of received packets",
        OFFLOAD,
    ),
    row(
        "tx_checksum",
        "ethtool/@/tx-checksum",
        Format::Flag,
        "the card computes checksums of sent packets",
        OFFLOAD,
    ),
    row(
        "napi_defer",
        "sys/class/net/@/napi_defer_hard_irqs",
        Format::Plain,
        "number of polls before interrupts are enabled again",
        NETWORK,
    ),
    row(
        "gro_flush_ns",
        "sys/class/net/@/gro_flush_timeout",
        Format::Plain,
        "nanoseconds that received packets wait to be merged, and between polls",
        NETWORK,
    ),
    row(
        "napi_threads",
        "sys/class/net/@/threaded",
        Format::Flag,
        "packets are processed in kernel threads instead of softirqs",
        NETWORK,
    ),
    row(
        "queue_length",
        "sys/class/net/@/tx_queue_len",
        Format::Plain,
        "length of the send queue in packets",
        NETWORK,
    ),
    row(
        "busy_poll",
        "proc/sys/net/core/busy_poll",
        Format::Plain,
        "microseconds that poll and epoll busy-poll for packets",
        KERNEL,
    ),
    row(
        "busy_read",
        "proc/sys/net/core/busy_read",
        Format::Plain,
        "microseconds that a read busy-polls for packets",
        KERNEL,
    ),
    row(
        "netdev_budget",
        "proc/sys/net/core/netdev_budget",
        Format::Plain,
        "packets processed in one softirq",
        KERNEL,
    ),
    row(
        "netdev_budget_usecs",
        "proc/sys/net/core/netdev_budget_usecs",
        Format::Plain,
        "microseconds that one softirq processes packets",
        KERNEL,
    ),
    row(
        "netdev_backlog",
        "proc/sys/net/core/netdev_max_backlog",
        Format::Plain,
        "length of the queue of received packets of a CPU",
        KERNEL,
    ),
];
