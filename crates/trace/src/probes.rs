//! The probes in the kernel: loading, attaching, and removal when dropped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::maps::{Array, MapData, PerCpuArray, RingBuf, StackTraceMap};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, ProgramError, ProgramInfo, UProbe};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::uprobe::attach;

use crate::counts::Counts;
use crate::delays::SchedEvent;
use crate::framing::Framing;
use crate::layout::{RawSums, Record, KINDS, RECORD_BYTES};
use crate::moments::Sums;
use crate::request_name::Head;
use crate::request_start::{ProbeSite, RequestStart};
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
/// The end of a send, which starts the next request of a batch. Without the hand-over tracepoint, also the time at
/// which a response was sent.
const SENT: (&str, &str) = ("sent", "sock_send_length");
/// Probes of the scheduler.
const SCHEDULER_PROBES: [(&str, &str); 15] = [
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
/// Name of the uprobe on the function that starts a request.
const REQUEST_START: &str = "begun";
/// Tracepoint of the hand-over, available since Linux 6.16; the others are available since 6.3.
const HANDOVER: &str = "tcp_sendmsg_locked";

/// Configuration of the probes.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    pub port: u16,
    pub framing: Framing,
    pub one_connection_in: u32,
    /// Whether to use the hand-over tracepoint if the kernel has it.
    pub handover: bool,
    /// Whether to follow the scheduler, too.
    pub follow_scheduler: bool,
    /// Whether to pass on the first bytes of requests.
    pub keep_heads: bool,
    /// The function that starts a request.
    pub request_start: Option<RequestStart>,
}

/// An entry of the ring buffer.
pub enum RingEntry {
    /// A request, and its first bytes if they are kept.
    Request(Record, Option<Head>),
    Event(SchedEvent),
}

pub struct Probes {
    control: Array<MapData, [u64; 5]>,
    counts: PerCpuArray<MapData, u64>,
    sums: PerCpuArray<MapData, RawSums>,
    processors: Array<MapData, [u64; 4]>,
    stacks: StackTraceMap<MapData>,
    records: RingBuf<MapData>,
    handover: bool,
    used: Vec<(&'static str, &'static str)>,
    attached: Vec<(&'static str, BtfTracePointLinkId)>,
    request_start: Option<RequestStart>,
    /// Open uprobes on the start of requests.
    uprobes: Vec<OwnedFd>,
    bpf: Ebpf,
    /// Packets are stamped while this is open.
    stamping: Option<OwnedFd>,
}

/// Settings that may change while the probes run (`struct control`).
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bank of sums that the probes write.
    pub bank: u32,
    /// Record every n-th request in full; 0: none.
    pub every: u32,
    /// Start of the window (`CLOCK_MONOTONIC`): only requests that arrive from then on count.
    pub since_ns: u64,
    /// End of the window: later requests do not count.
    pub until_ns: u64,
    /// Number of the window, from 1.
    pub window: u32,
}

/// Runs and run time of a probe, since the kernel began to count them.
#[derive(Clone, Copy, Debug)]
pub struct ProbeRuns {
    pub name: &'static str,
    pub runs: u64,
    pub ns: u64,
}

