//! Questions and answers as JSON text: one coarse call each, whoever asks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::HarvestError;
use crate::grid::Tenant;
use crate::jobs::{learn_thresholds, Run, Thresholds};
use crate::place::{Choice, Placer, Rules};
use crate::select::{select, Job, Room, Weights};
use crate::sequence::Sequence;
use crate::simulate::{self, World};
use crate::Class;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    rooms: Vec<Room>,
    jobs: Vec<Job>,
    #[serde(default)]
    weights: Weights,
    seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Learning {
    runs: Vec<Run>,
    classes: Vec<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placement {
    tenants: Vec<Tenant>,
    #[serde(default)]
    rules: Rules,
    replicas: usize,
    /// The server that writes each block, if it is one of them.
    writers: Vec<Option<u32>>,
    /// The rack of each server; empty where racks are not known.
    #[serde(default)]
    racks: Vec<u32>,
    /// What a replica takes of its tenant's space; 0: space is not counted.
    #[serde(default)]
    block_space: f64,
    seed: u64,
}

#[derive(Serialize)]
struct Placements {
    blocks: Vec<Placed>,
    /// The cell of each tenant's servers.
    cells: Vec<Option<u8>>,
}

#[derive(Serialize)]
struct Placed {
    servers: Vec<u32>,
    level: u8,
}

/// Answers a question of a kind: `select`, `thresholds`, `place`, `golden`; a simulator's name.
pub fn answer(kind: &str, document: &str) -> Result<String, HarvestError> {
    let value = match kind {
        "select" => {
            let asked: Selection = read(document)?;
            let mut random = Sequence::new(asked.seed);
            let found: Result<Vec<_>, _> =
                asked.jobs.iter().map(|job| select(job, &asked.rooms, &asked.weights, &mut random)).collect();
            json!({ "classes": found? })
        }
        "thresholds" => {
            let asked: Learning = read(document)?;
            let found: Option<Thresholds> = learn_thresholds(&asked.runs, &asked.classes);
            json!({ "thresholds": found })
        }
        "place" => {
            let asked: Placement = read(document)?;
            if !(asked.block_space.is_finite() && asked.block_space >= 0.0) {
                let (what, range) = ("block space", "0 and above");
                return Err(HarvestError::Range { what, found: asked.block_space, range });
            }
            // Replicas that a tenant has room for; a quotient that rounding made too small by its last digit counts.
            let count = |space: f64| (space / asked.block_space * (1.0 + 1e-12)).floor();
            let most_of = |space| if asked.block_space > 0.0 { count(space) } else { f64::INFINITY };
            let mut left: Vec<f64> = asked.tenants.iter().map(|tenant| most_of(tenant.space)).collect();
            let placer = Placer::new(asked.tenants, asked.rules)?;
            let mut random = Sequence::new(asked.seed);
            let most = most_per_rack(asked.replicas, &asked.racks);
            let blocks: Vec<Placed> = asked
                .writers
                .iter()
                .map(|&writer| {
                    let room = |server: u32| {
                        placer.tenant_of(server).is_some_and(|tenant| left[tenant as usize] >= 1.0)
                    };
                    let fits = |server: u32, present: &[u32]| {
                        let rack = |server: u32| asked.racks.get(server as usize);
                        let same = |&&other: &&u32| rack(server).is_some() && rack(other) == rack(server);
                        room(server) && present.iter().filter(same).count() < most
                    };
                    let block = placed(
                        &placer,
                        writer.filter(|&server| room(server)),
                        asked.replicas,
                        &mut random,
                        fits,
                    );
                    for tenant in block.servers.iter().filter_map(|&server| placer.tenant_of(server)) {
                        left[tenant as usize] -= 1.0;
                    }
                    block
                })
                .collect();
            let cells: Vec<Option<u8>> =
                placer.tenants().iter().map(|t| t.servers.first().and_then(|&s| placer.cell_of(s))).collect();
            // Written at once: as a `Value`, each block would take some 700 bytes.
            return serde_json::to_string(&Placements { blocks, cells })
                .map_err(|error| HarvestError::Unreadable(error.to_string()));
        }
        "durability" | "hazard" | "availability" | "scheduling" => {
            let Of { center } = read(document)?;
            return simulated(kind, document, World::synthetic(&center));
        }
        "center" => json!(simulate::Center::published(read(document)?)),
        "golden" => json!({ "text": crate::golden::vectors() }),
        _ => return Err(HarvestError::Unreadable(format!("no kind of question is called {kind}"))),
    };
    Ok(value.to_string())
}

/// Answers a question to a simulator about servers as they were recorded: `inventory` is who they are.
pub fn replay(
    kind: &str,
    document: &str,
    inventory: &str,
    traces: simulate::Traces,
) -> Result<String, HarvestError> {
    let Of { center } = read(document)?;
    simulated(kind, document, World::recorded(&center, read(inventory)?, traces)?)
}

/// A simulator's answer about a data center.
fn simulated(kind: &str, document: &str, world: World) -> Result<String, HarvestError> {
    let value = match kind {
        "durability" => json!(simulate::durability(&world, &read(document)?)?.0),
        "hazard" => json!(simulate::hazard(&world, &read(document)?)?),
        "availability" => json!(simulate::availability(world, &read(document)?)?),
        "scheduling" => json!(simulate::scheduling(&world, &read(document)?)?),
        _ => return Err(HarvestError::Unreadable(format!("no simulator is called {kind}"))),
    };
    Ok(value.to_string())
}

/// The data center of any simulation.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Of {
    center: simulate::Center,
}

