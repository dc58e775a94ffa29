//! Samples, or waits, joined with requests: what the slow requests' threads did, and those of all requests.
//!
//! A sample or wait belongs to each request that its thread had not yet answered: from the moment at which the request
//! could be read (e2) to its response (e5). A request that waits behind a slow one thus counts what happened to that.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use serde::Serialize;

use super::sampler::{Sample, Stack, PERIOD_NS};
use super::symbols::Function;
use crate::delays::SLOWEST;
use crate::layout::Record;

/// How long samples wait for the end of their requests, and how many of a thread do.
const KEPT_NS: u64 = 10_000_000_000;
const KEPT: usize = 1 << 14;
/// Functions and stacks in the report.
const FUNCTIONS: usize = 50;
const STACKS: usize = 200;
/// Different stacks that are kept with their callers; they take up to 50 MB.
const MOST_STACKS: usize = 50_000;

/// Requests and the samples or waits that belong to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profiled {
    pub requests: u64,
    pub samples: u64,
    /// Time of their thread per request: CPU time, or time asleep.
    pub time_us: f64,
}

/// Time of a function itself, without the functions that it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionShare {
    #[serde(flatten)]
    pub function: Function,
    /// Share of the time of all requests, and of the slowest.
    pub of_all: f64,
    pub of_slowest: f64,
    /// The same per request.
    pub all_us: f64,
    pub slowest_us: f64,
    /// Share of the variance of latency.
    pub of_variance: f64,
}

/// A stack, outermost function first, with its time per request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackShare {
    pub frames: Vec<String>,
    pub all_us: f64,
    pub slowest_us: f64,
}

/// What the threads of the slowest requests executed, or where they waited, and those of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileSummary {
    /// CPU time between samples; `None` for waits, which are all recorded.
    pub period_us: Option<f64>,
    /// Samples, or stacks of waits, for which there was no room.
    pub lost: u64,
    /// All requests.
    pub all: Profiled,
    /// The slowest 1 % of them.
    pub slowest: Profiled,
    /// Share of the variance of latency that arises while the requests' threads run, or wait.
    pub of_variance: f64,
    /// Functions by how much more time a slow request has in them.
    pub functions: Vec<FunctionShare>,
    /// Stacks by their time.
    pub stacks: Vec<StackShare>,
}

/// Where a thread executes, or waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub process: u32,
    /// The system call of a wait.
    pub call: Option<u16>,
    pub stack: Stack,
}

/// The names of a place.
pub struct Named {
    /// The function to which its time belongs.
    pub function: Option<Function>,
    /// Functions, the outermost first.
    pub frames: Vec<Function>,
}

/// A sample (at one time), or a wait, that may belong to requests.
struct Activity {
    number: u64,
    from: u64,
    to: u64,
    is_owned: bool,
    place: ActivityPlace,
}

enum ActivityPlace {
    /// Without a number until a request owns it: most samples belong to other programs.
    New(Place),
    Numbered(u32),
}

impl Activity {
    /// Return how much of it belongs to a span of time, in ns.
    fn time_within(&self, from: u64, to: u64) -> u64 {
        if self.from == self.to {
            PERIOD_NS
        } else {
            self.to.min(to).saturating_sub(self.from.max(from))
        }
    }
}

/// Sums of a place over all requests: time in ns, and time times latency in µs.
#[derive(Clone, Copy, Default)]
struct Sums {
    all: f64,
    all_latency: f64,
    slowest: f64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.all_latency += other.all_latency;
        self.slowest += other.slowest;
    }
}

/// Places, by number, with their sums.
#[derive(Default)]
struct Places {
    numbers: HashMap<Place, u32>,
    all: Vec<(Place, Sums)>,
    processes: HashSet<u32>,
}

impl Places {
    fn number(&mut self, mut place: Place) -> u32 {
        self.processes.insert(place.process);
        if self.all.len() >= MOST_STACKS {
            place.stack.keep_executed();
        }
        let next = self.all.len() as u32;
        *self.numbers.entry(place).or_insert_with_key(|place| {
            self.all.push((place.clone(), Sums::default()));
            next
        })
    }
}

/// A part of a request's time: the number of a sample or wait, its place, and ns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    activity: u64,
    place: u32,
    ns: u64,
}

/// A slow request: its latency, and its parts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Slow(u64, Vec<Part>);

