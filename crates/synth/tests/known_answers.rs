//! One FCFS queue, service times as asked: what an open-loop client measures through real sockets is
//! what Lindley's recursion says about the same due times and the same drawn times, and that is M/D/1
//! and M/M/1. Needs two quiet cores for some seconds: a claim of the ring of precision (`make precision`), which looks
//! whether the host was calm.

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
/// Short rounds, so that the host leaves some of them alone.
const REQUESTS: usize = 1_000;
const ROUNDS: u64 = 25;
/// A late send, a pause or an overrun beyond this says that the host was busy with something else.
const DISTURBED_NS: f64 = 150_000.0;
/// Of a calm host's rounds at least so many are without a disturbance.
const LEAST_GOOD: usize = 5;
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// The server's own service times, by its own rule: request `i` under a seed is the same everywhere.
fn drawn(seed: u64, count: usize) -> impl Iterator<Item = f64> {
    (0..count as u64).map(move |i| -MEAN_NS * (-Draws::of(seed, i).unit(1)).ln_1p())
}

fn exponential(random: &mut Pcg64, mean: f64) -> f64 {
    let u = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    -u.ln() * mean
}

/// One request as the client saw it; nanoseconds.
#[derive(Clone, Copy, Default)]
struct Seen {
    latency: f64,
    slip: f64,
    /// Longest pause of the client so far: it looks for replies all the time, unless it is kept from it.
    pause: f64,
}

/// Sends a get at each due time over `CONNECTIONS` connections, spinning.
fn measure(server: &Running, due_ns: &[f64]) -> Vec<Seen> {
    let mut clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let stream = TcpStream::connect(server.local_address()).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            (stream, VecDeque::new())
        })
        .collect();
    let clock = MonotonicClock;
    let began = clock.now() + Nanos::from_millis(20);
    let due = |n: usize| began + Nanos(due_ns[n] as u64);
    let (mut sent, mut done) = (0, 0);
    let mut requests = vec![Seen::default(); due_ns.len()];
    let mut chunk = [0; 4096];
    let (mut last, mut pause) = (clock.now(), 0.0_f64);
    while done < due_ns.len() {
        let moment = clock.now();
        pause = pause.max((moment - last).0 as f64);
        last = moment;
        if sent < due_ns.len() && clock.now() >= due(sent) {
            let (stream, outstanding) = &mut clients[sent % CONNECTIONS];
            requests[sent].slip = clock.now().saturating_sub(due(sent)).0 as f64;
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
                    assert!(count > 0 && count % 5 == 0, "whole END lines");
                    let now = clock.now();
                    for _ in 0..count / 5 {
                        let request = outstanding.pop_front().unwrap();
                        requests[request].latency = now.saturating_sub(due(request)).0 as f64;
                        requests[request].pause = pause;
                        done += 1;
                    }
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    }
    requests
}

/// Sojourn times of the same requests in an ideal FCFS server.
fn lindley(due_ns: &[f64], service_ns: &[f64]) -> Vec<f64> {
    let mut free_at = 0.0_f64;
    let serve = |(due, service): (&f64, &f64)| {
        free_at = free_at.max(*due) + service;
        free_at - due
    };
    due_ns.iter().zip(service_ns).map(serve).collect()
}

fn quantiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_by(f64::total_cmp);
    QUANTILES.map(|q| values[(q * values.len() as f64) as usize])
}

/// What one short round found beside what it should have.
struct Round {
    found: Vec<f64>,
    expected: Vec<f64>,
    total: ServedTotals,
    undisturbed: bool,
}

fn round(service: ServiceTime, load: f64, seed: u64) -> Round {
    // Both cores were fully used in the round before: let the rest of the host catch up.
    std::thread::sleep(Duration::from_millis(150));
    let idle = Idle::Spin;
    let config = ServerConfig { service, seed, idle, cpus: Some(vec![0]), ..ServerConfig::default() };
    let server = Server::spawn(&config).unwrap();
    let mut arrivals = Pcg64::new(u128::from(seed), 99);
    let mut moment = 0.0;
    let due: Vec<f64> = (0..REQUESTS)
        .map(|_| {
            moment += exponential(&mut arrivals, MEAN_NS / load);
            moment
        })
        .collect();
    let drawn: Vec<f64> = match service {
        ServiceTime::Exponential { .. } => drawn(seed, REQUESTS).collect(),
        _ => vec![MEAN_NS; REQUESTS],
    };
    let requests = measure(&server, &due);
    let total = server.stop().unwrap().total;
    let late = |seen: &Seen| seen.slip.max(seen.pause);
    let client_ns = requests.iter().map(late).fold(0.0, f64::max);
    Round {
        found: requests.iter().map(|request| request.latency).collect(),
        expected: lindley(&due, &drawn),
        total,
        undisturbed: client_ns < DISTURBED_NS && (total.worst_overrun_ns as f64) < DISTURBED_NS,
    }
}

#[test]
#[ignore = "precision"]
#[expect(clippy::print_stderr, reason = "the figures are the point")]
fn sojourn_times_are_those_of_queueing_theory() {
    let mean_us = MEAN_NS / 1e3;
    for (name, service) in
        [("M/D/1", ServiceTime::Deterministic { mean_us }), ("M/M/1", ServiceTime::Exponential { mean_us })]
    {
        for load in [0.5, 0.8] {
            let rounds: Vec<Round> = (0..ROUNDS).map(|seed| round(service, load, seed)).collect();
            let good: Vec<&Round> = rounds.iter().filter(|round| round.undisturbed).collect();
            assert!(
                good.len() >= LEAST_GOOD,
                "{name} at {load}: only {} of {ROUNDS} rounds were undisturbed",
                good.len()
            );
            let expected = quantiles(good.iter().flat_map(|round| round.expected.clone()).collect());
            let found = quantiles(good.iter().flat_map(|round| round.found.clone()).collect());
            let worst = found.iter().zip(&expected).map(|(f, e)| (f / e - 1.0).abs()).fold(0.0, f64::max);
            let mean = |of: fn(&ServedTotals) -> f64| {
                good.iter().map(|round| of(&round.total)).sum::<f64>() / good.len() as f64 / 1e3
            };
            eprintln!(
                "{name} at {load}: p50, p90, p95, p99 found {:.1?} us, expected {:.1?} us, off by up to {:.2} %; \
                 service drawn {:.3} us, achieved {:.3} us; {} of {ROUNDS} rounds undisturbed",
                found.map(|ns| ns / 1e3),
                expected.map(|ns| ns / 1e3),
                worst * 100.0,
                mean(ServedTotals::mean_drawn_ns),
                mean(ServedTotals::mean_achieved_ns),
                good.len(),
            );
            // The path through the kernel and back comes on top of the sojourn time.
            assert!(worst < 0.10, "{name} at {load}: off by {worst}");
        }
    }
}
