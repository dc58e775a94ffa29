//! Network interfaces: interrupts, queues, polling, coalescing, offloads.

use super::{row, Known, KERNEL};
use crate::find::interrupts;
use crate::format::Format;

const NETWORK: &str = "no network interface, or a kernel without it";
const COALESCE: &str = "no interface whose driver tells its interrupt coalescing (ethtool -c)";
const OFFLOAD: &str = "no interface with such an offload (ethtool -k)";
const QUEUES: &str = "no network interface with queues";

pub(super) const ROWS: &[Known] = &[
    Known {
        name: "irqs",
        about: "which processors take the interrupts of this interface",
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
        "which processors handle received packets",
        QUEUES,
    ),
    row(
        "rfs",
        "sys/class/net/@/queues/rx-*/rps_flow_cnt",
        Format::Plain,
        "flows that are led to the processor of their reader",
        QUEUES,
    ),
    row(
        "xps",
        "sys/class/net/@/queues/tx-*/xps_cpus",
        Format::Mask,
        "which processors send by this queue",
        QUEUES,
    ),
    row(
        "rps_flows",
        "proc/sys/net/core/rps_sock_flow_entries",
        Format::Plain,
        "size of the table that leads flows to their readers",
        KERNEL,
    ),
    row(
        "rx_usecs",
        "ethtool/@/rx-usecs",
        Format::Plain,
        "microseconds before a received packet interrupts",
        COALESCE,
    ),
    row(
        "rx_frames",
        "ethtool/@/rx-frames",
        Format::Plain,
        "received packets before they interrupt",
        COALESCE,
    ),
    row(
        "tx_usecs",
        "ethtool/@/tx-usecs",
        Format::Plain,
        "microseconds before a sent packet interrupts",
        COALESCE,
    ),
    row("tx_frames", "ethtool/@/tx-frames", Format::Plain, "sent packets before they interrupt", COALESCE),
    row(
        "adaptive_rx",
        "ethtool/@/adaptive-rx",
        Format::Flag,
        "the driver chooses how long received packets wait",
        COALESCE,
    ),
    row(
        "adaptive_tx",
        "ethtool/@/adaptive-tx",
        Format::Flag,
        "the driver chooses how long sent packets wait",
        COALESCE,
    ),
    row(
        "gro",
        "ethtool/@/gro",
        Format::Flag,
        "received packets of a connection are joined by the kernel",
        OFFLOAD,
    ),
    row(
        "lro",
        "ethtool/@/lro",
        Format::Flag,
        "received packets of a connection are joined by the card",
        OFFLOAD,
    ),
    row("gso", "ethtool/@/gso", Format::Flag, "large writes are cut into packets late", OFFLOAD),
    row("tso", "ethtool/@/tso", Format::Flag, "large writes are cut into packets by the card", OFFLOAD),
    row("rx_checksum", "ethtool/@/rx-checksum", Format::Flag, "the card checks what it receives", OFFLOAD),
    row("tx_checksum", "ethtool/@/tx-checksum", Format::Flag, "the card writes the checksums", OFFLOAD),
    row(
        "napi_defer",
        "sys/class/net/@/napi_defer_hard_irqs",
        Format::Plain,
        "how often polling goes on before interrupts are on again",
        NETWORK,
    ),
    row(
        "gro_flush_ns",
        "sys/class/net/@/gro_flush_timeout",
        Format::Plain,
        "nanoseconds that received packets are held to be joined, and that polling waits",
        NETWORK,
    ),
    row(
        "napi_threads",
        "sys/class/net/@/threaded",
        Format::Flag,
        "packets are handled in threads of the kernel, not in softirqs",
        NETWORK,
    ),
    row(
        "queue_length",
        "sys/class/net/@/tx_queue_len",
        Format::Plain,
        "packets that wait to be sent",
        NETWORK,
    ),
    row(
        "busy_poll",
        "proc/sys/net/core/busy_poll",
        Format::Plain,
        "microseconds that poll and epoll spin for packets",
        KERNEL,
    ),
    row(
        "busy_read",
        "proc/sys/net/core/busy_read",
        Format::Plain,
        "microseconds that a read spins for packets",
        KERNEL,
    ),
    row(
        "netdev_budget",
        "proc/sys/net/core/netdev_budget",
        Format::Plain,
        "packets taken in one softirq",
        KERNEL,
    ),
    row(
        "netdev_budget_usecs",
        "proc/sys/net/core/netdev_budget_usecs",
        Format::Plain,
        "microseconds that one softirq takes packets",
        KERNEL,
    ),
    row(
        "netdev_backlog",
        "proc/sys/net/core/netdev_max_backlog",
        Format::Plain,
        "packets that wait for a processor",
        KERNEL,
    ),
];
