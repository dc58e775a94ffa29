//! Kills, waiting and use, by hand and in small worlds.

use super::super::jobs::{Kind, Running, Task};
use super::super::world::{Inventory, Scaling, Traces};
use super::classes::{choose, history, hopeless, left, Members};
use super::course::Sums;
use super::tasks::{give_way, start, Way};
use super::*;
use crate::grid::Tenant;
use crate::jobs::Length;
use crate::pattern::Pattern;
use crate::select::Room;
use crate::sequence::Sequence;

#[test]
fn the_youngest_go_until_the_others_fit_and_their_jobs_wait_for_them_again() {
    let running = |active| Some(Running { active, ..Running::new(0, 0.0, 0) });
    let mut jobs = vec![running(3), running(2)];
    let mut own: Vec<Task> = [(0, 9.0), (0, 1.0), (0, 9.0), (1, 9.0), (1, 9.0)]
        .map(|(job, end)| Task { job, since: 0.0, end })
        .into();
    let mut done = Done::default();
    let vain = give_way(&mut own, 2, 5.0, &mut jobs, &mut done);
    assert!((vain - 10.0).abs() < 1e-9, "{vain}");
    assert_eq!(own.iter().map(|task| task.job).collect::<Vec<_>>(), [0, 0]);
    assert_eq!((done.tasks, done.kills), (1, 2));
    let of = |job: usize| jobs[job].as_ref().map(|one| (one.active, one.waiting)).unwrap();
    assert_eq!((of(0), of(1)), ((2, 0), (0, 2)));
}

#[test]
fn tasks_go_to_servers_in_proportion_to_their_free_cores_or_fill_the_first_that_is_met() {
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
            Way { pack, most: 8, left: None, among: &[] },
        );
        assert_eq!((job.waiting, job.active), (0, width));
        assert!((0..2).all(|at| tasks[at].len() as i64 + free[at] == [8, 2][at]));
        tasks[0].len()
    };
    let on_first: usize = (0..1000).map(|_| first(1, false)).sum();
    // Standard error 13; five of them.
    assert!(on_first.abs_diff(800) < 63, "{on_first} of 1,000 on four fifths of the cores");
    assert!((0..50).map(|_| first(2, true)).all(|n| n == 0 || n == 2));
}

#[test]
fn the_last_free_core_is_found_among_many_servers_and_none_where_there_is_none() {
    let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
    let mut tasks: Vec<Vec<Task>> = (0..10_000).map(|_| Vec::new()).collect();
    let mut free = vec![0; tasks.len()];
    (free[7_000], free[7_001]) = (1, -2);
    let mut members = Members::new(vec![vec![7_000]], tasks.len());
    members.count(&free);
    let mut job = Running::new(0, 0.0, 2);
    let way = Way { pack: false, most: 8, left: None, among: &[] };
    start(&mut job, (0, &kind), 0.0, &mut tasks, (&mut free, &mut members), &mut Sequence::new(1), way);
    assert_eq!((job.waiting, tasks[7_000].len(), free[7_001]), (1, 1, -2));
    assert_eq!((members.free_of(&[0]), members.free_of(&[])), (0, 0));
}

#[test]
fn a_server_takes_no_more_than_its_past_leaves_whatever_it_has_already() {
    let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
    let mut random = Sequence::new(1);
    let (mut tasks, mut free) = ([Vec::new(), Vec::new()], [8, 8]);
    tasks[0].push(Task { job: 9, since: 0.0, end: 60.0 });
    let mut job = Running::new(0, 0.0, 10);
    let by_past = Way { pack: false, most: 8, left: Some(&[3, -1]), among: &[0] };
    let mut members = Members::new(vec![vec![1, 0]], 2);
    members.count(&free);
    start(&mut job, (0, &kind), 0.0, &mut tasks, (&mut free, &mut members), &mut random, by_past);
    let mut counted = Members::new(vec![vec![1, 0]], 2);
    counted.count(&free);
    assert_eq!(members.free, counted.free, "counted as tasks come, and anew");
    assert_eq!((members.free_of(&[0]), members.free_of(&[])), (counted.free_of(&[0]), counted.free_of(&[])));
    assert_eq!((job.waiting, tasks[0].len(), tasks[1].len(), free), (8, 3, 0, [6, 8]));
}

#[test]
fn the_past_leaves_less_the_longer_the_job_and_a_server_of_no_class_what_the_reserve_leaves() {
    let room = Room { pattern: Pattern::Periodic, mean: 0.5, peak: 0.8, now: 0.4, capacity: 24.0 };
    let asked = Scheduling::default();
    assert_eq!(left(&asked, &[room], &[vec![1]], 2), [vec![8, 8], vec![8, 6], vec![8, 2]]);
}