impl Probes {
    pub fn load(config: ProbeConfig) -> Result<Self, TraceError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(TraceError::Machine);
        }
        let btf = Btf::from_sys_fs().map_err(TraceError::NoBtf)?;
        let handover = config.handover && has_tracepoint(&btf, HANDOVER);
        let field = config.framing.length_field();
        let field = [field.offset, field.width, u32::from(field.little), field.more as u32];
        let (protocol, traces_handover, one_in) =
            (config.framing.number(), u32::from(handover), config.one_connection_in);
        let mut loader = EbpfLoader::new();
        if !config.follow_scheduler {
            loader.set_max_entries("stacks", 1);
        }
        if !config.keep_heads {
            loader.set_max_entries("heads", 1);
        }
        let mut bpf = loader
            .btf(Some(&btf))
            .allow_unsupported_maps()
            .set_global("port", &config.port, true)
            .set_global("protocol", &protocol, true)
            .set_global("length_field", &field, true)
            .set_global("handover", &traces_handover, true)
            .set_global("one_connection_in", &one_in, true)
            .set_global("who", &u32::from(config.follow_scheduler), true)
            .set_global("heads_kept", &u32::from(config.keep_heads), true)
            .set_global("shown", &u32::from(config.request_start.is_some()), true)
            .load(OBJECT)
            .map_err(load_error)?;
        let mut map = |name: &str| bpf.take_map(name).expect("the object has this map");
        let mut probes = Self {
            control: map("control").try_into()?,
            counts: map("counts").try_into()?,
            sums: map("sums").try_into()?,
            processors: map("processors").try_into()?,
            stacks: map("stacks").try_into()?,
            records: map("records").try_into()?,
            handover,
            used: Vec::new(),
            attached: Vec::new(),
            request_start: config.request_start,
            uprobes: Vec::new(),
            bpf,
            stamping: None,
        };
        let scheduler = if config.follow_scheduler { &SCHEDULER_PROBES[..] } else { &[] };
        let requests = PROBES.iter().filter(|(_, tracepoint)| handover || *tracepoint != HANDOVER);
        let used: Vec<_> = requests.chain(scheduler).copied().collect();
        for (name, tracepoint) in used.iter().copied().chain([SENT]) {
            let probe = probes.probe(name);
            probe.load(tracepoint, &btf).map_err(|e| tracepoint_error(name, tracepoint, e))?;
        }
        if probes.request_start.is_some() {
            probes.function().load().map_err(|error| probe_error(REQUEST_START, error))?;
        }
        probes.used = used;
        if !handover {
            probes.used.push(SENT);
        }
        Ok(probes)
    }

    /// Start the stamping of packets. The kernel defers it to a worker thread, which may have to wait for a CPU.
    pub fn stamp(&mut self) -> Result<(), TraceError> {
        if self.stamping.is_none() {
            self.stamping = Some(hindmost_sys::socket::stamp_arrivals().map_err(TraceError::Stamps)?);
        }
        Ok(())
    }

    /// Attach all probes in use that are not attached.
    pub fn attach(&mut self) -> Result<(), TraceError> {
        self.stamp()?;
        // Attach the uprobes first: they take longest, and requests are followed without them.
        if self.uprobes.is_empty() {
            self.uprobes = self.attach_uprobes()?;
        }
        // Attach in reverse order, so that whatever is seen to start can be seen to end.
        for (name, _) in self.used.clone().into_iter().rev() {
            if !self.attached.iter().any(|(attached, _)| *attached == name) {
                let link = self.probe(name).attach().map_err(|source| TraceError::Probe { name, source })?;
                self.attached.push((name, link));
            }
        }
        Ok(())
    }

    /// Detach all probes until the next `attach`, so that they cost the kernel nothing.
    pub fn detach(&mut self) -> Result<(), TraceError> {
        self.stamping = None;
        self.uprobes.clear();
        while let Some((name, link)) = self.attached.pop() {
            self.probe(name).detach(link).map_err(|source| TraceError::Probe { name, source })?;
        }
        Ok(())
    }

    /// Clear the state of the CPUs: it is outdated after a time without probes.
    pub fn clear_processors(&mut self) -> Result<(), TraceError> {
        for cpu in 0..self.processors.len() {
            if self.processors.get(&cpu, 0)? != [0; 4] {
                self.processors.set(cpu, [0; 4], 0)?;
            }
        }
        Ok(())
    }

    /// Once requests have come in batches, also follow the end of sends.
    pub fn follow_batches(&mut self) -> Result<(), TraceError> {
        if self.used.contains(&SENT) || self.counts()?.batched == 0 {
            return Ok(());
        }
        self.used.push(SENT);
        self.attach()
    }

    /// Whether the hand-over of a response is visible.
    pub fn handover(&self) -> bool {
        self.handover
    }

    fn probe(&mut self, name: &str) -> &mut BtfTracePoint {
        let program = self.bpf.program_mut(name).expect("the object has this program");
        program.try_into().expect("all programs but one are tracepoints")
    }

    /// Attach the uprobe at every place where a request starts.
    fn attach_uprobes(&mut self) -> Result<Vec<OwnedFd>, TraceError> {
        let Some(RequestStart { file, sites }) = self.request_start.clone() else { return Ok(Vec::new()) };
        let program = self.function().fd().map_err(|error| probe_error(REQUEST_START, error))?.as_fd();
        let attach = |site: &ProbeSite| attach(&file, site.offset, site.semaphore, program);
        sites.iter().map(attach).collect::<Result<_, _>>().map_err(|error| match permission(&error) {
            Some(error) => TraceError::NotAllowed(error),
            None => TraceError::Uprobe { file, source: error },
        })
    }

    fn function(&mut self) -> &mut UProbe {
        let program = self.bpf.program_mut(REQUEST_START).expect("the object has this program");
        program.try_into().expect("this program is a uprobe")
    }

    /// Return the runs of each probe, if the kernel counts them.
    pub fn run_counts(&mut self) -> Vec<ProbeRuns> {
        let counts = |name, info: ProgramInfo| ProbeRuns {
            name,
            runs: info.run_count(),
            ns: info.run_time().as_nanos() as u64,
        };
        let used = self.used.clone();
        let mut all: Vec<_> = used
            .into_iter()
            .filter_map(|(name, _)| Some(counts(name, self.probe(name).info().ok()?)))
            .collect();
        if self.request_start.is_some() {
            all.extend(self.function().info().ok().map(|info| counts(REQUEST_START, info)));
        }
        all
    }

    pub fn set(&mut self, settings: Settings) -> Result<(), TraceError> {
        // The wall clock may be set at any time.
        let ahead = MonotonicClock.realtime_ahead() as u64;
        let second = u64::from(settings.bank) | u64::from(settings.every) << 32; // two fields of 32 bits
        Ok(self.control.set(
            0,
            [ahead, second, settings.until_ns, u64::from(settings.window), settings.since_ns],
            0,
        )?)
    }

    pub fn counts(&self) -> Result<Counts, TraceError> {
        let mut all = [0; Counts::NUMBER as usize];
        for (index, count) in (0..).zip(&mut all) {
            // Corrections are negative, in two's complement.
            *count = self.counts.get(&index, 0)?.iter().fold(0, |sum: u64, more| sum.wrapping_add(*more));
        }
        Ok(Counts::from_array(all))
    }

    /// Return the sums of a bank that is not being written.
    pub fn sums(&self, bank: u32) -> Result<[Sums; KINDS], TraceError> {
        let mut all: [Sums; KINDS] = Default::default();
        for (index, sums) in (bank * KINDS as u32..).zip(&mut all) {
            self.sums.get(&index, 0)?.iter().for_each(|raw| sums.add(raw));
        }
        Ok(all)
    }

    /// Return the addresses of a stack, the executed instruction first.
    pub fn stack(&self, number: u32) -> Vec<u64> {
        self.stacks
            .get(&number, 0)
            .map_or_else(|_| Vec::new(), |stack| stack.frames().iter().map(|frame| frame.ip).collect())
    }

    pub fn next_entry(&mut self) -> Option<RingEntry> {
        while let Some(bytes) = self.records.next() {
            if let Some(event) = SchedEvent::from_bytes(&bytes) {
                return Some(RingEntry::Event(event));
            }
            if let Some(record) = Record::from_bytes(&bytes) {
                let head = bytes.get(RECORD_BYTES..).and_then(|head| head.try_into().ok());
                return Some(RingEntry::Request(record, head));
            }
        }
        None
    }
}

fn has_tracepoint(btf: &Btf, name: &str) -> bool {
    btf.id_by_type_name_kind(&format!("btf_trace_{name}"), aya_obj::btf::BtfKind::Typedef).is_ok()
}

fn load_error(error: EbpfError) -> TraceError {
    match permission(&error) {
        Some(error) => TraceError::NotAllowed(error),
        None => error.into(),
    }
}

fn tracepoint_error(name: &'static str, tracepoint: &'static str, error: ProgramError) -> TraceError {
    if let ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) = error {
        return TraceError::NoTracepoint(tracepoint);
    }
    probe_error(name, error)
}

fn probe_error(name: &'static str, error: ProgramError) -> TraceError {
    match permission(&error) {
        Some(error) => TraceError::NotAllowed(error),
        None => TraceError::Probe { name, source: error },
    }
}

/// Return the kernel's permission error from the sources of an error, if there is one.
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
