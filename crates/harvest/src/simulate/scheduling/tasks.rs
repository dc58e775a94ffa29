//! Tasks on servers: kill tasks for a primary tenant, and start waiting tasks.

use super::super::jobs::{Kind, Running, Task};
use super::classes::Members;
use super::Done;
use crate::sequence::Sequence;

/// End finished tasks, and kill the youngest until the others fit. Return the wasted core seconds.
pub(super) fn give_way(
    tasks: &mut Vec<Task>,
    available: i64,
    now: f64,
    jobs: &mut [Option<Running>],
    done: &mut Done,
) -> f64 {
    let mut wasted_s = 0.0;
    tasks.retain(|task| {
        let is_finished = task.end <= now;
        if is_finished {
            done.tasks += 1;
            jobs[task.job].as_mut().expect("a task has a job").active -= 1;
        }
        !is_finished
    });
    // The youngest are last.
    while tasks.len() as i64 > available.max(0) {
        let Some(task) = tasks.pop() else { break };
        let job = jobs[task.job].as_mut().expect("a task has a job");
        job.active -= 1;
        job.waiting += 1;
        done.kills += 1;
        wasted_s += now - task.since;
    }
    wasted_s
}

/// Failed random draws before all servers are tried in turn.
const TRIES: usize = 60;

/// Rule for assigning tasks to servers.
#[derive(Clone, Copy)]
pub(super) struct PlacementRule<'a> {
    /// Whether to fill each server that is drawn, instead of drawing in proportion to free cores.
    pub(super) pack: bool,
    /// Most cores that can be free.
    pub(super) most: usize,
    /// Most tasks of each server by its history, if the rule uses history.
    pub(super) limits: Option<&'a [i64]>,
    /// Classes whose servers may be used; empty: all servers.
    pub(super) among: &'a [usize],
}

/// Start waiting tasks on servers with free cores.
pub(super) fn start(
    job: &mut Running,
    (number, kind): (usize, &Kind),
    now: f64,
    tasks: &mut [Vec<Task>],
    (free, members): (&mut [i64], &mut Members),
    random: &mut Sequence,
    PlacementRule { pack, most, limits, among }: PlacementRule,
) {
    let all = members.count_of(among).unwrap_or(free.len());
    let mut place =
        |members: &mut Members, job: &mut Running, at: usize, take: &dyn Fn(usize) -> usize| -> usize {
            let server = members.server_at(among, at);
            let fits = limits
                .map_or(free[server], |limits| free[server].min(limits[server] - tasks[server].len() as i64));
            let take = take(fits.max(0) as usize).min(job.waiting);
            free[server] -= take as i64;
            members.take(server, take);
            job.waiting -= take;
            job.active += take;
            let task = || Task { job: number, since: now, end: now + kind.task_s };
            tasks[server].extend(std::iter::repeat_with(task).take(take));
            take
        };
    let mut failures = 0;
    while job.waiting > 0 && failures < TRIES {
        let (at, bar) = (random.below(all), random.below(most));
        let take = |fits| if pack { fits } else { usize::from(bar < fits) };
        failures += usize::from(place(members, job, at, &take) == 0);
    }
    let from = if job.waiting > 0 { random.below(all) } else { 0 };
    // A scan of all servers is slow: skip it without a free core, and stop after the last task.
    while job.waiting > 0 && members.free_of(among) > 0 {
        let waiting_before = job.waiting;
        for at in (from..all).chain(0..from) {
            place(members, job, at, &|fits| if pack { fits } else { fits.min(1) });
            if job.waiting == 0 {
                break;
            }
        }
        if job.waiting == waiting_before {
            break;
        }
    }
}
