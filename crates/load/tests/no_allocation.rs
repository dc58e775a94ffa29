//! Worker threads allocate nothing between the first and the last request of the measurement. A counting
//! allocator watches every thread with a worker's name.
// The allocator trait requires unsafe code.
#![allow(unsafe_code)]

// Not all of it is used here.
#[allow(dead_code, unused_imports)]
#[path = "clients/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use common::{plan, run_with, synth, Run, ServerProcess};
use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_host::counters::ThreadCounters;
use hindmost_load::engine::{Command, Controller, Event, ImmediateController};
use hindmost_load::LoadError;
use serde_json::{json, Value};

static FROM: AtomicU64 = AtomicU64::new(u64::MAX);
static TO: AtomicU64 = AtomicU64::new(0);
/// Allocations of worker threads in the measurement.
static MEASURED: AtomicU64 = AtomicU64::new(0);
/// Size of the first of them, to help find it.
static FIRST_BYTES: AtomicU64 = AtomicU64::new(0);
/// Allocations of worker threads before the measurement: zero would mean that this test observes nothing.
static EARLIER: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether this is a worker thread, according to the kernel's thread name. The query does not allocate.
fn is_worker() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes (prctl(2)).
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"worker-")
}

fn note(bytes: usize) {
    if !is_worker() {
        return;
    }
    let now = MonotonicClock.now().0;
    if now < FROM.load(Ordering::Relaxed) {
        EARLIER.fetch_add(1, Ordering::Relaxed);
    } else if now < TO.load(Ordering::Relaxed) {
        MEASURED.fetch_add(1, Ordering::Relaxed);
        let _ = FIRST_BYTES.compare_exchange(0, bytes as u64, Ordering::Relaxed, Ordering::Relaxed);
    }
}

// SAFETY: the system's allocator does all the work; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// A controller that notes the period of the measurement when it orders it.
#[derive(Default)]
struct Watching(ImmediateController);

impl Controller for Watching {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        self.0.report(event)
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        let command = self.0.next_command(patience)?;
        if let Some(Command::Measure { from_ns }) = command {
            let measure = from_ns + Nanos::from_secs_f64(CALIBRATION_S).0;
            FROM.store(measure, Ordering::Relaxed);
            // The last request is scheduled slightly before the end; later work may allocate.
            TO.store(measure + Nanos::from_secs_f64(MEASURE_S - 0.02).0, Ordering::Relaxed);
        }
        Ok(command)
    }
}

const CALIBRATION_S: f64 = 0.05;
const MEASURE_S: f64 = 0.1;

#[test]
fn workers_allocate_nothing_between_the_first_and_the_last_request() {
    reading_its_own_counters_allocates_nothing();
    let server = synth();
    let address = server.local_address().to_string();
    let mix = json!({
        "kind": "key-value", "keys": 300, "get_ratio": 0.6, "value_bytes": {"uniform": [1, 8000]},
        "popularity": {"zipf": 0.99},
    });
    for (load, pacing, io) in [
        (json!({"loop": "open", "rate_per_s": 5000.0}), "spin", "epoll"),
        // More than the server's capacity: all waiting requests use existing buffers.
        (json!({"loop": "open", "rate_per_s": 2_000_000.0}), "spin", "epoll"),
        (
            json!({"loop": "open", "rate_per_s": 5000.0, "arrivals": {"kind": "gamma", "shape": 0.5}}),
            "sleep",
            "epoll",
        ),
        (json!({"loop": "closed"}), "sleep", "epoll"),
        (json!({"loop": "open", "rate_per_s": 5000.0}), "spin", "io_uring"),
        (json!({"loop": "open", "rate_per_s": 2_000_000.0}), "spin", "io_uring"),
        (json!({"loop": "closed"}), "sleep", "io_uring"),
    ] {
        let changes = json!({"load": load, "pacing": pacing, "io": io, "workload": mix});
        allocates_nothing("memcached", &address, &changes);
    }
    // Connections that the plan limits to five requests.
    for (load, io) in
        [(json!({"loop": "open", "rate_per_s": 500_000.0}), "epoll"), (json!({"loop": "closed"}), "io_uring")]
    {
        let changes = json!({"load": load, "io": io, "workload": mix, "requests_per_connection": 5});
        let ran = allocates_nothing("memcached", &address, &changes);
        // Counts of the whole load: on a busy host none may fall into the measurement.
        let made = ran.result["connects"]["all"].as_u64().unwrap();
        assert!(made > 10 && ran.result["reconnects"] == 0, "{}", ran.result["connects"]);
    }
    // Connections that are closed and reopened, with resent requests.
    let Some(server) = ServerProcess::nginx(100) else { return };
    for io in ["epoll", "io_uring"] {
        let load = json!({"loop": "open", "rate_per_s": 30_000.0});
        let checks = ["header Server: other", "body contains no such text", "size>=1"];
        let workload = json!({"kind": "http", "paths": ["/"], "checks": checks});
        let changes = json!({"load": load, "io": io, "workload": workload});
        let ran = allocates_nothing("http", &server.address, &changes);
        assert!(ran.result["resent"].as_u64() > Some(0), "{}", ran.result["resent"]);
    }
    // Redirections that are followed.
    let Some(server) = ServerProcess::nginx_with(100, "", "location /old { return 302 /; }") else { return };
    let workload = json!({"kind": "http", "paths": ["/old"], "follow": 1});
    let changes = json!({"load": json!({"loop": "open", "rate_per_s": 10_000.0}), "workload": workload});
    let ran = allocates_nothing("http", &server.address, &changes);
    assert!(ran.result["codes"]["200"]["count"].as_u64() > Some(0), "{}", ran.result["codes"]);
    // Streams, GOAWAY frames, and requests resent after them.
    let Some(server) = ServerProcess::nginx_with(100, "http2", "") else { return };
    for load in [json!({"loop": "open", "rate_per_s": 10_000.0}), json!({"loop": "closed"})] {
        let changes = json!({"load": load, "in_flight": 50, "workload": {"kind": "http", "requests": [
            {"path": "/{{int:1..3}}"}, {"path": "/", "method": "POST", "body": "{{uuid}}"},
        ]}});
        let ran = allocates_nothing("http2", &server.address, &changes);
        assert!(ran.result["reconnects"].as_u64() > Some(0), "{}", ran.result["reconnects"]);
    }
    // Connections that are reset without notice.
    let address = resetting();
    for io in ["epoll", "io_uring"] {
        let load = json!({"loop": "open", "rate_per_s": 5_000.0});
        let workload = json!({"kind": "key-value", "keys": 300, "get_ratio": 1.0});
        let changes = json!({"load": load, "io": io, "workload": workload, "preload": false});
        let ran = allocates_nothing("memcached", &address, &changes);
        assert!(
            ran.count("lost") > 0 && ran.result["reconnects"].as_u64() > Some(10),
            "{}",
            ran.result["counts"]
        );
    }
    // Streamed replies, whose messages are timed.
    let address = streaming();
    for io in ["epoll", "io_uring"] {
        let load = json!({"loop": "open", "rate_per_s": 5_000.0});
        let changes = json!({"load": load, "io": io, "workload": {"kind": "http"}, "stream": true});
        let ran = allocates_nothing("http", &address, &changes);
        let counts = &ran.result["messages"];
        let [replies, messages] = ["replies", "messages"].map(|key| counts[key].as_u64().unwrap());
        assert!(replies > 100 && messages == 2 * replies, "{counts}");
    }
    // One connection for each request, also beyond the server's capacity.
    let Some(server) = ServerProcess::nginx(1) else { return };
    for (io, rate) in [("epoll", 3_000.0), ("io_uring", 3_000.0), ("epoll", 500_000.0)] {
        let load = json!({"loop": "open", "rate_per_s": rate});
        let changes = json!({"load": load, "io": io, "workload": {"kind": "http", "paths": ["/"]}});
        let ran = allocates_nothing("http", &server.address, &changes);
        assert_eq!(ran.result["by_turns"], true, "{io} {rate}");
    }
}

