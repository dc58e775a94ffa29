//! The probes in the kernel: loaded, attached, gone when dropped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::{Array, MapData, PerCpuArray, RingBuf};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, ProgramError, ProgramInfo, UProbe};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::uprobe::attach;

use crate::begun::{Begun, Place};
use crate::counts::Counts;
use crate::framing::Framing;
use crate::layout::{RawSums, Record, KINDS};
use crate::moments::Sums;
use crate::who::Moment;
use crate::TraceError;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/stages.bpf.o");

/// Each probe with its tracepoint.
const PROBES: [(&str, &str); 5] = [
    ("ready", "sk_data_ready"),
    ("received", "sock_recv_length"),
    ("sending", HANDOVER),
    ("leaving", "net_dev_start_xmit"),
    ("closing", "inet_sock_set_state"),
];
/// Says when the next request of a batch begins; without the hand-over, when a response was sent.
const SENT: (&str, &str) = ("sent", "sock_send_length");
/// Those that follow the scheduler.
const WHO: [(&str, &str); 15] = [
    ("switching", "sched_switch"),
    ("waking", "sched_waking"),
    ("woken", "sched_wakeup"),
    ("migrating", "sched_migrate_task"),
    ("softirq_begins", "softirq_entry"),
    ("softirq_ends", "softirq_exit"),
    ("hardirq_begins", "irq_handler_entry"),
    ("hardirq_ends", "irq_handler_exit"),
    ("timer_begins", "hrtimer_expire_entry"),
    ("timer_ends", "hrtimer_expire_exit"),
    ("tick_begins", "local_timer_entry"),
    ("tick_ends", "local_timer_exit"),
    ("call_begins", "call_function_single_entry"),
    ("call_ends", "call_function_single_exit"),
    ("faulting", "page_fault_user"),
];
/// Where a server begins a request, by a function of its own.
const BEGUN: &str = "begun";
/// Since Linux 6.16; the others since 6.3.
const HANDOVER: &str = "tcp_sendmsg_locked";

/// What is to be followed.
#[derive(Clone, Debug)]
pub struct Followed {
    pub port: u16,
    pub framing: Framing,
    pub one_connection_in: u32,
    /// Whether to use the tracepoint of the hand-over where there is one.
    pub handover: bool,
    /// Whether to follow the scheduler as well.
    pub who: bool,
    /// The function that begins a request.
    pub begun: Option<Begun>,
}

/// What the ring holds.
pub enum Told {
    Request(Record),
    Moment(Moment),
}

pub struct Probes {
    control: Array<MapData, [u64; 5]>,
    counts: PerCpuArray<MapData, u64>,
    sums: PerCpuArray<MapData, RawSums>,
    processors: Array<MapData, [u64; 4]>,
    records: RingBuf<MapData>,
    handover: bool,
    used: Vec<(&'static str, &'static str)>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
    begun: Option<Begun>,
    /// While they are open, requests are shown to begin.
    shown: Vec<OwnedFd>,
    bpf: Ebpf,
    /// While it is open, packets are stamped.
    stamping: Option<OwnedFd>,
}

/// What the probes are told while they run (`struct control`).
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The bank of sums that is written.
    pub bank: u32,
    /// One request in so many is told in full; 0: none.
    pub every: u32,
    /// Of `CLOCK_MONOTONIC`: the window takes requests that arrive from then on,
    pub since_ns: u64,
    /// and before this.
    pub until_ns: u64,
    /// Counts windows, from 1.
    pub window: u32,
}

