//! Runs the readers against the real `/proc` and `/sys` of the machine. The assertions must hold in a container, in
//! a virtual machine and on bare metal.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use hindmost_host::counters::{
    CpuTimes, Interrupts, Neighbours, ProcessCpu, ServerQueues, TcpCounters, ThreadCounters,
};
use hindmost_host::noise::Noise;
use hindmost_host::{doctor, HostFacts, Topology, Tree};

fn host() -> Tree {
    Tree::new("/")
}

#[test]
fn this_host_has_a_kernel_and_a_cpu_for_us() {
    let facts = HostFacts::read(&host());
    assert!(facts.kernel.is_some());
    assert!(!facts.cpus_allowed.is_empty());
    assert!(facts.cpus_online >= 1 && facts.cores >= 1 && facts.sockets >= 1);
    assert!(facts.clock_resolution_ns >= 1);
}

#[test]
fn every_online_cpu_is_its_own_sibling() {
    let topology = Topology::read(&host());
    assert!(!topology.cpus.is_empty());
    for cpu in &topology.cpus {
        assert!(cpu.siblings.contains(&cpu.id), "{cpu:?}");
    }
    assert!(topology.cores() <= topology.cpus.len());
}

#[test]
fn counters_never_go_back() {
    let (cpus, tcp, thread) =
        (CpuTimes::read(&host()), TcpCounters::read(&host()), ThreadCounters::read_self());
    std::thread::sleep(Duration::from_millis(20));
    let span = CpuTimes::read(&host()).since(&cpus);
    assert!(span.cpus.iter().all(|cpu| (0.0..=1.0).contains(&cpu.steal_share())));
    if let Some((now, then)) = TcpCounters::read(&host()).zip(tcp) {
        assert!(now.retransmits >= then.retransmits);
    }
    let slept = ThreadCounters::read_self().since(&thread);
    assert!(slept.wall_ns >= 20_000_000);
    assert!(slept.cpu_ns <= slept.wall_ns);
}

#[test]
fn this_process_belongs_to_its_own_family() {
    let pid = std::process::id();
    let alone = ProcessCpu::read(&host(), pid).unwrap();
    let family = ProcessCpu::read_family(&host(), pid).unwrap();
    assert!(family.cpu_time() >= alone.cpu_time());
    let share = family.share_since(&alone).unwrap();
    assert!(share >= 0.0);
    assert_eq!(ProcessCpu::read(&host(), u32::MAX), None);
}

#[test]
fn measuring_noise_leaves_the_callers_affinity_and_timers_alone() {
    let before = HostFacts::read(&host());
    let noise = Noise::measure(&before.cpus_allowed, Duration::from_millis(20));
    let after = HostFacts::read(&host());
    assert_eq!(after.cpus_allowed, before.cpus_allowed);
    assert_eq!(after.timer_slack_ns, before.timer_slack_ns);
    assert!(!noise.floors.is_empty());
    for floor in &noise.floors {
        assert!(floor.read_cost_ns > 0.0);
        assert!((0.0..=1.0).contains(&floor.gaps.stolen_share));
        assert!(floor.gaps.delay_p99_ns <= floor.gaps.delay_p999_ns);
        assert!(floor.gaps.delay_p999_ns <= floor.gaps.largest_ns);
    }
    let late = noise.oversleep.unwrap();
    assert!(late.p50_ns <= late.p99_ns);
}

#[test]
fn noise_is_measured_without_pinning_if_the_cpu_does_not_exist() {
    let noise = Noise::measure(&[1_000_000], Duration::from_millis(1));
    assert!(noise.floors.iter().all(|floor| !floor.pinned));
    assert!(Noise::measure(&[], Duration::from_millis(1)).floors.is_empty());
}

#[test]
fn a_diagnosis_of_this_host_is_json() {
    let checkup = doctor::examine(&host(), Duration::from_millis(20), None);
    let json = serde_json::to_value(&checkup).unwrap();
    assert!(json["findings"].as_array().unwrap().len() >= 10);
    assert_eq!(json["noise"]["floors"][0]["cpu"], checkup.facts.cpus_allowed[0]);
}

#[test]
fn a_spinning_process_on_our_cpus_is_named_with_its_time() {
    let cpus = HostFacts::read(&host()).cpus_allowed;
    let before = Neighbours::read(&host(), std::process::id());
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    // Wait until it has had a time slice that the scheduler has booked.
    let neighbourhood = loop {
        std::thread::sleep(Duration::from_millis(20));
        let seen = Neighbours::read(&host(), std::process::id()).since(&host(), &before, &cpus);
        if seen.named.iter().any(|one| one.pid == busy.id() && one.turns > 0) {
            break seen;
        }
    };
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert!(
        neighbourhood.named.iter().all(|one| one.pid != std::process::id()),
        "our own process is excluded"
    );
    assert!(neighbourhood.forks.is_some_and(|forks| forks >= 1));
    let named = neighbourhood.named.iter().find(|one| one.pid == busy.id()).unwrap();
    assert!(named.bound, "all CPUs were selected: {named:?}");
}

#[test]
fn interrupts_of_all_cpus_grow() {
    let cpus = HostFacts::read(&host()).cpus_allowed;
    let before = Interrupts::read(&host());
    std::thread::sleep(Duration::from_millis(50));
    let span = Interrupts::read(&host()).since(&before, &cpus);
    let total: u64 = span.hard.iter().map(|one| one.count).sum();
    assert!(total <= span.hard_total);
    assert!(span.hard.windows(2).all(|pair| pair[0].count >= pair[1].count));
}

#[test]
fn connections_waiting_to_be_accepted_are_counted_by_port() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let read = || ServerQueues::read(&host(), address.port(), Some(std::process::id())).unwrap();
    assert_eq!(read(), ServerQueues::default());
    let waiting = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
    // A connection is ready for the client before its last packet reaches the listener.
    let begun = Instant::now();
    while read().accept < 2 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((read().accept, read().connections), (2, 2));
    drop(waiting);
}
