//! Questions and answers as JSON text: one coarse call each, whoever asks.

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
    seed: u64,
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
            let placer = Placer::new(asked.tenants, asked.rules)?;
            let mut random = Sequence::new(asked.seed);
            let blocks: Vec<Placed> = asked
                .writers
                .iter()
                .map(|&writer| placed(&placer, writer, asked.replicas, &mut random))
                .collect();
            let cells: Vec<Option<u8>> =
                placer.tenants().iter().map(|t| t.servers.first().and_then(|&s| placer.cell_of(s))).collect();
            json!({ "blocks": blocks, "cells": cells })
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

/// All replicas of a new block, the first at its writer where that is a server of ours; fewer where servers end.
fn placed(placer: &Placer, writer: Option<u32>, replicas: usize, random: &mut Sequence) -> Placed {
    let mut servers: Vec<u32> =
        writer.filter(|&server| placer.tenant_of(server).is_some()).into_iter().collect();
    let mut worst = 0;
    while servers.len() < replicas {
        let Some(Choice { server, level }) = placer.choose(&servers, false, random, |_| true) else { break };
        servers.push(server);
        worst = worst.max(level);
    }
    Placed { servers, level: worst }
}
