//! One FCFS queue with given service times: an open-loop client over real sockets must measure what Lindley's
//! recursion gives for the same arrivals and service times, that is M/D/1 and M/M/1. The test needs two quiet cores
//! for some seconds, so it belongs to the accuracy tests (`tests/accuracy/test_rust_claims.py`), which check for
//! interference.
//!
//! No host is free of interference for a second, so single busy periods are excluded instead of rounds: those with a
//! request that took longer, in the network or in the server, than any fault that this test looks for would cause.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_random::Draws;
use hindmost_synth::{Idle, Running, ServedTotals, Server, ServerConfig, ServiceTime};
use rand::Rng;
use rand_pcg::Pcg64;

const CONNECTIONS: usize = 4;
const MEAN_NS: f64 = 200_000.0;
const REQUESTS: usize = 1_000;
const ROUNDS: u64 = 8;
/// A request that was sent, served or received later than this was disturbed. It is half a service, so that a slightly
/// slower server is measured and not excluded.
const DISTURBED_NS: f64 = 100_000.0;
/// Least share of undisturbed requests. On a quiet host, a tenth is excluded at a load of 0.5 and a quarter at 0.8. If
/// more than half are excluded, the cause is not single disturbances.
const LEAST_UNDISTURBED: f64 = 0.5;
const TOLERANCE: f64 = 0.05;
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// The server's service times, drawn by its rule: request `i` under a seed is the same everywhere.
fn draw_services(seed: u64, count: usize) -> impl Iterator<Item = f64> {
    (0..count as u64).map(move |i| -MEAN_NS * (-Draws::new(seed, i).unit(1)).ln_1p())
}

fn exponential(random: &mut Pcg64, mean: f64) -> f64 {
    let u = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -u.ln() * mean
}

/// A request as the client measured it; times are in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Sample {
    latency: f64,
    send_delay: f64,
}

