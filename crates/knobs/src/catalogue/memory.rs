//! Memory and disks.

use super::{row, CatalogueRow, KERNEL};
use crate::format::Format;

pub(super) const ROWS: &[CatalogueRow] = &[
    row(
        "thp",
        "sys/kernel/mm/transparent_hugepage/enabled",
        Format::Chosen,
        "transparent huge pages: which memory gets them",
        KERNEL,
    ),
    row(
        "thp_defrag",
        "sys/kernel/mm/transparent_hugepage/defrag",
        Format::Chosen,
        "transparent huge pages: whether a page fault waits for compaction",
        KERNEL,
    ),
    row(
        "ksm",
        "sys/kernel/mm/ksm/run",
        Format::Plain,
        "merging of identical pages: 0 off, 1 on, 2 off and unmerge",
        KERNEL,
    ),
    row(
        "numa_balancing",
        "proc/sys/kernel/numa_balancing",
        Format::Plain,
        "migrates pages to the NUMA node that uses them",
        "there is one NUMA node only, or this kernel lacks it",
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
        "proactive compaction of free memory, 0 to 100",
        KERNEL,
    ),
    row(
        "zone_reclaim",
        "proc/sys/vm/zone_reclaim_mode",
        Format::Plain,
        "local memory is reclaimed before memory of another node is used",
        "there is one NUMA node only, or this kernel lacks it",
    ),
    row(
        "huge_pages",
        "proc/sys/vm/nr_hugepages",
        Format::Plain,
        "huge pages reserved for programs that request them",
        KERNEL,
    ),
    row(
        "vm_stat_interval",
        "proc/sys/vm/stat_interval",
        Format::Plain,
        "seconds between updates of the memory statistics of every CPU",
        KERNEL,
    ),
    row(
        "io_scheduler",
        "sys/block/@/queue/scheduler",
        Format::Chosen,
        "I/O scheduler of this disk",
        "no disks",
    ),
];