/// Joins samples or waits with requests. Those of a request must be added before it.
#[derive(Default)]
pub struct Join {
    threads: HashMap<u32, VecDeque<Activity>>,
    places: Places,
    taken: u64,
    requests: u64,
    samples: u64,
    latency: f64,
    latency_square: f64,
    slowest: BinaryHeap<Reverse<Slow>>,
}

impl Join {
    pub fn add_sample(&mut self, sample: Sample) {
        let Sample { process, thread, at, stack } = sample;
        self.add(thread, at, at, ActivityPlace::New(Place { process, call: None, stack }));
    }

    /// Add a wait, which must not be empty, at a place that has a number.
    pub fn add_wait(&mut self, thread: u32, from: u64, to: u64, place: u32) {
        self.add(thread, from, to, ActivityPlace::Numbered(place));
    }

    pub fn number_place(&mut self, place: Place) -> u32 {
        self.places.number(place)
    }

    fn add(&mut self, thread: u32, from: u64, to: u64, place: ActivityPlace) {
        let all = self.threads.entry(thread).or_default();
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(Activity { number: self.taken, from, to, is_owned: false, place });
        self.taken += 1;
    }

    pub fn add_request(&mut self, r: &Record) {
        let latency_ns = r.e[5].saturating_sub(r.e[0]);
        let latency = latency_ns as f64 / 1e3;
        self.requests += 1;
        self.latency += latency;
        self.latency_square += latency * latency;
        let mut own = Vec::new();
        self.find_parts(r.reader, r.e[1], r.e[2], &mut own);
        self.find_parts(r.sender, r.e[2], r.e[4], &mut own);
        for part in &own {
            let all = part.ns as f64;
            let sums = Sums { all, all_latency: all * latency, slowest: 0.0 };
            self.places.all[part.place as usize].1.add(sums);
        }
        let is_full = self.slowest.len() >= SLOWEST;
        if !is_full || self.slowest.peek().is_some_and(|Reverse(least)| least.0 < latency_ns) {
            self.slowest.push(Reverse(Slow(latency_ns, own)));
            if is_full {
                self.slowest.pop();
            }
        }
    }

    /// Add what a thread did in a span of time to `own`.
    fn find_parts(&mut self, thread: u32, from: u64, to: u64, own: &mut Vec<Part>) {
        let Some(all) = self.threads.get_mut(&thread) else { return };
        let first = all.partition_point(|one| one.to < from);
        for one in all.range_mut(first..).take_while(|one| one.from < to) {
            let ns = one.time_within(from, to);
            if ns == 0 {
                continue;
            }
            if !one.is_owned {
                one.is_owned = true;
                self.samples += 1;
            }
            let place = match &mut one.place {
                ActivityPlace::Numbered(number) => *number,
                ActivityPlace::New(place) => self.places.number(std::mem::take(place)),
            };
            one.place = ActivityPlace::Numbered(place);
            own.push(Part { activity: one.number, place, ns });
        }
    }

    /// Forget what is older than any request that is likely to end.
    pub fn forget_old(&mut self, now: u64) {
        self.threads.retain(|_, all| {
            let old = all.partition_point(|one| one.to + KEPT_NS < now);
            all.drain(..old);
            !all.is_empty()
        });
    }

