//! Queries and replies as JSON text: one call into the crate per query.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::HarvestError;
use crate::grid::Tenant;
use crate::jobs::{learn_thresholds, Run, Thresholds};
use crate::place::{Choice, Placer, Rules};
use crate::select::{select, ClassState, Job, Weights};
use crate::sequence::Sequence;
use crate::simulate::{self, World};
use crate::Class;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    rooms: Vec<ClassState>,
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
    /// The server that writes each block, or None if the writer is not one of the tenants' servers.
    writers: Vec<Option<u32>>,
    /// The rack of each server; empty if the racks are unknown.
    #[serde(default)]
    racks: Vec<u32>,
    /// Space that a replica uses, in the unit of the tenants' space; 0 disables the accounting of space.
    #[serde(default)]
    block_space: f64,
    seed: u64,
}

#[derive(Serialize)]
struct Placements {
    blocks: Vec<PlacedBlock>,
    /// The cell of each tenant's servers.
    cells: Vec<Option<u8>>,
}

#[derive(Serialize)]
struct PlacedBlock {
    servers: Vec<u32>,
    level: u8,
}

/// Answer a query. `kind` is `select`, `thresholds`, `place`, `center`, `golden` or the name of a simulator.
pub fn answer(kind: &str, document: &str) -> Result<String, HarvestError> {
    let value = match kind {
        "select" => {
            let query: Selection = read(document)?;
            let mut random = Sequence::new(query.seed);
            let selections: Result<Vec<_>, _> =
                query.jobs.iter().map(|job| select(job, &query.rooms, &query.weights, &mut random)).collect();
            json!({ "classes": selections? })
        }
        "thresholds" => {
            let query: Learning = read(document)?;
            let thresholds: Option<Thresholds> = learn_thresholds(&query.runs, &query.classes);
            json!({ "thresholds": thresholds })
        }
        "place" => {
            let query: Placement = read(document)?;
            if !(query.block_space.is_finite() && query.block_space >= 0.0) {
                let (name, range) = ("block space", "0 and above");
                return Err(HarvestError::Range { name, value: query.block_space, range });
            }
            // Number of replicas that fit in a space. The tolerance accepts a quotient that rounding made
            // slightly too small.
            let count = |space: f64| (space / query.block_space * (1.0 + 1e-12)).floor();
            let capacity = |space| if query.block_space > 0.0 { count(space) } else { f64::INFINITY };
            let mut free_replicas: Vec<f64> =
                query.tenants.iter().map(|tenant| capacity(tenant.space)).collect();
            let placer = Placer::new(query.tenants, query.rules)?;
            let mut random = Sequence::new(query.seed);
            let most = most_per_rack(query.replicas, &query.racks);
            let blocks: Vec<PlacedBlock> = query
                .writers
                .iter()
                .map(|&writer| {
                    let has_space = |server: u32| {
                        placer.tenant_of(server).is_some_and(|tenant| free_replicas[tenant as usize] >= 1.0)
                    };
                    let fits = |server: u32, present: &[u32]| {
                        let rack = |server: u32| query.racks.get(server as usize);
                        let same = |&&other: &&u32| rack(server).is_some() && rack(other) == rack(server);
                        has_space(server) && present.iter().filter(same).count() < most
                    };
                    let block = place_block(
                        &placer,
                        writer.filter(|&server| has_space(server)),
                        query.replicas,
                        &mut random,
                        fits,
                    );
                    for tenant in block.servers.iter().filter_map(|&server| placer.tenant_of(server)) {
                        free_replicas[tenant as usize] -= 1.0;
                    }
                    block
                })
                .collect();
            let cells: Vec<Option<u8>> =
                placer.tenants().iter().map(|t| t.servers.first().and_then(|&s| placer.cell_of(s))).collect();
            // Serialise directly: as a `Value`, each block would take about 700 bytes.
            return serde_json::to_string(&Placements { blocks, cells })
                .map_err(|error| HarvestError::Unreadable(error.to_string()));
        }
        "durability" | "hazard" | "availability" | "scheduling" => {
            let CenterQuery { center } = read(document)?;
            return run_simulator(kind, document, World::synthetic(&center));
        }
        "center" => json!(simulate::Center::like_published(read(document)?)),
        "golden" => json!({ "text": crate::golden::vectors() }),
        _ => return Err(HarvestError::Unreadable(format!("unknown kind of query: {kind}"))),
    };
    Ok(value.to_string())
}

