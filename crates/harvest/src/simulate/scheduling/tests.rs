//! Kills, waiting and use of cores, by hand-made cases and small worlds.

use super::super::jobs::{Kind, Running, Task};
use super::super::world::{Inventory, Scaling, Traces};
use super::classes::{choose_classes, is_full, learn_classes, task_limits, Members};
use super::simulation::Sums;
use super::tasks::{give_way, start, PlacementRule};
use super::*;
use crate::grid::Tenant;
use crate::jobs::Length;
use crate::pattern::Pattern;
use crate::select::ClassState;
use crate::sequence::Sequence;

#[test]
fn the_youngest_tasks_are_killed_until_the_others_fit_and_wait_again() {
    let running = |active| Some(Running { active, ..Running::new(0, 0.0, 0) });
    let mut jobs = vec![running(3), running(2)];
    let mut own: Vec<Task> = [(0, 9.0), (0, 1.0), (0, 9.0), (1, 9.0), (1, 9.0)]
        .map(|(job, end)| Task { job, since: 0.0, end })
        .into();
    let mut done = Done::default();
    let wasted_s = give_way(&mut own, 2, 5.0, &mut jobs, &mut done);
    assert!((wasted_s - 10.0).abs() < 1e-9, "{wasted_s}");
    assert_eq!(own.iter().map(|task| task.job).collect::<Vec<_>>(), [0, 0]);
    assert_eq!((done.tasks, done.kills), (1, 2));
    let counts = |job: usize| jobs[job].as_ref().map(|one| (one.active, one.waiting)).unwrap();
    assert_eq!((counts(0), counts(1)), ((2, 0), (0, 2)));
}

#[test]
fn tasks_are_spread_by_free_cores_or_fill_the_first_server() {
    let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
    let mut random = Sequence::new(1);
    let mut first = |width, pack| {
        let (mut tasks, mut free) = ([Vec::new(), Vec::new()], [8, 2]);
        let mut job = Running::new(0, 0.0, width);
        let mut members = Members::new(Vec::new(), 2);
        members.count(&free);
        start(
            &mut job,
            (0, &kind),
            0.0,
            &mut tasks,
            (&mut free, &mut members),
            &mut random,
            PlacementRule { pack, most: 8, limits: None, among: &[] },
        );
        assert_eq!((job.waiting, job.active), (0, width));
        assert!((0..2).all(|at| tasks[at].len() as i64 + free[at] == [8, 2][at]));
        tasks[0].len()
    };
    let on_first: usize = (0..1000).map(|_| first(1, false)).sum();
    // Five standard errors of 13.
    assert!(on_first.abs_diff(800) < 63, "{on_first} of 1,000 on four fifths of the cores");
    assert!((0..50).map(|_| first(2, true)).all(|n| n == 0 || n == 2));
}

#[test]
fn the_last_free_core_is_found_among_many_servers() {
    let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
    let mut tasks: Vec<Vec<Task>> = (0..10_000).map(|_| Vec::new()).collect();
    let mut free = vec![0; tasks.len()];
    (free[7_000], free[7_001]) = (1, -2);
    let mut members = Members::new(vec![vec![7_000]], tasks.len());
    members.count(&free);
    let mut job = Running::new(0, 0.0, 2);
    let rule = PlacementRule { pack: false, most: 8, limits: None, among: &[] };
    start(&mut job, (0, &kind), 0.0, &mut tasks, (&mut free, &mut members), &mut Sequence::new(1), rule);
    assert_eq!((job.waiting, tasks[7_000].len(), free[7_001]), (1, 1, -2));
    assert_eq!((members.free_of(&[0]), members.free_of(&[])), (0, 0));
}

