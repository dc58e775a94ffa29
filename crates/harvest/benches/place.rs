//! Benchmark of block placement: `cargo bench -p hindmost-harvest --bench place`. It times the creation of a
//! block of three replicas and the repair of one replica. Compare the ratios; the nanoseconds depend on the
//! machine.
#![allow(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::hint::black_box;
use std::time::Instant;

use hindmost_harvest::simulate::{Center, World};
use hindmost_harvest::{Placer, Repair, Rules, Sequence, Weigh};

const BLOCKS: usize = 200_000;
const ROUNDS: usize = 9;

/// Return the nanoseconds per created block and per repaired replica.
fn cost(placer: &Placer, servers: usize) -> [f64; 2] {
    let mut random = Sequence::new(1);
    let mut blocks = vec![[0_u32; 3]; BLOCKS];
    let start = Instant::now();
    for block in &mut blocks {
        for at in 0..3 {
            let choice =
                placer.choose(&block[..at], false, &mut random, |server| (server as usize) < servers);
            block[at] = choice.expect("a server of thousands").server;
        }
    }
    let created = start.elapsed();
    let start = Instant::now();
    for block in &blocks {
        black_box(placer.choose(&block[..2], true, &mut random, |server| (server as usize) < servers));
    }
    [created, start.elapsed()].map(|elapsed| elapsed.as_nanos() as f64 / BLOCKS as f64)
}

fn main() {
    let world = World::synthetic(&Center { servers: 5000, tenants: 520, ..Center::default() });
    let rules = |grid, weigh, repair| Rules { grid, weigh, repair, soft: true };
    let contenders = [
        ("three environments", rules(false, Weigh::Tenants, Repair::Row)),
        ("the grid, equal tenants", rules(true, Weigh::Tenants, Repair::Strict)),
        ("the grid by space", rules(true, Weigh::Space, Repair::Strict)),
        ("the cost-aware grid by space", rules(true, Weigh::Space, Repair::Row)),
    ];
    let placers = contenders
        .map(|(name, rules)| (name, Placer::new(world.tenants.clone(), rules).expect("synthetic tenants")));
    println!("5,000 servers, 520 tenants, {BLOCKS} blocks; ns, median of {ROUNDS} rounds [least, most]");
    println!("{:<30}{:>28}{:>28}", "", "a block of 3 replicas", "a replica repaired");
    let mut rounds = vec![Vec::new(); placers.len()];
    for _ in 0..ROUNDS {
        for ((_, placer), costs) in placers.iter().zip(&mut rounds) {
            costs.push(cost(placer, world.rack_of.len()));
        }
    }
    for ((name, _), costs) in placers.iter().zip(&rounds) {
        let columns = [0, 1].map(|column| {
            let mut all: Vec<f64> = costs.iter().map(|round| round[column]).collect();
            all.sort_by(f64::total_cmp);
            let (least, most) = (all[0], all[ROUNDS - 1]);
            format!("{:>10.0} [{least:>5.0}, {most:>7.0}]", all[ROUNDS / 2])
        });
        println!("{name:<30}{:>28}{:>28}", columns[0], columns[1]);
    }
}