fn read<'a, T: Deserialize<'a>>(document: &'a str) -> Result<T, HarvestError> {
    serde_json::from_str(document).map_err(|error| HarvestError::Unreadable(error.to_string()))
}

/// How many replicas of a block a rack may have, as stock HDFS has it: two racks, where there are two.
fn most_per_rack(replicas: usize, racks: &[u32]) -> usize {
    let count = racks.iter().collect::<BTreeSet<_>>().len();
    if count <= 1 || replicas <= 1 {
        return replicas;
    }
    let most = (replicas - 1) / count + 2;
    if most == replicas {
        most - 1
    } else {
        most
    }
}

/// All replicas of a new block, the first at its writer where that is a server of ours; fewer where servers end.
/// A server must fit beside the replicas that there are.
fn placed(
    placer: &Placer,
    writer: Option<u32>,
    replicas: usize,
    random: &mut Sequence,
    fits: impl Fn(u32, &[u32]) -> bool,
) -> Placed {
    let mut servers: Vec<u32> = writer.into_iter().collect();
    let mut worst = 0;
    while servers.len() < replicas {
        let Some(Choice { server, level }) =
            placer.choose(&servers, false, random, |server| fits(server, &servers))
        else {
            break;
        };
        servers.push(server);
        worst = worst.max(level);
    }
    Placed { servers, level: worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(blocks: usize, block_space: f64, racks: &[u32]) -> Vec<Vec<u32>> {
        let tenants: Vec<_> = (0..12)
            .map(|i| json!({"environment": i, "reimages": i % 4, "peak": i % 3, "space": 10 + i, "servers": [i]}))
            .collect();
        let asked = json!({"tenants": tenants, "replicas": 3, "writers": vec![None::<u32>; blocks], "racks": racks,
            "block_space": block_space, "seed": 1});
        let found: serde_json::Value =
            serde_json::from_str(&answer("place", &asked.to_string()).unwrap()).unwrap();
        serde_json::from_value(json!(found["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| &b["servers"])
            .collect::<Vec<_>>()))
        .unwrap()
    }

    #[test]
    fn no_block_is_in_one_rack() {
        let racks = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2];
        for block in place(3000, 0.0, &racks) {
            let used: BTreeSet<u32> = block.iter().map(|&server| racks[server as usize]).collect();
            assert!(block.len() == 3 && used.len() >= 2, "{block:?}");
        }
        let one_rack = |blocks: Vec<Vec<u32>>| blocks.iter().filter(|b| b.iter().all(|&s| s < 9)).count();
        assert!(one_rack(place(3000, 0.0, &[])) > 100, "without racks, many are");
        assert_eq!([1, 2, 3, 4, 6].map(|n| most_per_rack(n, &[0, 1])), [1, 1, 2, 3, 4]);
        assert_eq!(most_per_rack(3, &[5, 5]), 3);
    }

    #[test]
    fn a_full_tenant_gets_no_replica_and_none_is_left_out_while_there_is_space() {
        let count =
            |blocks: &[Vec<u32>], server| blocks.iter().flatten().filter(|&&one| one == server).count();
        let blocks = place(60, 1.0, &[]); // of 186
        for server in 0..12_u32 {
            assert!(count(&blocks, server) <= 10 + server as usize);
        }
        assert!(place(30, 1.0, &[]).iter().all(|block| block.len() == 3));
        assert_eq!(
            place(1000, 2.5, &[]).iter().map(Vec::len).sum::<usize>(),
            (10..22).map(|s| s * 2 / 5).sum::<usize>()
        );
        assert_eq!(
            place(2000, 0.1, &[]).iter().map(Vec::len).sum::<usize>(),
            (10..22).map(|s| s * 10).sum::<usize>()
        );
        assert!(count(&place(1000, 0.0, &[]), 0) > 10, "space does not count where a replica takes none");
    }
}