#[test]
fn history_limits_the_tasks_of_a_server() {
    let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
    let mut random = Sequence::new(1);
    let (mut tasks, mut free) = ([Vec::new(), Vec::new()], [8, 8]);
    tasks[0].push(Task { job: 9, since: 0.0, end: 60.0 });
    let mut job = Running::new(0, 0.0, 10);
    let by_history = PlacementRule { pack: false, most: 8, limits: Some(&[3, -1]), among: &[0] };
    let mut members = Members::new(vec![vec![1, 0]], 2);
    members.count(&free);
    start(&mut job, (0, &kind), 0.0, &mut tasks, (&mut free, &mut members), &mut random, by_history);
    let mut counted = Members::new(vec![vec![1, 0]], 2);
    counted.count(&free);
    assert_eq!(members.free, counted.free, "counts agree with a count from scratch");
    assert_eq!((members.free_of(&[0]), members.free_of(&[])), (counted.free_of(&[0]), counted.free_of(&[])));
    assert_eq!((job.waiting, tasks[0].len(), tasks[1].len(), free), (8, 3, 0, [6, 8]));
}

#[test]
fn history_leaves_less_to_longer_jobs_and_needs_a_class() {
    let state = ClassState { pattern: Pattern::Periodic, mean: 0.5, peak: 0.8, now: 0.4, capacity: 24.0 };
    let scenario = Scheduling::default();
    assert_eq!(task_limits(&scenario, &[state], &[vec![1]], 2), [vec![8, 8], vec![8, 6], vec![8, 2]]);
}

#[test]
fn a_reserve_counts_as_used_now_on_average_and_at_the_peak() {
    let world = World::synthetic(&Scheduling::default().center);
    let states = |reserve| {
        let scenario = Scheduling { reserve, ..Scheduling::default() };
        learn_classes(&scenario, &world, &Scaling::none()).unwrap().1
    };
    for (with, without) in states(3).iter().zip(states(0)) {
        for (one, other) in [(with.mean, without.mean), (with.peak, without.peak), (with.now, without.now)] {
            assert!((one - other - 0.25).abs() < 1e-12, "{with:?} {without:?}");
        }
    }
}

#[test]
fn choosing_a_class_again_adds_no_server() {
    let state = ClassState { pattern: Pattern::Constant, mean: 0.2, peak: 0.2, now: 0.2, capacity: 24.0 };
    let mut job = Running::new(0, 0.0, 1);
    let mut members = Members::new(vec![vec![0, 1], vec![2, 3]], 4);
    members.count(&[12; 4]);
    for seed in 0..20 {
        let mut random = Sequence::new(seed);
        choose_classes(&mut job, Length::Long, &[state, state], &members, 12, &mut random);
    }
    let mut servers: Vec<usize> = (0..4).map(|at| members.server_at(&job.classes, at)).collect();
    servers.sort_unstable();
    assert_eq!(
        (job.classes.len(), members.count_of(&job.classes), &servers[..]),
        (2, Some(4), &[0, 1, 2, 3][..])
    );
}

#[test]
fn wasted_work_is_a_share_of_all_work() {
    let sums = Sums { vain: 30.0, useful: 90.0, ..Sums::default() };
    assert!((sums.averages(Done::default(), 1.0).vain - 0.25).abs() < 1e-12);
}

#[test]
fn a_job_searches_while_one_of_its_classes_may_have_a_free_core() {
    for (classes, all_full, is) in [
        (&[][..], false, false),
        (&[], true, true),
        (&[0, 1], false, false),
        (&[1], false, false),
        (&[0, 2], false, true),
        (&[1], true, true),
    ] {
        assert_eq!(is_full(classes, &[true, false, true], all_full), is, "{classes:?} {all_full}");
    }
}

