//! Tasks on servers: who gives way to a primary tenant, and where those go that wait.

use super::super::jobs::{Kind, Running, Task};
use super::classes::Members;
use super::Done;
use crate::sequence::Sequence;

/// Ends tasks that are over, and kills the youngest until the others fit; core seconds that were in vain.
pub(super) fn give_way(
    own: &mut Vec<Task>,
    room: i64,
    now: f64,
    jobs: &mut [Option<Running>],
    done: &mut Done,
) -> f64 {
    let mut vain = 0.0;
    own.retain(|task| {
        let over = task.end <= now;
        if over {
            done.tasks += 1;
            jobs[task.job].as_mut().expect("a job with tasks is there").active -= 1;
        }
        !over
    });
    // The youngest are the last.
    while own.len() as i64 > room.max(0) {
        let Some(task) = own.pop() else { break };
        let job = jobs[task.job].as_mut().expect("a job with tasks is there");
        job.active -= 1;
        job.waiting += 1;
        done.kills += 1;
        vain += now - task.since;
    }
    vain
}

/// Draws after which servers are looked at in turn.
const TRIES: usize = 60;

/// How tasks go to servers.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// Each server that is met is filled; or else they are taken in proportion to their free cores.
    pub(super) pack: bool,
    /// Cores that may be free.
    pub(super) most: usize,
    /// Tasks that each server may have by its past, where that counts.
    pub(super) left: Option<&'a [i64]>,
    /// Classes whose servers may be used; all servers where there are none.
    pub(super) among: &'a [usize],
}

/// Starts waiting tasks wherever there is room.
pub(super) fn start(
    job: &mut Running,
    (number, kind): (usize, &Kind),
    now: f64,
    tasks: &mut [Vec<Task>],
    (free, members): (&mut [i64], &mut Members),
    random: &mut Sequence,
    Way { pack, most, left, among }: Way,
) {
    let all = members.count_of(among).unwrap_or(free.len());
    let mut place =
        |members: &mut Members, job: &mut Running, at: usize, take: &dyn Fn(usize) -> usize| -> usize {
            let server = members.at(among, at);
            let fits =
                left.map_or(free[server], |left| free[server].min(left[server] - tasks[server].len() as i64));
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
    // A look at all servers takes long: none where no core is free, and it ends with the last task.
    while job.waiting > 0 && members.free_of(among) > 0 {
        let before = job.waiting;
        for at in (from..all).chain(0..from) {
            place(members, job, at, &|fits| if pack { fits } else { fits.min(1) });
            if job.waiting == 0 {
                break;
            }
        }
        if job.waiting == before {
            break;
        }
    }
}