/// Run a simulator on recorded traces. `inventory` lists the recorded tenants and servers.
pub fn replay(
    kind: &str,
    document: &str,
    inventory: &str,
    traces: simulate::Traces,
) -> Result<String, HarvestError> {
    let CenterQuery { center } = read(document)?;
    run_simulator(kind, document, World::recorded(&center, read(inventory)?, traces)?)
}

/// Run a simulator on a data center.
fn run_simulator(kind: &str, document: &str, world: World) -> Result<String, HarvestError> {
    let value = match kind {
        "durability" => json!(simulate::durability(&world, &read(document)?)?.0),
        "hazard" => json!(simulate::hazard(&world, &read(document)?)?),
        "availability" => json!(simulate::availability(world, &read(document)?)?),
        "scheduling" => json!(simulate::scheduling(&world, &read(document)?)?),
        _ => return Err(HarvestError::Unreadable(format!("unknown simulator: {kind}"))),
    };
    Ok(value.to_string())
}

/// The field that every simulation query has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CenterQuery {
    center: simulate::Center,
}

fn read<'a, T: Deserialize<'a>>(document: &'a str) -> Result<T, HarvestError> {
    serde_json::from_str(document).map_err(|error| HarvestError::Unreadable(error.to_string()))
}

/// Return how many replicas of a block one rack may hold. Like stock HDFS, use at least two racks where there
/// are two.
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

/// Place all replicas of a new block: the first on the writer if it is one of our servers. Return fewer if no
/// server is left. `fits` decides whether a server may join the replicas placed so far.
fn place_block(
    placer: &Placer,
    writer: Option<u32>,
    replicas: usize,
    random: &mut Sequence,
    fits: impl Fn(u32, &[u32]) -> bool,
) -> PlacedBlock {
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
    PlacedBlock { servers, level: worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(blocks: usize, block_space: f64, racks: &[u32]) -> Vec<Vec<u32>> {
        let tenants: Vec<_> = (0..12)
            .map(|i| json!({"environment": i, "reimages": i % 4, "peak": i % 3, "space": 10 + i, "servers": [i]}))
            .collect();
        let query = json!({"tenants": tenants, "replicas": 3, "writers": vec![None::<u32>; blocks], "racks": racks,
            "block_space": block_space, "seed": 1});
        let answer: serde_json::Value =
            serde_json::from_str(&answer("place", &query.to_string()).unwrap()).unwrap();
        serde_json::from_value(json!(answer["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| &b["servers"])
            .collect::<Vec<_>>()))
        .unwrap()
    }

    #[test]
    fn replicas_of_a_block_use_at_least_two_racks() {
        let racks = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2];
        for block in place(3000, 0.0, &racks) {
            let used: BTreeSet<u32> = block.iter().map(|&server| racks[server as usize]).collect();
            assert!(block.len() == 3 && used.len() >= 2, "{block:?}");
        }
        let one_rack = |blocks: Vec<Vec<u32>>| blocks.iter().filter(|b| b.iter().all(|&s| s < 9)).count();
        assert!(one_rack(place(3000, 0.0, &[])) > 100, "many blocks share a rack if racks are unknown");
        assert_eq!([1, 2, 3, 4, 6].map(|n| most_per_rack(n, &[0, 1])), [1, 1, 2, 3, 4]);
        assert_eq!(most_per_rack(3, &[5, 5]), 3);
    }

    #[test]
    fn all_space_is_used_and_no_tenant_is_overfilled() {
        let count =
            |blocks: &[Vec<u32>], server| blocks.iter().flatten().filter(|&&one| one == server).count();
        let blocks = place(60, 1.0, &[]); // 186 replicas fit
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
        assert!(count(&place(1000, 0.0, &[]), 0) > 10, "a block space of 0 disables the limit");
    }
}
