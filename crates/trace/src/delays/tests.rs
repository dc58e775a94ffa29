//! Requests with known causes of delay.

use super::event::EventKind;
use super::history::TIMER;
use super::*;

const NET: u32 = 0;

fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

/// Return a switch on CPU 0 at a time in µs, between threads of the server (numbers below 100) and of other processes.
fn switch(
    since: u64,
    at: u64,
    from: (u32, &str),
    to: u32,
    state: u8,
    call: u16,
    operation: u8,
) -> SchedEvent {
    let is_server = |thread: u32| (1..100).contains(&thread);
    SchedEvent {
        at: at * 1000,
        since: since * 1000,
        thread: from.0,
        process: if is_server(from.0) { 1 } else { from.0 },
        other: to,
        cpu: 0,
        call,
        kind: EventKind::Switch,
        thread_is_server: is_server(from.0),
        other_is_server: is_server(to),
        kernel: false,
        state,
        operation,
        kernel_stack: None,
        user_stack: None,
        name: name(from.1),
    }
}

fn woken_since(since: u64, at: u64, thread: u32, waker: u32) -> SchedEvent {
    let wake_up = switch(since, at, (thread, ""), waker, 0, 0, 0);
    SchedEvent { kind: EventKind::Woken, ..wake_up }
}

fn woken(at: u64, thread: u32, waker: u32) -> SchedEvent {
    woken_since(at, at, thread, waker)
}

fn request(e: [u64; 6]) -> Record {
    Record {
        cookie: 1,
        e: e.map(|us| us * 1000),
        rx_end: 0,
        tx_end: 0,
        reader: 1,
        sender: 1,
        cpus: [0; 4],
        port: 1,
        batch: 1,
        kind: 1,
    }
}

fn charge_request(events: &[SchedEvent], e: [u64; 6]) -> Vec<(&'static str, &'static str, String, u64)> {
    let mut joiner = Joiner::new();
    for m in events {
        joiner.event(m);
    }
    let r = request(e);
    let mut all: Vec<_> = charges(&joiner.history, joiner.non_threads, &r)
        .into_iter()
        .map(|c| {
            let name = joiner.history.names.get(c.name).map_or(String::new(), |n| n.text.clone());
            (STAGES[usize::from(c.stage)], CAUSES[c.cause as usize], name, c.ns / 1000)
        })
        .collect();
    all.sort();
    let total: u64 = all.iter().map(|one| one.3).sum();
    assert_eq!(total, e[5] - e[1], "every nanosecond is charged once");
    joiner.request(&r);
    all
}

const EPOLL: u16 = 232;

