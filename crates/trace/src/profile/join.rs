//! Samples joined with requests: what the slow requests' threads executed, and those of all requests.
//!
//! A sample belongs to each request that its thread had not yet answered: from the moment at which the request could
//! be read (e2) to its response (e5). A request that waits behind a slow one thus counts what the slow one executed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use serde::Serialize;

use super::sampler::{Sample, Stack, PERIOD_NS};
use super::symbols::Function;
use crate::delays::SLOWEST;
use crate::layout::Record;

/// How long samples wait for the end of their requests.
const KEPT_NS: u64 = 10_000_000_000;
/// Functions and stacks in the report.
const FUNCTIONS: usize = 50;
const STACKS: usize = 200;
/// Different stacks that are kept with their callers; they take up to 50 MB.
const MOST_STACKS: usize = 50_000;

/// Requests and the samples that belong to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Profiled {
    pub requests: u64,
    pub samples: u64,
    /// CPU time of their thread per request.
    pub cpu_us: f64,
}

/// CPU time of a function itself, without the functions that it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionShare {
    #[serde(flatten)]
    pub function: Function,
    /// Share of the CPU time of all requests, and of the slowest.
    pub of_all: f64,
    pub of_slowest: f64,
    /// The same per request.
    pub all_us: f64,
    pub slowest_us: f64,
    /// Share of the variance of latency.
    pub of_variance: f64,
}

/// A stack, outermost function first, with its CPU time per request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackShare {
    pub frames: Vec<String>,
    pub all_us: f64,
    pub slowest_us: f64,
}

/// What the threads of the slowest requests executed, and those of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileSummary {
    /// CPU time between samples.
    pub period_us: f64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// All requests.
    pub all: Profiled,
    /// The slowest 1 % of them.
    pub slowest: Profiled,
    /// Share of the variance of latency that arises while the requests' threads run.
    pub of_variance: f64,
    /// Functions by how much more CPU time a slow request has in them.
    pub functions: Vec<FunctionShare>,
    /// Stacks by their CPU time.
    pub stacks: Vec<StackShare>,
}

/// A sample that waits for its requests.
struct Waiting {
    number: u64,
    process: u32,
    at: u64,
    stack: Stack,
    /// The stack's number, once a request owned the sample.
    stack_number: Option<u32>,
}

/// Sums of a stack over all requests: samples, and samples times latency in µs.
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

/// A slow request: its latency, and its samples with their stacks.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Slow(u64, Vec<(u64, u32)>);

