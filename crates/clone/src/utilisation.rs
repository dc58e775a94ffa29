/// The busy share of all threads as a moving average: the "load" of a document.
#[derive(Clone, Copy, Debug)]
pub struct Utilisation {
    threads: f64,
    over_ns: f64,
    at_ns: f64,
    value: f64,
    busy: u32,
}

impl Utilisation {
    /// Start with idle threads; the average has time constant `over_ns`.
    pub fn new(threads: u32, over_ns: f64) -> Self {
        Self { threads: f64::from(threads), over_ns, at_ns: 0.0, value: 0.0, busy: 0 }
    }

    /// Return the number of busy threads.
    pub fn busy(&self) -> u32 {
        self.busy
    }

    /// Return the average at a time, in `0..=1`. An earlier time than the last counts as the last, because threads do
    /// not report in order.
    pub fn average_at(&mut self, now_ns: f64) -> f64 {
        let now_ns = now_ns.max(self.at_ns);
        let weight = (-(now_ns - self.at_ns) / self.over_ns).exp();
        self.value = self.value * weight + f64::from(self.busy) / self.threads * (1.0 - weight);
        self.at_ns = now_ns;
        self.value
    }

    /// Record that a thread starts a request.
    pub fn begin(&mut self, now_ns: f64) {
        self.average_at(now_ns);
        self.busy += 1;
    }

    /// Record that a thread becomes free.
    pub fn end(&mut self, now_ns: f64) {
        self.average_at(now_ns);
        self.busy -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_follows_the_busy_share() {
        let mut load = Utilisation::new(2, 1e6);
        load.begin(0.0);
        assert!((load.average_at(1e8) - 0.5).abs() < 1e-9);
        load.begin(1e8);
        assert!((load.average_at(1e8 + 1e6) - (1.0 - 0.5 * (-1.0_f64).exp())).abs() < 1e-9);
        load.end(2e8);
        load.end(2e8);
        assert!(load.average_at(4e8) < 1e-9);
        let before = load.average_at(5e8);
        assert_eq!(
            load.average_at(3e8).to_bits(),
            before.to_bits(),
            "an earlier time than the last counts as the last"
        );
        assert_eq!(load.busy(), 0);
    }
}
