//! Memory and disks.

use super::{row, Known, KERNEL};
use crate::format::Format;

pub(super) const ROWS: &[Known] = &[
    row(
        "thp",
        "sys/kernel/mm/transparent_hugepage/enabled",
        Format::Chosen,
        "transparent huge pages: who gets them",
        KERNEL,
    ),
    row(
        "thp_defrag",
        "sys/kernel/mm/transparent_hugepage/defrag",
        Format::Chosen,
        "transparent huge pages: whether a page fault waits for one to be made",
        KERNEL,
    ),
    row(
        "ksm",
        "sys/kernel/mm/ksm/run",
        Format::Plain,
        "merging of equal pages: 0 off, 1 on, 2 off and unmerge",
        KERNEL,
    ),
    row(
        "numa_balancing",
        "proc/sys/kernel/numa_balancing",
        Format::Plain,
        "moves pages to the node that uses them, by faults",
        "one NUMA node only, or a kernel without it",
    ),
    row(
        "swappiness",
        "proc/sys/vm/swappiness",
        Format::Plain,
        "how readily memory is swapped out, 0 to 200",
        KERNEL,
    ),
    row(
        "compaction",
        "proc/sys/vm/compaction_proactiveness",
        Format::Plain,
        "how much free memory is joined unasked, 0 to 100",
        KERNEL,
    ),
    row(
        "zone_reclaim",
        "proc/sys/vm/zone_reclaim_mode",
        Format::Plain,
        "memory of the own node is freed before another node's is taken",
        "one NUMA node only, or a kernel without it",
    ),
    row(
        "huge_pages",
        "proc/sys/vm/nr_hugepages",
        Format::Plain,
        "huge pages set aside for programs that ask",
        KERNEL,
    ),
    row(
        "vm_stat_interval",
        "proc/sys/vm/stat_interval",
        Format::Plain,
        "seconds between counts of memory on every processor",
        KERNEL,
    ),
    row(
        "io_scheduler",
        "sys/block/@/queue/scheduler",
        Format::Chosen,
        "order of this disk's requests",
        "no disks",
    ),
];