/// How often a probe ran and what it took, since the kernel began to keep that.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    pub name: &'static str,
    pub runs: u64,
    pub ns: u64,
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
            .set_global("shown", &u32::from(followed.begun.is_some()), true)
            .load(OBJECT)
            .map_err(refused)?;
        let mut map = |name: &str| bpf.take_map(name).expect("a map of our own object");
        let mut probes = Self {
            control: map("control").try_into()?,
            counts: map("counts").try_into()?,
            sums: map("sums").try_into()?,
            processors: map("processors").try_into()?,
            records: map("records").try_into()?,
            handover,
            used: Vec::new(),
            attached: Vec::new(),
            begun: followed.begun,
            shown: Vec::new(),
            bpf,
            stamping: None,
        };
        let who = if followed.who { &WHO[..] } else { &[] };
        let requests = PROBES.iter().filter(|(_, tracepoint)| handover || *tracepoint != HANDOVER);
        let known: Vec<_> = requests.chain(who).copied().collect();
        for (name, tracepoint) in known.iter().copied().chain([SENT]) {
            let probe = probes.probe(name);
            probe.load(tracepoint, &btf).map_err(|e| unloaded(name, tracepoint, e))?;
        }
        if probes.begun.is_some() {
            probes.function().load().map_err(|error| denied(BEGUN, error))?;
        }
        probes.used = known;
        if !handover {
            probes.used.push(SENT);
        }
        Ok(probes)
    }

    /// Has packets stamped from now on. The kernel leaves it to a worker thread, which may have to wait for a processor.
    pub fn stamp(&mut self) -> Result<(), TraceError> {
        if self.stamping.is_none() {
            self.stamping = Some(hindmost_sys::socket::stamp_arrivals().map_err(TraceError::Stamps)?);
        }
        Ok(())
    }

    /// Attaches what is used, if it is not.
    pub fn attach(&mut self) -> Result<(), TraceError> {
        self.stamp()?;
        // First: it takes longest, and requests would be followed without it.
        if self.shown.is_empty() {
            self.shown = self.show()?;
        }
        // Backwards, so that whatever is seen to begin can be seen to end.
        for (name, _) in self.used.clone().into_iter().rev() {
            if !self.attached.iter().any(|(known, _)| *known == name) {
                let link = self.probe(name).attach().map_err(|source| TraceError::Probe { name, source })?;
                self.attached.push((name, link));
            }
        }
        Ok(())
    }

    /// Detaches all, until the next `attach`. Nothing of the kernel's is any slower then.
    pub fn detach(&mut self) -> Result<(), TraceError> {
        self.stamping = None;
        self.shown.clear();
        while let Some((name, link)) = self.attached.pop() {
            self.probe(name).detach(link).map_err(|source| TraceError::Probe { name, source })?;
        }
        Ok(())
    }

    /// What processors did when they were followed last says nothing of now.
    pub fn forget(&mut self) -> Result<(), TraceError> {
        for cpu in 0..self.processors.len() {
            if self.processors.get(&cpu, 0)? != [0; 4] {
                self.processors.set(cpu, [0; 4], 0)?;
            }
        }
        Ok(())
    }

    /// Once requests have come in batches, it is followed when a send returns.
    pub fn follow_batches(&mut self) -> Result<(), TraceError> {
        if self.used.contains(&SENT) || self.counts()?.batched == 0 {
            return Ok(());
        }
        self.used.push(SENT);
        self.attach()
    }

    /// Whether the hand-over of a response is seen.
    pub fn handover(&self) -> bool {
        self.handover
    }

    fn probe(&mut self, name: &str) -> &mut BtfTracePoint {
        let program = self.bpf.program_mut(name).expect("a program of our own object");
        program.try_into().expect("all of ours are of this type")
    }

    /// Looks at all places where a request begins.
    fn show(&mut self) -> Result<Vec<OwnedFd>, TraceError> {
        let Some(Begun { file, places }) = self.begun.clone() else { return Ok(Vec::new()) };
        let program = self.function().fd().map_err(|error| denied(BEGUN, error))?.as_fd();
        let attach = |place: &Place| attach(&file, place.offset, place.semaphore, program);
        places.iter().map(attach).collect::<Result<_, _>>().map_err(|error| match permission(&error) {
            Some(error) => TraceError::NotAllowed(error),
            None => TraceError::Uprobe { file, source: error },
        })
    }

    fn function(&mut self) -> &mut UProbe {
        let program = self.bpf.program_mut(BEGUN).expect("a program of our own object");
        program.try_into().expect("it is of this type")
    }

    /// What each probe took so far, where the kernel keeps it.
    pub fn ran(&mut self) -> Vec<Ran> {
        let ran = |name, info: ProgramInfo| Ran {
            name,
            runs: info.run_count(),
            ns: info.run_time().as_nanos() as u64,
        };
        let used = self.used.clone();
        let mut all: Vec<_> =
            used.into_iter().filter_map(|(name, _)| Some(ran(name, self.probe(name).info().ok()?))).collect();
        if self.begun.is_some() {
            all.extend(self.function().info().ok().map(|info| ran(BEGUN, info)));
        }
        all
    }

    pub fn set(&mut self, to: Settings) -> Result<(), TraceError> {
        // The time of day may be set meanwhile.
        let ahead = MonotonicClock.realtime_ahead() as u64;
        let second = u64::from(to.bank) | u64::from(to.every) << 32; // two fields of 32 bits
        Ok(self.control.set(0, [ahead, second, to.until_ns, u64::from(to.window), to.since_ns], 0)?)
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
    denied(name, error)
}

fn denied(name: &'static str, error: ProgramError) -> TraceError {
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