/// Send a get at each scheduled time over `CONNECTIONS` connections, spinning.
fn measure(server: &Running, scheduled_ns: &[f64]) -> Vec<Sample> {
    let mut clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let stream = TcpStream::connect(server.local_address()).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            (stream, VecDeque::new())
        })
        .collect();
    let clock = MonotonicClock;
    let start = clock.now() + Nanos::from_millis(20);
    let scheduled = |n: usize| start + Nanos(scheduled_ns[n] as u64);
    let (mut sent, mut done) = (0, 0);
    let mut requests = vec![Sample::default(); scheduled_ns.len()];
    let mut chunk = [0; 4096];
    while done < scheduled_ns.len() {
        if sent < scheduled_ns.len() && clock.now() >= scheduled(sent) {
            let (stream, outstanding) = &mut clients[sent % CONNECTIONS];
            requests[sent].send_delay = clock.now().saturating_sub(scheduled(sent)).0 as f64;
            assert_eq!(stream.write(b"get k\r\n").unwrap(), 7);
            outstanding.push_back(sent);
            sent += 1;
        }
        for (stream, outstanding) in &mut clients {
            if outstanding.is_empty() {
                continue;
            }
            match stream.read(&mut chunk) {
                Ok(count) => {
                    assert!(count > 0 && count % 5 == 0, "replies are whole END lines");
                    let now = clock.now();
                    for _ in 0..count / 5 {
                        let request = outstanding.pop_front().unwrap();
                        requests[request].latency = now.saturating_sub(scheduled(request)).0 as f64;
                        done += 1;
                    }
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    }
    requests
}

/// Return the sojourn times of the same requests in an ideal FCFS server.
fn lindley(scheduled_ns: &[f64], service_ns: &[f64]) -> Vec<f64> {
    let mut free_at = 0.0_f64;
    let serve = |(scheduled, service): (&f64, &f64)| {
        free_at = free_at.max(*scheduled) + service;
        free_at - scheduled
    };
    scheduled_ns.iter().zip(service_ns).map(serve).collect()
}

fn quantiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_by(f64::total_cmp);
    QUANTILES.map(|q| values[(q * values.len() as f64) as usize])
}

/// Undisturbed requests of one round: measured latencies, and those of an ideal queue behind `path`.
struct Round {
    found: Vec<f64>,
    expected: Vec<f64>,
    total: ServedTotals,
}

fn spawn(service: ServiceTime, seed: u64) -> Running {
    let idle = Idle::Spin;
    Server::spawn(&ServerConfig { service, seed, idle, cpus: Some(vec![0]), ..ServerConfig::default() })
        .unwrap()
}

/// Return the median latency of a request without service and without queueing.
fn path() -> f64 {
    let scheduled: Vec<f64> = (0..500).map(|i| f64::from(i) * 500_000.0).collect();
    let server = spawn(ServiceTime::Zero, 0);
    quantiles(measure(&server, &scheduled).iter().map(|sample| sample.latency).collect())[0]
}

/// Return measured and ideal latencies of undisturbed busy periods. A busy period starts when both queues are empty,
/// so it does not depend on earlier ones.
fn exclude_disturbed(
    scheduled: &[f64],
    service: &[f64],
    samples: &[Sample],
    path: f64,
) -> (Vec<f64>, Vec<f64>) {
    let ideal: Vec<f64> = lindley(scheduled, service).iter().map(|sojourn| sojourn + path).collect();
    let (mut found, mut expected, mut from, mut is_undisturbed) = (Vec::new(), Vec::new(), 0, true);
    let (mut done, mut ideal_done) = (0.0_f64, 0.0_f64);
    for i in 0..scheduled.len() {
        if scheduled[i] > done.max(ideal_done) {
            if is_undisturbed {
                found.extend(samples[from..i].iter().map(|sample| sample.latency));
                expected.extend_from_slice(&ideal[from..i]);
            }
            (from, is_undisturbed) = (i, true);
        }
        let excess = scheduled[i] + samples[i].latency - done.max(scheduled[i] + path) - service[i];
        is_undisturbed &= excess.abs().max(samples[i].send_delay) < DISTURBED_NS;
        (done, ideal_done) = (scheduled[i] + samples[i].latency, scheduled[i] + ideal[i]);
    }
    (found, expected)
}

fn round(service: ServiceTime, load: f64, seed: u64, path: f64) -> Round {
    // The last round used both cores fully: let the rest of the host catch up.
    std::thread::sleep(Duration::from_millis(100));
    let server = spawn(service, seed);
    let mut arrivals = Pcg64::new(u128::from(seed), 99);
    let mut time = 0.0;
    let scheduled: Vec<f64> = (0..REQUESTS)
        .map(|_| {
            time += exponential(&mut arrivals, MEAN_NS / load);
            time
        })
        .collect();
    let service_ns: Vec<f64> = match service {
        ServiceTime::Exponential { .. } => draw_services(seed, REQUESTS).collect(),
        _ => vec![MEAN_NS; REQUESTS],
    };
    let answers = measure(&server, &scheduled);
    let total = server.stop().unwrap().total;
    let (found, expected) = exclude_disturbed(&scheduled, &service_ns, &answers, path);
    Round { found, expected, total }
}

#[test]
#[ignore = "precision"]
#[expect(clippy::print_stderr, reason = "the figures are the point")]
fn sojourn_times_agree_with_queueing_theory() {
    let mean_us = MEAN_NS / 1e3;
    let path = path();
    let mut wrong = Vec::new();
    for (name, service) in
        [("M/D/1", ServiceTime::Deterministic { mean_us }), ("M/M/1", ServiceTime::Exponential { mean_us })]
    {
        for load in [0.5, 0.8] {
            let rounds: Vec<Round> = (0..ROUNDS).map(|seed| round(service, load, seed, path)).collect();
            let found: Vec<f64> = rounds.iter().flat_map(|round| round.found.clone()).collect();
            let expected: Vec<f64> = rounds.iter().flat_map(|round| round.expected.clone()).collect();
            let share = found.len() as f64 / (ROUNDS as usize * REQUESTS) as f64;
            if share < LEAST_UNDISTURBED {
                eprintln!("{name} at {load}: only {:.0} % of the requests were undisturbed", 100.0 * share);
                wrong.push(name);
                continue;
            }
            let (found, expected) = (quantiles(found), quantiles(expected));
            let worst = found.iter().zip(&expected).map(|(f, e)| (f / e - 1.0).abs()).fold(0.0, f64::max);
            let mean = |figure: fn(&ServedTotals) -> f64| {
                rounds.iter().map(|round| figure(&round.total)).sum::<f64>() / rounds.len() as f64 / 1e3
            };
            eprintln!(
                "{name} at {load}: p50, p90, p95, p99 {:.1?} µs, expected {:.1?} µs, largest difference {:.2} %; \
                 path {:.1} µs, service drawn {:.3} µs, achieved {:.3} µs; {:.0} % undisturbed",
                found.map(|ns| ns / 1e3),
                expected.map(|ns| ns / 1e3),
                worst * 100.0,
                path / 1e3,
                mean(ServedTotals::mean_drawn_ns),
                mean(ServedTotals::mean_achieved_ns),
                100.0 * share,
            );
            if worst >= TOLERANCE {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "off: {wrong:?}");
}