/// Joins samples with requests. The samples of a request must be added before it.
#[derive(Default)]
pub struct Join {
    threads: HashMap<u32, VecDeque<Waiting>>,
    numbers: HashMap<(u32, Stack), u32>,
    stacks: Vec<(u32, Stack)>,
    sums: Vec<Sums>,
    processes: HashSet<u32>,
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
        let waiting = Waiting { number: self.taken, process, at, stack, stack_number: None };
        self.threads.entry(thread).or_default().push_back(waiting);
        self.taken += 1;
    }

    pub fn add_request(&mut self, r: &Record) {
        let latency_ns = r.e[5].saturating_sub(r.e[0]);
        let latency = latency_ns as f64 / 1e3;
        self.requests += 1;
        self.latency += latency;
        self.latency_square += latency * latency;
        let mut own = Vec::new();
        self.find_samples(r.reader, r.e[1], r.e[2], &mut own);
        self.find_samples(r.sender, r.e[2], r.e[4], &mut own);
        for (_, stack) in &own {
            self.sums[*stack as usize].add(Sums { all: 1.0, all_latency: latency, slowest: 0.0 });
        }
        let is_full = self.slowest.len() >= SLOWEST;
        if !is_full || self.slowest.peek().is_some_and(|Reverse(least)| least.0 < latency_ns) {
            self.slowest.push(Reverse(Slow(latency_ns, own)));
            if is_full {
                self.slowest.pop();
            }
        }
    }

    /// Add the samples of a thread in a span of time to `own`, and number their stacks.
    fn find_samples(&mut self, thread: u32, from: u64, to: u64, own: &mut Vec<(u64, u32)>) {
        let Some(waiting) = self.threads.get_mut(&thread) else { return };
        let first = waiting.partition_point(|one| one.at < from);
        for sample in waiting.range_mut(first..).take_while(|one| one.at < to) {
            let number = *sample.stack_number.get_or_insert_with(|| {
                self.samples += 1;
                self.processes.insert(sample.process);
                let mut key = (sample.process, std::mem::take(&mut sample.stack));
                if self.stacks.len() >= MOST_STACKS {
                    key.1.keep_executed();
                }
                let next = self.stacks.len() as u32;
                *self.numbers.entry(key).or_insert_with_key(|key| {
                    self.stacks.push(key.clone());
                    self.sums.push(Sums::default());
                    next
                })
            });
            own.push((sample.number, number));
        }
    }

    /// Forget samples that are older than any request that is likely to end.
    pub fn forget_old(&mut self, now: u64) {
        self.threads.retain(|_, waiting| {
            let old = waiting.partition_point(|one| one.at + KEPT_NS < now);
            waiting.drain(..old);
            !waiting.is_empty()
        });
    }

    /// Return the processes whose samples belong to requests.
    pub fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.iter().copied()
    }

    /// Return the report, with `name` giving the functions of a stack of a process, the executed one first.
    pub fn finish(mut self, lost: u64, mut name: impl FnMut(u32, &Stack) -> Vec<Function>) -> ProfileSummary {
        let slowest = self.count_slowest();
        let mut total = Sums::default();
        let mut numbers: HashMap<Function, u32> = HashMap::new();
        let mut functions: HashMap<u32, Sums> = HashMap::new();
        let mut stacks: HashMap<Vec<u32>, Sums> = HashMap::new();
        for ((process, stack), sums) in self.stacks.iter().zip(&self.sums) {
            let frames = name(*process, stack).into_iter().rev().map(|function| {
                let next = numbers.len() as u32;
                *numbers.entry(function).or_insert(next)
            });
            let frames: Vec<u32> = frames.collect();
            total.add(*sums);
            if let Some(executed) = frames.last() {
                functions.entry(*executed).or_default().add(*sums);
            }
            stacks.entry(frames).or_default().add(*sums);
        }
        let mut names: Vec<_> = numbers.into_iter().map(|(function, number)| (number, function)).collect();
        names.sort();
        let function_of = |number: u32| names[number as usize].1.clone();
        let requests = self.requests.max(1) as f64;
        let period_us = PERIOD_NS as f64 / 1e3;
        let all_us = |sums: Sums| sums.all * period_us / requests;
        let slowest_us = |sums: Sums| sums.slowest * period_us / slowest.requests.max(1) as f64;
        let mean = self.latency / requests;
        let variance = self.latency_square / requests - mean * mean;
        let of_variance = |sums: Sums| {
            let covariance = (sums.all_latency - sums.all * mean) * period_us / requests;
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
            period_us,
            lost,
            all: Profiled { requests: self.requests, samples: self.samples, cpu_us: all_us(total) },
            slowest: Profiled { cpu_us: slowest_us(total), ..slowest },
            of_variance: of_variance(total),
            functions: order_functions(functions.collect()),
            stacks: order_stacks(stacks.collect()),
        }
    }

    /// Add the samples of the slowest 1 %, as `who` defines them, and count them.
    fn count_slowest(&mut self) -> Profiled {
        let mut slow: Vec<Slow> =
            std::mem::take(&mut self.slowest).into_iter().map(|Reverse(one)| one).collect();
        slow.sort_by_key(|one| Reverse(one.0));
        slow.truncate(self.requests.div_ceil(100) as usize);
        let mut samples = HashSet::new();
        for (number, stack) in slow.iter().flat_map(|one| &one.1) {
            self.sums[*stack as usize].slowest += 1.0;
            samples.insert(*number);
        }
        Profiled { requests: slow.len() as u64, samples: samples.len() as u64, cpu_us: 0.0 }
    }
}

/// Keep the functions with most CPU time, ordered by how much more of it a slow request has.
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
    fn name(_process: u32, stack: &Stack) -> Vec<Function> {
        let named = |at: &u64| Function { function: format!("f{at}"), module: "server".to_owned() };
        stack.user.iter().map(named).collect()
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