/// Start a server that answers each request with two events.
fn streaming() -> String {
    const EVENTS: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
        12\r\ndata: a\n\ndata: b\n\n\r\n0\r\n\r\n";
    serve_each(|mut stream| {
        let mut bytes = [0; 4096];
        // Requests take turns, so a read has one of them.
        while stream.read(&mut bytes)? > 0 {
            stream.write_all(EVENTS)?;
        }
        Ok(())
    })
}

/// Start a server that answers 40 gets per connection with misses, then resets it with the next ones unread.
fn resetting() -> String {
    serve_each(|mut stream| {
        let (mut bytes, mut gets) = ([0; 256], 0);
        while gets < 40 {
            let n = stream.read(&mut bytes)?;
            if n == 0 {
                return Ok(());
            }
            let now = bytes[..n].split(|&byte| byte == b'\n').count() - 1;
            stream.write_all(&b"END\r\n".repeat(now))?;
            gets += now;
        }
        // Unread bytes turn the close into a reset (RFC 1122, 4.2.2.13).
        stream.peek(&mut bytes).map(drop)
    })
}

/// Serve each connection by `serve` on a thread of its own. Return the server's address.
fn serve_each(serve: fn(TcpStream) -> std::io::Result<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // All threads end with the test binary at the latest.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Check it separately: a worker that slept through the calibration reads its counters in the measurement.
fn reading_its_own_counters_allocates_nothing() {
    let read = || {
        TO.store(u64::MAX, Ordering::Relaxed);
        FROM.store(0, Ordering::Relaxed);
        let read = ThreadCounters::read_self();
        TO.store(0, Ordering::Relaxed);
        read
    };
    let worker = std::thread::Builder::new().name("worker-late".to_owned()).spawn(read).unwrap();
    let exists = std::path::Path::new("/proc/thread-self/schedstat").exists();
    assert_eq!(worker.join().unwrap().schedule.is_some(), exists);
    assert_eq!(MEASURED.load(Ordering::Relaxed), 0);
}

fn allocates_nothing(protocol: &str, address: &str, changes: &Value) -> Run {
    FROM.store(u64::MAX, Ordering::Relaxed);
    MEASURED.store(0, Ordering::Relaxed);
    let mut all = json!({
        "threads": [{}, {}], "max_outstanding": 4096,
        "phases": {
            "warmup": {"fixed": {"seconds": 0.05}}, "calibration_s": CALIBRATION_S, "measure_s": MEASURE_S,
        },
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    let ran = run_with(&plan(protocol, address, &all), &mut Watching::default()).unwrap();
    assert!(ran.count("scheduled") > 200, "{}", ran.result["counts"]);
    assert!(EARLIER.load(Ordering::Relaxed) > 0, "allocations before the measurement must be observed");
    let (count, bytes) = (MEASURED.load(Ordering::Relaxed), FIRST_BYTES.load(Ordering::Relaxed));
    assert_eq!(count, 0, "{changes}: the first allocation had {bytes} bytes");
    ran
}
