//! A document compiled for drawing.

use hindmost_random::Draws;

use crate::law::Quantile;
use crate::order::Sequence;
use crate::{
    CloneError, Disturbance, Document, Lock, LockPlace, Queue, Release, Scope, Utilisation, When, Windows,
};

/// A valid document, compiled: drawing from it does not allocate.
#[derive(Clone, Debug)]
pub struct Program {
    /// Worker threads.
    pub threads: u32,
    /// Where requests wait.
    pub queue: Queue,
    /// Critical sections, in the order in which a request enters them.
    pub locks: Vec<LockProgram>,
    /// Time that an arrival takes from threads that are all busy, in ns.
    pub arrival_ns: f64,
    /// Time to wake an idle thread, in ns.
    pub wake_ns: f64,
    /// Time outside the queue and the threads, in ns per request.
    pub outside_ns: f64,
    kinds: Vec<Mixture>,
    noises: Vec<Noise>,
    document: Document,
}

/// The service of one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Number of its kind in the document; 0 without kinds.
    pub kind: u32,
    /// Service time including load dependence, in ns.
    pub service_ns: f64,
    /// Total length of disturbances of this service, in ns.
    pub noise_ns: f64,
}

/// A request's critical section in one lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// Number of the lock in the array.
    pub instance: u32,
    /// How long it is held, including disturbances, in ns.
    pub hold_ns: f64,
}

/// A compiled lock.
#[derive(Clone, Debug)]
pub struct LockProgram {
    /// Before or after the service.
    pub at: LockPlace,
    /// Number of locks in the array.
    pub instances: u32,
    /// How long a waiting thread spins before it sleeps, in ns; infinite if it never sleeps.
    pub spin_ns: f64,
    /// Time to wake a sleeping thread, in ns.
    pub wake_ns: f64,
    /// Which thread gets the lock next.
    pub release: Release,
    place: u32,
    hold: Quantile,
    share: f64,
    first: f64,
    noises: Vec<Noise>,
}

#[derive(Clone, Debug)]
struct Mixture {
    /// Cumulative share of the kinds.
    until: f64,
    /// By increasing mean: `(cumulative weight, weight, law, median)`.
    components: Vec<(f64, f64, Quantile, f64)>,
}

#[derive(Clone, Debug)]
struct Noise {
    place: u32,
    probability: f64,
    length: Quantile,
}

// Purposes of a request's draws. `order` uses 1 to 3, `windows` uses 16 and 17; 24 to 31 are reserved for arrivals.
const KIND: u32 = 0;
const NOISES: u32 = 1 << 8;
const LOCKS: u32 = 1 << 16;

impl Program {
    /// Check and compile a document.
    ///
    /// # Errors
    /// [`CloneError`], as in [`Document::from_json`].
    pub fn new(document: &Document) -> Result<Self, CloneError> {
        document.check()?;
        let mut until = 0.0;
        let kinds = document
            .mixtures()
            .map(|(share, components)| {
                until += share;
                Mixture::new(until, components)
            })
            .collect();
        let noises_of = |lock: Option<&str>| -> Vec<Noise> {
            let places = document.disturbances.iter().enumerate();
            places.filter_map(|(place, noise)| Noise::new(place, noise, lock)).collect()
        };
        let places = document.locks.iter().enumerate();
        let locks =
            places.map(|(place, lock)| LockProgram::new(place, lock, noises_of(Some(&lock.name)))).collect();
        Ok(Self {
            threads: document.threads,
            queue: document.queue,
            locks,
            arrival_ns: document.arrival_us * 1e3,
            wake_ns: document.wake_us * 1e3,
            outside_ns: document.outside_us * 1e3,
            kinds,
            noises: noises_of(None),
            document: document.clone(),
        })
    }

    /// Return the state for drawing successive requests.
    pub fn sequence(&self) -> Sequence {
        Sequence::new(&self.document.order)
    }

    /// Return the moving average for load dependence.
    pub fn utilisation(&self) -> Utilisation {
        Utilisation::new(self.threads, self.document.load.over_us * 1e3)
    }

    /// Whether a request's service depends on the load, so that [`Program::request`] needs it.
    pub fn depends_on_load(&self) -> bool {
        let load = &self.document.load;
        [load.time, load.spread, load.chance, load.busy].iter().any(|&slope| slope != 0.0)
    }

    /// Draw the next request in the order of service. `load` is [`Utilisation::average_at`] when the service starts,
    /// and `others` the share of the other threads that are busy then.
    #[inline]
    pub fn request(&self, sequence: &mut Sequence, draws: Draws, load: f64, others: f64) -> Request {
        self.request_of_kind(self.kind(draws), sequence, draws, load, others)
    }