    /// Return the processes with numbered places.
    pub fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.processes.iter().copied()
    }

    /// Return the report, with `name` naming the functions of a place.
    pub fn finish(mut self, lost: u64, mut name: impl FnMut(&Place) -> Named) -> ProfileSummary {
        let slowest = self.count_slowest();
        let mut total = Sums::default();
        let mut numbers: HashMap<Function, u32> = HashMap::new();
        let mut functions: HashMap<u32, Sums> = HashMap::new();
        let mut stacks: HashMap<Vec<u32>, Sums> = HashMap::new();
        for (place, sums) in self.places.all.iter().filter(|(_, sums)| sums.all > 0.0) {
            let Named { function, frames } = name(place);
            let mut number = |function: Function| {
                let next = numbers.len() as u32;
                *numbers.entry(function).or_insert(next)
            };
            total.add(*sums);
            if let Some(function) = function {
                functions.entry(number(function)).or_default().add(*sums);
            }
            let frames: Vec<u32> = frames.into_iter().map(number).collect();
            stacks.entry(frames).or_default().add(*sums);
        }
        let mut names: Vec<_> = numbers.into_iter().map(|(function, number)| (number, function)).collect();
        names.sort();
        let function_of = |number: u32| names[number as usize].1.clone();
        let requests = self.requests.max(1) as f64;
        let all_us = |sums: Sums| sums.all / 1e3 / requests;
        let slowest_us = |sums: Sums| sums.slowest / 1e3 / slowest.requests.max(1) as f64;
        let mean = self.latency / requests;
        let variance = self.latency_square / requests - mean * mean;
        let of_variance = |sums: Sums| {
            let covariance = (sums.all_latency - sums.all * mean) / 1e3 / requests;
            if variance > 0.0 {
                covariance / variance
            } else {
                0.0
            }
        };
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let functions = functions.into_iter().map(|(function, sums)| FunctionShare {
            function: function_of(function),
            of_all: share(sums.all, total.all),
            of_slowest: share(sums.slowest, total.slowest),
            all_us: all_us(sums),
            slowest_us: slowest_us(sums),
            of_variance: of_variance(sums),
        });
        let stacks = stacks.into_iter().map(|(frames, sums)| StackShare {
            frames: frames.into_iter().map(|one| function_of(one).function).collect(),
            all_us: all_us(sums),
            slowest_us: slowest_us(sums),
        });
        ProfileSummary {
            period_us: None,
            lost,
            all: Profiled { requests: self.requests, samples: self.samples, time_us: all_us(total) },
            slowest: Profiled { time_us: slowest_us(total), ..slowest },
            of_variance: of_variance(total),
            functions: order_functions(functions.collect()),
            stacks: order_stacks(stacks.collect()),
        }
    }

    /// Add the parts of the slowest 1 %, as `who` defines them, and count their samples or waits.
    fn count_slowest(&mut self) -> Profiled {
        let mut slow: Vec<Slow> =
            std::mem::take(&mut self.slowest).into_iter().map(|Reverse(one)| one).collect();
        slow.sort_by_key(|one| Reverse(one.0));
        slow.truncate(self.requests.div_ceil(100) as usize);
        let mut samples = HashSet::new();
        for part in slow.iter().flat_map(|one| &one.1) {
            self.places.all[part.place as usize].1.slowest += part.ns as f64;
            samples.insert(part.activity);
        }
        Profiled { requests: slow.len() as u64, samples: samples.len() as u64, time_us: 0.0 }
    }
}

/// Keep the functions with most time, ordered by how much more of it a slow request has.
fn order_functions(mut all: Vec<FunctionShare>) -> Vec<FunctionShare> {
    let more = |one: &FunctionShare| one.slowest_us - one.all_us;
    all.sort_by(|a, b| {
        let most = |one: &FunctionShare| one.of_all.max(one.of_slowest);
        most(b).total_cmp(&most(a)).then_with(|| a.function.cmp(&b.function))
    });
    all.truncate(FUNCTIONS);
    all.sort_by(|a, b| more(b).total_cmp(&more(a)));
    all
}