#[test]
fn batch_tasks_never_share_a_core_with_a_primary_tenant() {
    let servers = 6;
    let tenants = (0..3).map(|number| Tenant {
        environment: number,
        reimages: 1.0,
        peak: 0.3,
        space: 2.0,
        servers: vec![2 * number, 2 * number + 1],
    });
    let inventory =
        Inventory { tenants: tenants.collect(), rack_of: vec![0; servers], balance: vec![1.0; servers] };
    let traces = Traces { cpu: &[0.3; 3 * 96], slots: 96, slot_s: 3600.0 };
    let world = World::recorded(&Center::default(), inventory, traces).unwrap();
    // More work than fits: the tenant uses 3.6 of 12 cores and reserves four, so four are left.
    let scenario = Scheduling {
        scheduler: Scheduler::Balanced,
        utilisation: None,
        days: 0.25,
        demand: 20.0,
        ..Scheduling::default()
    };
    let done = scheduling(&world, &scenario).unwrap();
    assert!((done.primary - 0.3).abs() < 1e-9, "{done:?}");
    let most = (3.6 + 4.0) / 12.0;
    assert!(done.used <= most + 1e-9 && done.used > 0.9 * most, "{done:?}");
}

fn small(scheduler: Scheduler, utilisation: f64) -> Done {
    let center = Center { servers: 500, tenants: 100, ..Center::default() };
    let world = World::synthetic(&center);
    let utilisation = Some(utilisation);
    scheduling(&world, &Scheduling { center, scheduler, utilisation, days: 1.0, ..Scheduling::default() })
        .unwrap()
}

#[test]
fn history_kills_fewer_tasks_and_wastes_less_work_at_equal_load() {
    let [aware, balanced, history, headroom] =
        [Scheduler::Aware, Scheduler::Balanced, Scheduler::History, Scheduler::Headroom]
            .map(|one| small(one, 0.4));
    assert!(
        headroom.kills < history.kills && headroom.mean_job_s < 1.02 * history.mean_job_s,
        "{headroom:?}"
    );
    assert!(aware.kills > 100, "{aware:?}");
    assert!(history.kills * 2 < aware.kills, "{history:?} against {aware:?}");
    assert!(history.kills < balanced.kills && balanced.kills < aware.kills, "{balanced:?}");
    assert!(history.vain * 2.0 < aware.vain, "{history:?} against {aware:?}");
    assert!((aware.primary - history.primary).abs() < 1e-12);
    let all = |done: &Done| done.jobs + done.unfinished;
    assert!(all(&aware) == all(&history) && (aware.alone_job_s - history.alone_job_s).abs() < 1e-9);
}

#[test]
fn balanced_jobs_barely_wait_and_patience_prolongs_waiting() {
    let center = Center { servers: 500, tenants: 100, ..Center::default() };
    let world = World::synthetic(&center);
    let simulate = |scheduler, patience_s| {
        let scenario =
            Scheduling { center: center.clone(), scheduler, patience_s, days: 1.0, ..Scheduling::default() };
        scheduling(&world, &scenario).unwrap()
    };
    let balanced = simulate(Scheduler::Balanced, None);
    assert!(balanced.mean_waiting_s < 5.0, "{balanced:?}");
    let (patient, hasty) = (simulate(Scheduler::History, None), simulate(Scheduler::History, Some(60.0)));
    assert!(hasty.mean_waiting_s < 0.8 * patient.mean_waiting_s, "{hasty:?} against {patient:?}");
    assert_eq!(simulate(Scheduler::History, Some(1e9)), patient);
}

#[test]
fn idle_primary_tenants_cause_no_kills() {
    let done = small(Scheduler::Balanced, 0.01);
    assert!(done.kills == 0 && done.jobs > 10 && done.unfinished == 0 && done.vain == 0.0, "{done:?}");
    // A job waits for the next step after each stage, and sometimes for a server.
    let ratio = done.mean_job_s / done.alone_job_s;
    assert!((1.0..1.4).contains(&ratio), "{done:?}");
}

#[test]
fn invalid_parameters_are_refused() {
    let scenario = Scheduling::default();
    let world = World::synthetic(&scenario.center);
    for wrong in [
        Scheduling { reserve: 12, ..scenario.clone() },
        Scheduling { step_s: 0.0, ..scenario.clone() },
        Scheduling { utilisation: Some(0.0), ..scenario.clone() },
    ] {
        assert_eq!(scheduling(&world, &wrong).unwrap_err().code(), "harvest-range");
    }
}