    /// Draw a request like [`Program::request`], of a kind that the request names ([`Program::kind_named`]).
    #[inline]
    pub fn request_of_kind(
        &self,
        kind: u32,
        sequence: &mut Sequence,
        draws: Draws,
        load: f64,
        others: f64,
    ) -> Request {
        let (u, factor) = sequence.next(draws);
        let slopes = &self.document.load;
        let mut service_ns = self.kinds[kind as usize].draw(u, 1.0 + slopes.spread * load) * factor;
        service_ns *= (1.0 + slopes.time * load) * (1.0 + slopes.busy * others);
        let noise_ns = self.noises.iter().map(|noise| noise.draw(draws, 1.0 + slopes.chance * load)).sum();
        Request { kind, service_ns, noise_ns }
    }

    #[inline]
    fn kind(&self, draws: Draws) -> u32 {
        if self.kinds.len() == 1 {
            return 0;
        }
        let u = draws.unit(KIND);
        self.kinds.iter().position(|kind| u < kind.until).unwrap_or(self.kinds.len() - 1) as u32
    }

    /// Return the number of the kind with a name; `None` if the document has no such kind.
    pub fn kind_named(&self, name: &[u8]) -> Option<u32> {
        let place = self.document.kinds.iter().position(|kind| kind.name.as_bytes() == name);
        place.map(|place| place as u32)
    }

    /// Return the names of the kinds by number; `request` if the document has no kinds.
    pub fn kind_names(&self) -> Vec<&str> {
        let names: Vec<_> = self.document.kinds.iter().map(|kind| kind.name.as_str()).collect();
        if names.is_empty() {
            vec!["request"]
        } else {
            names
        }
    }

    /// Whether no request takes time and nothing ever pauses.
    pub fn takes_no_time(&self) -> bool {
        self.locks.is_empty()
            && self.document.disturbances.is_empty()
            && self.arrival_ns == 0.0
            && self.mean_busy_ns() == 0.0
    }

    /// Return the windows in which one thread pauses, one iterator per disturbance of scope `thread`; for `None`,
    /// those in which all threads pause (scope `server`).
    pub fn windows(&self, seed: u64, thread: Option<u32>) -> Vec<Windows> {
        let scope = if thread.is_some() { Scope::Thread } else { Scope::Server };
        let places = self.document.disturbances.iter().enumerate();
        places
            .filter(|(_, disturbance)| disturbance.scope == scope)
            .map(|(place, disturbance)| Windows::new(disturbance, place, seed, thread.unwrap_or(0)))
            .collect()
    }

    /// Return the mean time in ns for which a request occupies a thread: service, critical sections and disturbances
    /// of requests, but not waiting for locks or load dependence.
    pub fn mean_busy_ns(&self) -> f64 {
        let service: f64 = self
            .document
            .mixtures()
            .zip(&self.kinds)
            .map(|((share, _), kind)| {
                share * kind.components.iter().map(|c| c.1 * c.2.moments().0).sum::<f64>()
            })
            .sum();
        let noise: f64 = self.noises.iter().map(Noise::mean).sum();
        let locks: f64 = self.locks.iter().map(|lock| lock.share * lock.mean_ns()).sum();
        service * self.mean_factor() + noise + locks
    }

    fn mean_factor(&self) -> f64 {
        let regimes = &self.document.order.regimes;
        let all: f64 = regimes.iter().map(|regime| regime.mean_requests).sum();
        if regimes.is_empty() {
            1.0
        } else {
            regimes.iter().map(|regime| regime.factor * regime.mean_requests / all).sum()
        }
    }

    /// Return the share of the time for which threads pause by the clock: the sum over disturbances of scope `thread`
    /// and `server`, except one-off ones.
    pub fn stopped_share(&self) -> f64 {
        let share = |disturbance: &Disturbance| {
            let length = Quantile::new(&disturbance.length).moments().0;
            match disturbance.when {
                When::Poisson { per_second } => length * per_second / 1e9,
                When::Periodic { every_us, .. } => length / (every_us * 1e3),
                When::Chance { .. } | When::Once { .. } => 0.0,
            }
        };
        self.document.disturbances.iter().map(share).fold(0.0, |sum, share| sum + share)
    }

    /// Return the highest sustainable rate in requests/s without lock waits and load dependence: the minimum of what
    /// the threads and what the busiest lock allow. `hindmost_simulate::capacity_per_s` includes the rest by a pilot
    /// run.
    pub fn capacity_per_s(&self) -> f64 {
        let running = (1.0 - self.stopped_share()).max(0.0);
        let threads = self.threads_capacity_per_s(self.mean_busy_ns()) / 1e9;
        let locks = self.locks.iter().map(|lock| {
            let busiest =
                lock.share * lock.first.max((1.0 - lock.first) / f64::from(lock.instances.max(2) - 1));
            1.0 / (busiest * lock.mean_ns())
        });
        locks.fold(threads, f64::min) * 1e9 * running
    }