#[test]
fn a_reserve_counts_as_used_now_on_average_and_at_the_peak() {
    let world = World::synthetic(&Scheduling::default().center);
    let rooms = |reserve| {
        let asked = Scheduling { reserve, ..Scheduling::default() };
        history(&asked, &world, &Scaling::none()).unwrap().1
    };
    for (with, without) in rooms(3).iter().zip(rooms(0)) {
        for (one, other) in [(with.mean, without.mean), (with.peak, without.peak), (with.now, without.now)] {
            assert!((one - other - 0.25).abs() < 1e-12, "{with:?} {without:?}");
        }
    }
}

#[test]
fn a_class_that_is_chosen_again_adds_no_server_twice() {
    let room = Room { pattern: Pattern::Constant, mean: 0.2, peak: 0.2, now: 0.2, capacity: 24.0 };
    let mut job = Running::new(0, 0.0, 1);
    let mut members = Members::new(vec![vec![0, 1], vec![2, 3]], 4);
    members.count(&[12; 4]);
    for seed in 0..20 {
        let mut random = Sequence::new(seed);
        choose(&mut job, Length::Long, &[room, room], &members, 12, &mut random);
    }
    let mut servers: Vec<usize> = (0..4).map(|at| members.at(&job.classes, at)).collect();
    servers.sort_unstable();
    assert_eq!(
        (job.classes.len(), members.count_of(&job.classes), &servers[..]),
        (2, Some(4), &[0, 1, 2, 3][..])
    );
}

#[test]
fn what_was_in_vain_is_a_share_of_all_that_was_computed() {
    let sums = Sums { vain: 30.0, useful: 90.0, ..Sums::default() };
    assert!((sums.shared(Done::default(), 1.0).vain - 0.25).abs() < 1e-12);
}

#[test]
fn a_job_looks_for_room_while_one_of_its_classes_may_have_some() {
    for (classes, all_full, is) in [
        (&[][..], false, false),
        (&[], true, true),
        (&[0, 1], false, false),
        (&[1], false, false),
        (&[0, 2], false, true),
        (&[1], true, true),
    ] {
        assert_eq!(hopeless(classes, &[true, false, true], all_full), is, "{classes:?} {all_full}");
    }
}

#[test]
fn batch_work_gets_no_core_of_which_a_primary_tenant_uses_a_part() {
    let servers = 6;
    let tenants = (0..3).map(|number| Tenant {
        environment: number,
        reimages: 1.0,
        peak: 0.3,
        space: 2.0,
        servers: vec![2 * number, 2 * number + 1],
    });
    let found =
        Inventory { tenants: tenants.collect(), rack_of: vec![0; servers], balance: vec![1.0; servers] };
    let traces = Traces { cpu: &[0.3; 3 * 96], slots: 96, slot_s: 3600.0 };
    let world = World::recorded(&Center::default(), found, traces).unwrap();
    // More work than there is room for: 3.6 of 12 cores are the tenant's, four its reserve, thus four are left.
    let asked = Scheduling {
        scheduler: Scheduler::Balanced,
        utilisation: None,
        days: 0.25,
        demand: 20.0,
        ..Scheduling::default()
    };
    let done = scheduling(&world, &asked).unwrap();
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
fn history_kills_less_at_the_same_load_and_less_of_its_work_is_in_vain() {
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
fn a_job_waits_only_while_nobody_has_room_and_a_patient_one_longer() {
    let center = Center { servers: 500, tenants: 100, ..Center::default() };
    let world = World::synthetic(&center);
    let of = |scheduler, patience_s| {
        let asked =
            Scheduling { center: center.clone(), scheduler, patience_s, days: 1.0, ..Scheduling::default() };
        scheduling(&world, &asked).unwrap()
    };
    let balanced = of(Scheduler::Balanced, None);
    assert!(balanced.mean_waiting_s < 5.0, "{balanced:?}");
    let (patient, hasty) = (of(Scheduler::History, None), of(Scheduler::History, Some(60.0)));
    assert!(hasty.mean_waiting_s < 0.8 * patient.mean_waiting_s, "{hasty:?} against {patient:?}");
    assert_eq!(of(Scheduler::History, Some(1e9)), patient);
}

#[test]
fn nobody_is_killed_where_primary_tenants_do_nothing_and_jobs_take_their_time() {
    let done = small(Scheduler::Balanced, 0.01);
    assert!(done.kills == 0 && done.jobs > 10 && done.unfinished == 0 && done.vain == 0.0, "{done:?}");
    // A job waits for the next step after each stage, and for a server now and then.
    let ratio = done.mean_job_s / done.alone_job_s;
    assert!((1.0..1.4).contains(&ratio), "{done:?}");
}

#[test]
fn odd_questions_are_refused() {
    let asked = Scheduling::default();
    let world = World::synthetic(&asked.center);
    for wrong in [
        Scheduling { reserve: 12, ..asked.clone() },
        Scheduling { step_s: 0.0, ..asked.clone() },
        Scheduling { utilisation: Some(0.0), ..asked.clone() },
    ] {
        assert_eq!(scheduling(&world, &wrong).unwrap_err().code(), "harvest-range");
    }
}
