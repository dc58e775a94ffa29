//! The probes in the kernel: loaded, attached, gone when dropped.

use std::io;
use std::os::fd::OwnedFd;

use aya::maps::{Array, MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};

use crate::counts::Counts;
use crate::framing::Framing;
use crate::layout::{RawSums, Record, KINDS};
use crate::moments::Sums;
use crate::who::Moment;
use crate::TraceError;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/stages.bpf.o");

/// Each probe with its tracepoint.
const PROBES: [(&str, &str); 6] = [
    ("ready", "sk_data_ready"),
    ("received", "sock_recv_length"),
    ("sending", HANDOVER),
    ("sent", "sock_send_length"),
    ("leaving", "net_dev_start_xmit"),
    ("closing", "inet_sock_set_state"),
];
/// Those that follow the scheduler.
const WHO: [(&str, &str); 9] = [
    ("switching", "sched_switch"),
    ("waking", "sched_waking"),
    ("woken", "sched_wakeup"),
    ("migrating", "sched_migrate_task"),
    ("softirq_begins", "softirq_entry"),
    ("softirq_ends", "softirq_exit"),
    ("hardirq_begins", "irq_handler_entry"),
    ("hardirq_ends", "irq_handler_exit"),
    ("faulting", "page_fault_user"),
];
/// Since Linux 6.16; the others since 6.3.
const HANDOVER: &str = "tcp_sendmsg_locked";

/// What is to be followed.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    pub port: u16,
    pub framing: Framing,
    pub one_connection_in: u32,
    /// Whether to use the tracepoint of the hand-over where there is one.
    pub handover: bool,
    /// Whether to follow the scheduler as well.
    pub who: bool,
}

/// What the ring holds.
pub enum Told {
    Request(Record),
    Moment(Moment),
}

pub struct Probes {
    control: Array<MapData, [u64; 2]>,
    counts: PerCpuArray<MapData, u64>,
    sums: PerCpuArray<MapData, RawSums>,
    records: RingBuf<MapData>,
    handover: bool,
    who: bool,
    bpf: Ebpf,
    /// While it is open, packets are stamped.
    _stamping: OwnedFd,
}

impl Probes {
    pub fn load(followed: Followed) -> Result<Self, TraceError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(TraceError::Machine);
        }
        let btf = Btf::from_sys_fs().map_err(TraceError::NoBtf)?;
        let handover = followed.handover && has_tracepoint(&btf, HANDOVER);
        let field = followed.framing.length_field();
        let field = [field.offset, field.width, u32::from(field.little), field.more as u32];
        let (protocol, told, one_in) =
            (followed.framing.number(), u32::from(handover), followed.one_connection_in);
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .allow_unsupported_maps()
            .set_global("port", &followed.port, true)
            .set_global("protocol", &protocol, true)
            .set_global("length_field", &field, true)
            .set_global("handover", &told, true)
            .set_global("one_connection_in", &one_in, true)
            .set_global("who", &u32::from(followed.who), true)
            .load(OBJECT)
            .map_err(refused)?;
        let stamping = hindmost_sys::socket::stamp_arrivals().map_err(TraceError::Stamps)?;
        let mut map = |name: &str| bpf.take_map(name).expect("a map of our own object");
        let mut probes = Self {
            control: map("control").try_into()?,
            counts: map("counts").try_into()?,
            sums: map("sums").try_into()?,
            records: map("records").try_into()?,
            handover,
            who: followed.who,
            bpf,
            _stamping: stamping,
        };
        for (name, tracepoint) in probes.used() {
            let probe = probes.probe(name);
            probe.load(tracepoint, &btf).map_err(|e| unloaded(name, tracepoint, e))?;
        }
        Ok(probes)
    }

    pub fn attach(&mut self) -> Result<(), TraceError> {
        // Backwards, so that whatever is seen to begin can be seen to end.
        for (name, _) in self.used().into_iter().rev() {
            self.probe(name).attach().map_err(|source| TraceError::Probe { name, source })?;
        }
        Ok(())
    }

    /// Whether the hand-over of a response is seen.
    pub fn handover(&self) -> bool {
        self.handover
    }

    fn used(&self) -> Vec<(&'static str, &'static str)> {
        let who = if self.who { &WHO[..] } else { &[] };
        let requests = PROBES.iter().filter(|(_, tracepoint)| self.handover || *tracepoint != HANDOVER);
        requests.chain(who).copied().collect()
    }

    fn probe(&mut self, name: &str) -> &mut BtfTracePoint {
        let program = self.bpf.program_mut(name).expect("a program of our own object");
        program.try_into().expect("all of ours are of this type")
    }

    /// Time spent in all probes so far, in ns, where the kernel keeps it.
    pub fn run_time_ns(&mut self) -> u64 {
        let used = self.used();
        used.iter()
            .filter_map(|(name, _)| self.probe(name).info().ok())
            .map(|info| info.run_time().as_nanos() as u64)
            .sum()
    }

    /// How far the time of day is ahead of the monotonic clock; which bank is written; one full record in so many.
    pub fn set(&mut self, ahead_ns: i64, bank: u32, every: u32) -> Result<(), TraceError> {
        let second = u64::from(bank) | u64::from(every) << 32; // two fields of 32 bits
        Ok(self.control.set(0, [ahead_ns as u64, second], 0)?)
    }

    pub fn counts(&self) -> Result<Counts, TraceError> {
        let mut all = [0; Counts::KEPT as usize];
        for (at, count) in (0..).zip(&mut all) {
            // Corrections are negative, in two's complement.
            *count = self.counts.get(&at, 0)?.iter().fold(0, |sum: u64, more| sum.wrapping_add(*more));
        }
        Ok(Counts::of(all))
    }

    /// Sums of a bank that is not written now.
    pub fn sums(&self, bank: u32) -> Result<[Sums; KINDS], TraceError> {
        let mut all: [Sums; KINDS] = Default::default();
        for (at, sums) in (bank * KINDS as u32..).zip(&mut all) {
            self.sums.get(&at, 0)?.iter().for_each(|raw| sums.add(raw));
        }
        Ok(all)
    }

    pub fn next_told(&mut self) -> Option<Told> {
        while let Some(bytes) = self.records.next() {
            if let Some(moment) = Moment::of(&bytes) {
                return Some(Told::Moment(moment));
            }
            if let Some(record) = Record::of(&bytes) {
                return Some(Told::Request(record));
            }
        }
        None
    }
}

fn has_tracepoint(btf: &Btf, name: &str) -> bool {
    btf.id_by_type_name_kind(&format!("btf_trace_{name}"), aya_obj::btf::BtfKind::Typedef).is_ok()
}

fn refused(error: EbpfError) -> TraceError {
    match permission(&error) {
        Some(error) => TraceError::NotAllowed(error),
        None => error.into(),
    }
}

fn unloaded(name: &'static str, tracepoint: &'static str, error: ProgramError) -> TraceError {
    if let ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) = error {
        return TraceError::NoTracepoint(tracepoint);
    }
    match permission(&error) {
        Some(error) => TraceError::NotAllowed(error),
        None => TraceError::Probe { name, source: error },
    }
}

/// The kernel's refusal for want of rights, somewhere below an error.
fn permission(error: &(dyn std::error::Error + 'static)) -> Option<io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(os) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return (os == 1).then(|| io::Error::from_raw_os_error(os));
        }
        next = error.source();
    }
    None
}