fn order_stacks(mut all: Vec<StackShare>) -> Vec<StackShare> {
    all.sort_by(|a, b| {
        let most = |one: &StackShare| one.slowest_us.max(one.all_us);
        most(b).total_cmp(&most(a)).then_with(|| a.frames.cmp(&b.frames))
    });
    all.truncate(STACKS);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn request(thread: u32, from: u64, to: u64) -> Record {
        let e = [from, from, from, from, to, to];
        Record {
            cookie: 1,
            e,
            rx_end: 0,
            tx_end: 0,
            reader: thread,
            sender: thread,
            cpus: [0; 4],
            port: 1,
            batch: 1,
            kind: 0,
        }
    }

    fn sample(thread: u32, at: u64, user: &[u64]) -> Sample {
        Sample { process: 7, thread, at, stack: Stack { kernel: vec![], user: user.to_vec() } }
    }

    /// Name functions after their addresses.
    fn name(place: &Place) -> Named {
        let named =
            |at: &u64| Function { function: format!("f{at}"), module: "server".to_owned(), call: None };
        let frames: Vec<_> = place.stack.user.iter().rev().map(named).collect();
        Named { function: frames.last().cloned(), frames }
    }

    fn place(user: &[u64]) -> Place {
        Place { process: 7, call: Some(202), stack: Stack { kernel: vec![], user: user.to_vec() } }
    }

    #[test]
    fn the_function_of_slow_requests_comes_first() {
        let mut join = Join::default();
        // 99 requests of 1 ms with a sample of f1 each, and one of 10 ms with nine samples of f2.
        for n in 0..99 {
            join.add_sample(sample(3, n * 20 * MS + 1, &[1, 9]));
            join.add_request(&request(3, n * 20 * MS, n * 20 * MS + MS));
        }
        for n in 0..9 {
            join.add_sample(sample(3, 2000 * MS + n * MS, &[2, 9]));
        }
        join.add_request(&request(3, 2000 * MS, 2010 * MS));
        let found = join.finish(4, name);
        assert_eq!((found.all.requests, found.all.samples, found.lost), (100, 108, 4));
        assert_eq!((found.slowest.requests, found.slowest.samples), (1, 9));
        let [slow, fast] = &found.functions[..] else { panic!("two functions") };
        assert_eq!((slow.function.function.as_str(), fast.function.function.as_str()), ("f2", "f1"));
        assert_eq!((slow.of_slowest, fast.of_slowest), (1.0, 0.0));
        assert!((slow.of_all - 9.0 / 108.0).abs() < 1e-12);
        assert!((slow.slowest_us - 9.0 * 1003.009).abs() < 1e-6);
        assert!((slow.all_us - 0.09 * 1003.009).abs() < 1e-6);
        // All latency is spent running, up to the granularity of samples.
        assert!((found.of_variance - 8.0 * 1.003_009 / 9.0).abs() < 1e-6, "{}", found.of_variance);
        assert_eq!(found.stacks[0].frames, ["f9", "f2"]);
        assert!((found.stacks[0].slowest_us - slow.slowest_us).abs() < 1e-9);
    }

    #[test]
    fn a_wait_counts_for_as_long_as_the_request_lasts() {
        let mut join = Join::default();
        let (early, late) = (join.number_place(place(&[1])), join.number_place(place(&[2])));
        join.add_wait(3, 50 * MS, 120 * MS, early);
        join.add_wait(3, 150 * MS, 160 * MS, late);
        join.add_wait(4, 150 * MS, 160 * MS, late);
        join.add_request(&request(3, 100 * MS, 200 * MS));
        let found = join.finish(0, name);
        assert_eq!((found.all.samples, found.all.time_us), (2, 30_000.0));
        let times: Vec<_> =
            found.functions.iter().map(|one| (one.function.function.as_str(), one.all_us)).collect();
        assert_eq!(times, [("f1", 20_000.0), ("f2", 10_000.0)]);
    }

    #[test]
    fn a_sample_outside_of_requests_or_on_another_thread_counts_for_none() {
        let mut join = Join::default();
        for (thread, at) in [(3, 99), (3, 100), (3, 199), (3, 200), (4, 150)] {
            join.add_sample(sample(thread, at, &[1]));
        }
        join.add_request(&request(3, 100, 200));
        let found = join.finish(0, name);
        assert_eq!((found.all.samples, found.slowest.samples), (2, 2));
    }

    #[test]
    fn a_request_that_waits_counts_what_its_thread_executes_for_an_earlier_one() {
        let mut join = Join::default();
        join.add_sample(sample(3, 150, &[1]));
        join.add_request(&request(3, 100, 200));
        let mut waiting = request(3, 120, 300);
        (waiting.e[2], waiting.e[3]) = (250, 250);
        join.add_request(&waiting);
        let found = join.finish(0, name);
        assert_eq!(found.all.samples, 1, "one sample, of two requests");
        assert!((found.functions[0].all_us - 1003.009).abs() < 1e-6);
    }

    #[test]
    fn a_request_passed_on_has_the_samples_of_both_threads() {
        let mut join = Join::default();
        for (thread, at) in [(3, 110), (3, 160), (4, 110), (4, 160)] {
            join.add_sample(sample(thread, at, &[u64::from(thread) * 1000 + at]));
        }
        let mut passed_on = request(3, 100, 200);
        passed_on.sender = 4;
        passed_on.e[2] = 150;
        join.add_request(&passed_on);
        let mut names: Vec<_> =
            join.finish(0, name).functions.into_iter().map(|one| one.function.function).collect();
        names.sort();
        assert_eq!(names, ["f3110", "f4160"]);
    }

    #[test]
    fn old_samples_are_forgotten() {
        let mut join = Join::default();
        join.add_sample(sample(3, 0, &[1]));
        join.add_sample(sample(3, KEPT_NS, &[1]));
        join.forget_old(KEPT_NS + 1);
        join.add_request(&request(3, 0, 2 * KEPT_NS));
        assert_eq!(join.finish(0, name).all.samples, 1);
    }
}
