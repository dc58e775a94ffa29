//! M/M/c in closed form (Erlang 1917).

/// Return the probability that an arrival finds all of `machines` busy, at an offered load in machines.
pub(super) fn waits(machines: u64, load: f64) -> f64 {
    let c = machines as f64;
    if load >= c {
        return 1.0;
    }
    // Erlang's loss formula by its recursion, which neither overflows nor cancels.
    let mut blocked = 1.0;
    for at in 1..=machines {
        blocked = load * blocked / (at as f64 + load * blocked);
    }
    blocked / (1.0 - load / c * (1.0 - blocked))
}

/// Return the fewest machines with which at most this fraction waits.
pub(super) fn fewest(load: f64, most: f64) -> u64 {
    let mut machines = (load.floor() as u64).max(1);
    while waits(machines, load) > most {
        machines += 1;
    }
    machines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_match_the_textbook() {
        // M/M/1: the load itself. M/M/2 at load 1: 1/3.
        assert!((waits(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((waits(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((waits(2, 2.0) - 1.0).abs() < 1e-12);
    }
}