#[test]
fn a_wait_behind_a_process_is_charged_to_it_by_name() {
    let events = [
        switch(0, 10, (1, "worker"), 200, 1, EPOLL, 0),
        woken(102, 1, NET),
        switch(10, 130, (200, "compiler"), 201, 0, 0xffff, 0),
        switch(130, 150, (201, "backup"), 1, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [99, 100, 160, 160, 170, 171]);
    let expected = [
        ("response_to_network", "running", "", 1),
        ("start_to_response", "running", "", 10),
        ("tcp_to_read", "run_queue", "backup", 20),
        ("tcp_to_read", "run_queue", "compiler", 28),
        ("tcp_to_read", "running", "", 10),
        ("tcp_to_read", "wake", "network or disk", 2),
    ];
    assert_eq!(all, expected.map(|(s, c, w, us)| (s, c, w.to_owned(), us)));
}

#[test]
fn a_sleep_ended_by_a_timer_is_charged_to_the_timer() {
    const NANOSLEEP: u16 = 230;
    let events = [
        switch(0, 110, (1, "worker"), 200, 1, NANOSLEEP, 0),
        woken(150, 1, TIMER),
        switch(110, 152, (200, "busy"), 1, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [99, 100, 105, 105, 170, 171]);
    let expected = [
        ("response_to_network", "running", "", 1),
        ("start_to_response", "blocked", "timer", 40),
        ("start_to_response", "run_queue", "busy", 2),
        ("start_to_response", "running", "", 23),
        ("tcp_to_read", "running", "", 5),
    ];
    assert_eq!(all, expected.map(|(s, c, w, us)| (s, c, w.to_owned(), us)));
}

#[test]
fn the_wait_of_a_listener_counts_for_the_worker_it_wakes() {
    let events = [
        switch(0, 10, (1, "worker"), 2, 1, 202, 9),
        switch(10, 20, (2, "listener"), 200, 1, EPOLL, 0),
        woken(100, 2, NET),
        switch(20, 140, (200, "compiler"), 2, 0, 0xffff, 0),
        woken(145, 1, 2),
        switch(140, 148, (2, "listener"), 1, 1, EPOLL, 0),
    ];
    let all = charge_request(&events, [99, 100, 150, 150, 160, 160]);
    let of_read: Vec<_> = all.into_iter().filter(|one| one.0 == "tcp_to_read").collect();
    let expected = [
        ("tcp_to_read", "handed_on", "listener", 5),
        ("tcp_to_read", "run_queue", "compiler", 40),
        ("tcp_to_read", "run_queue", "listener", 3),
        ("tcp_to_read", "running", "", 2),
    ];
    assert_eq!(of_read, expected.map(|(s, c, w, us)| (s, c, w.to_owned(), us)));
}

#[test]
fn locks_faults_and_interrupts_are_distinguished() {
    let softirq = SchedEvent { kind: EventKind::SoftIrq, call: 3, ..switch(122, 125, (1, ""), 0, 0, 3, 0) };
    let events = [
        switch(0, 100, (200, "x"), 1, 0, 0xffff, 0),
        switch(100, 110, (1, "worker"), 2, 1, 202, 0),
        woken(118, 1, 2),
        switch(110, 119, (2, "lru"), 1, 1, 35, 0),
        softirq,
        switch(119, 130, (1, "worker"), 0, 2, 0xffff, 0),
        woken(150, 1, NET),
        switch(130, 151, (0, "swapper"), 1, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [99, 100, 101, 101, 160, 160]);
    let expected = [
        ("start_to_response", "interrupt", "softirq NET_RX", 3),
        ("start_to_response", "lock", "lru", 8),
        ("start_to_response", "page_fault", "network or disk", 20),
        ("start_to_response", "run_queue", "idle", 1),
        ("start_to_response", "run_queue", "lru", 1),
        ("start_to_response", "running", "", 26),
        ("tcp_to_read", "running", "", 1),
    ];
    assert_eq!(all, expected.map(|(s, c, w, us)| (s, c, w.to_owned(), us)));
}

#[test]
fn a_wait_on_two_cpus_is_charged_to_both() {
    let migration = SchedEvent { kind: EventKind::Migrated, ..woken(120, 1, NET) };
    let on_cpu_1 = |m: SchedEvent| SchedEvent { cpu: 1, ..m };
    let events = [
        switch(0, 10, (1, "worker"), 200, 1, EPOLL, 0),
        woken(100, 1, NET),
        migration,
        on_cpu_1(switch(0, 130, (201, "backup"), 1, 0, 0xffff, 0)),
        switch(10, 135, (200, "compiler"), 0, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [99, 100, 131, 131, 132, 132]);
    assert!(all.contains(&("tcp_to_read", "run_queue", "compiler".to_owned(), 20)), "{all:?}");
    assert!(all.contains(&("tcp_to_read", "run_queue", "backup".to_owned(), 10)), "{all:?}");
}

#[test]
fn a_wake_up_counts_as_a_wait_only_from_the_run_queue_on() {
    let events = [
        switch(0, 10, (1, "worker"), 0, 1, EPOLL, 0),
        woken_since(100, 130, 1, NET),
        switch(10, 135, (0, "swapper"), 1, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [99, 100, 136, 136, 137, 137]);
    let of_read: Vec<_> = all.into_iter().filter(|one| one.0 == "tcp_to_read").collect();
    let expected = [
        ("tcp_to_read", "run_queue", "idle", 5),
        ("tcp_to_read", "running", "", 1),
        ("tcp_to_read", "wake", "idle", 30),
    ];
    assert_eq!(of_read, expected.map(|(s, c, w, us)| (s, c, w.to_owned(), us)));
    let mut history = History::default();
    for m in &events {
        history.add(m);
    }
    assert_eq!((history.threads[&1].woken_ns, history.threads[&1].queued_ns), (30_000, 5_000));
}

#[test]
fn a_wake_up_before_the_thread_left_ends_its_sleep_at_once() {
    let events = [
        switch(0, 10, (1, "worker"), 200, 1, EPOLL, 0),
        woken_since(8, 12, 1, NET),
        switch(10, 30, (200, "compiler"), 1, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [9, 10, 31, 31, 32, 32]);
    assert!(all.contains(&("tcp_to_read", "run_queue", "compiler".to_owned(), 18)), "{all:?}");
    assert!(all.contains(&("tcp_to_read", "wake", "compiler".to_owned(), 2)), "{all:?}");
}

#[test]
fn unseen_time_is_not_counted_as_running() {
    // Another process serves, whose threads are not followed yet.
    assert_eq!(
        charge_request(&[], [99, 100, 130, 130, 140, 141])
            .iter()
            .map(|one| (one.1, one.3))
            .collect::<Vec<_>>(),
        [("unseen", 1), ("unseen", 10), ("unseen", 30)]
    );
    // The thread served the request, so it must have run, but that switch is missing.
    let events = [
        switch(0, 10, (1, "worker"), 200, 1, EPOLL, 0),
        switch(10, 20, (200, "compiler"), 201, 0, 0xffff, 0),
    ];
    let all = charge_request(&events, [8, 9, 30, 30, 31, 31]);
    assert!(all.contains(&("tcp_to_read", "unseen", "unknown".to_owned(), 20)), "{all:?}");
    assert!(all.contains(&("tcp_to_read", "running", String::new(), 1)), "{all:?}");
}

#[test]
fn a_known_thread_without_switches_counts_as_running() {
    let mut joiner = Joiner::new();
    joiner.request(&request([0, 1, 2, 2, 3, 3]));
    let later = charges(&joiner.history, joiner.non_threads, &request([10, 11, 12, 12, 13, 13]));
    assert!(later.iter().all(|one| one.cause == Cause::Running), "{later:?}");
}

#[test]
fn the_next_event_shows_what_a_thread_did_at_the_start_of_a_window() {
    let before = switch(0, 10, (1, "worker"), 200, 1, EPOLL, 0);
    let split = |events: &[SchedEvent]| {
        let mut joiner = Joiner::new();
        joiner.event(&before);
        joiner.next_window();
        for m in events {
            joiner.event(m);
        }
        let found =
            charges(&joiner.history, joiner.non_threads, &request([1000, 1001, 1050, 1050, 1060, 1060]));
        let time =
            |cause| found.iter().filter(|one| one.cause == cause).map(|one| one.ns / 1000).sum::<u64>();
        (time(Cause::Wake), time(Cause::RunQueue), time(Cause::Running), time(Cause::Unseen))
    };
    let resumed = |since| switch(since, 1040, (200, "compiler"), 1, 0, 0xffff, 0);
    assert_eq!(split(&[woken(1020, 1, NET), resumed(1000)]), (19, 20, 20, 0), "it slept");
    assert_eq!(split(&[resumed(1000)]), (0, 39, 20, 0), "it waited for the CPU");
    assert_eq!(split(&[]), (0, 0, 59, 0), "it ran");
}

#[test]
fn the_waker_of_a_thread_is_named_or_unknown() {
    let charge_of_waker = |waker| {
        let events = [
            switch(0, 10, (200, "client"), 1, 0, 0xffff, 0),
            switch(10, 20, (1, "worker"), 0, 1, 35, 0),
            woken(50, 1, waker),
            switch(20, 51, (0, "swapper"), 1, 0, 0xffff, 0),
        ];
        let all = charge_request(&events, [9, 10, 11, 11, 60, 60]);
        all.into_iter().find(|one| one.1 == "blocked").unwrap()
    };
    let charged = |name: &str| ("start_to_response", "blocked", name.to_owned(), 30);
    assert_eq!(charge_of_waker(200), charged("client"));
    assert_eq!(charge_of_waker(300), charged("unknown"));
    assert_eq!(charge_of_waker(NET), charged("network or disk"));
}

#[test]
fn the_thread_that_delays_most_is_reported_among_equal_names() {
    let mut joiner = Joiner::new();
    for round in 0..100_u64 {
        let at = round * 10_000;
        // Two threads of another process with PID 7.
        let (thread, waited) = if round % 10 == 0 { (300, 500) } else { (301, 5) };
        let of_7 = |m: SchedEvent| SchedEvent { process: 7, ..m };
        joiner.event(&switch(at, at + 10, (1, "worker"), thread, 1, EPOLL, 0));
        joiner.event(&woken(at + 100, 1, NET));
        joiner.event(&of_7(switch(at + 10, at + 100 + waited, (thread, "pool"), 1, 0, 0xffff, 0)));
        let end = at + 100 + waited;
        joiner.request(&request([at + 99, at + 100, end, end, end + 20, end + 20]));
    }
    let delays = joiner.finish();
    let pool = &delays.culprits[0];
    assert_eq!((pool.name.text.as_str(), pool.requests, pool.threads), ("pool", 100, 2));
    let foremost = pool.foremost.unwrap();
    assert!(foremost.thread == 300 && foremost.share > 0.9, "{foremost:?}");
}

#[test]
fn slow_requests_and_culprits_follow_the_variance() {
    let mut joiner = Joiner::new();
    for round in 0..1000_u64 {
        let at = round * 10_000;
        let waited = if round % 100 == 0 { 500 } else { 5 };
        joiner.event(&switch(at, at + 10, (1, "worker"), 200, 1, EPOLL, 0));
        joiner.event(&woken(at + 100, 1, NET));
        joiner.event(&switch(at + 10, at + 100 + waited, (200, "backup"), 1, 0, 0xffff, 0));
        let end = at + 100 + waited;
        joiner.request(&request([at + 99, at + 100, end, end, end + 20, end + 20]));
    }
    let delays = joiner.finish();
    let first = &delays.culprits[0];
    assert_eq!((first.name.text.as_str(), first.cause, first.requests), ("backup", "run_queue", 1000));
    let slowest = delays.slowest.unwrap();
    assert_eq!((slowest.requests, slowest.above_us), (10, 521.0));
    assert!((slowest.parts[0].mean_us - 500.0).abs() < 1e-9);
}