    /// Return the rate at which all threads are always busy, if a request occupies a thread for `busy_ns`. An arrival
    /// takes a further `a` unless it comes while another is being received: a share of 1 / (1 + rate `a`) does.
    pub fn threads_capacity_per_s(&self, busy_ns: f64) -> f64 {
        let (k, a) = (f64::from(self.threads), self.arrival_ns);
        if a == 0.0 || busy_ns == 0.0 {
            return k / (busy_ns + a) * 1e9;
        }
        // rate * busy + rate * a / (1 + rate * a) = k
        let half = (busy_ns + a - k * a) / 2.0;
        ((half * half + busy_ns * a * k).sqrt() - half) / (busy_ns * a) * 1e9
    }

    /// Return the source document.
    pub fn document(&self) -> &Document {
        &self.document
    }
}

impl Mixture {
    fn new(until: f64, components: &[crate::Component]) -> Self {
        let mut parts: Vec<_> = components
            .iter()
            .map(|component| {
                let law = Quantile::new(&component.law);
                (0.0, component.weight, law.clone(), law.value_at(0.5))
            })
            .collect();
        // By increasing mean, so that a large uniform number gives a long time in the mixture, too.
        parts.sort_by(|a, b| a.2.moments().0.total_cmp(&b.2.moments().0));
        let mut sum = 0.0;
        for part in &mut parts {
            sum += part.1;
            part.0 = sum;
        }
        Self { until, components: parts }
    }

    /// Choose the component by a uniform number, and the time by the remainder.
    #[inline]
    fn draw(&self, u: f64, spread: f64) -> f64 {
        let place = self.components.iter().position(|part| u < part.0).unwrap_or(self.components.len() - 1);
        let (until, weight, law, median) = &self.components[place];
        let within = ((u - (until - weight)) / weight).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        let time = law.value_at(within);
        if (spread - 1.0).abs() > f64::EPSILON && *median > 0.0 {
            median * (time / median).powf(spread)
        } else {
            time
        }
    }
}

impl Noise {
    /// Compile a disturbance of scope `request`: of the service, or of a critical section.
    fn new(place: usize, disturbance: &Disturbance, lock: Option<&str>) -> Option<Self> {
        match disturbance.when {
            When::Chance { probability } if disturbance.while_holding.as_deref() == lock => Some(Self {
                place: NOISES + 2 * place as u32,
                probability,
                length: Quantile::new(&disturbance.length),
            }),
            _ => None,
        }
    }

    #[inline]
    fn draw(&self, draws: Draws, factor: f64) -> f64 {
        if draws.unit(self.place) < self.probability * factor {
            self.length.value_at(draws.unit(self.place + 1))
        } else {
            0.0
        }
    }

    fn mean(&self) -> f64 {
        self.probability * self.length.moments().0
    }
}

impl LockProgram {
    fn new(place: usize, lock: &Lock, noises: Vec<Noise>) -> Self {
        Self {
            at: lock.at,
            instances: lock.instances,
            spin_ns: lock.spin_us.map_or(f64::INFINITY, |us| us * 1e3),
            wake_ns: lock.wake_us * 1e3,
            release: lock.release,
            place: LOCKS + 4 * place as u32,
            hold: Quantile::new(&lock.hold),
            share: lock.share,
            first: lock.first.unwrap_or(1.0 / f64::from(lock.instances)),
            noises,
        }
    }

    /// Return a request's critical section; `None` if it does not take this lock.
    #[inline]
    pub fn hold(&self, draws: Draws) -> Option<Hold> {
        if self.share < 1.0 && draws.unit(self.place) >= self.share {
            return None;
        }
        let instance = if self.instances == 1 { 0 } else { self.instance(draws.unit(self.place + 1)) };
        let noise: f64 = self.noises.iter().map(|noise| noise.draw(draws, 1.0)).sum();
        Some(Hold { instance, hold_ns: self.hold.value_at(draws.unit(self.place + 2)) + noise })
    }

    /// Return the mean time for which it is held, in ns.
    fn mean_ns(&self) -> f64 {
        self.hold.moments().0 + self.noises.iter().map(Noise::mean).sum::<f64>()
    }

    fn instance(&self, u: f64) -> u32 {
        if u < self.first {
            return 0;
        }
        let rest = (u - self.first) / (1.0 - self.first);
        1 + ((rest * f64::from(self.instances - 1)) as u32).min(self.instances - 2)
    }
}
