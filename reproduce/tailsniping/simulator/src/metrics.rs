//! The monitored metrics and their indices.

/// The monitored metrics (Table 6.4 of the dissertation); log p50 and log p99 follow them.
pub const METRICS: [&str; 24] = [
    "load",
    "send_bytes",
    "send_packets",
    "recv_bytes",
    "recv_packets",
    "app_irq",
    "app_freq",
    "app_cpu_util",
    "app_v_ctxt_sw",
    "app_nv_ctxt_sw",
    "app_io_read",
    "app_io_write",
    "app_vmem",
    "app_rmem",
    "app_cycles",
    "app_insts",
    "app_l1d_miss",
    "app_l1i_miss",
    "app_l2_miss",
    "app_llc_miss",
    "app_br_miss",
    "app_r_numa",
    "app_l_numa",
    "app_pg_fault",
];

/// Number of metrics and percentiles.
pub(crate) const ALL: usize = METRICS.len() + 2;
/// Index of log p99.
pub(crate) const P99: usize = ALL - 1;
pub(crate) const P50: usize = ALL - 2;

/// Values of all metrics and percentiles.
pub(crate) type Point = [f64; ALL];
