//! Validates stressors: measured rates per tick of the core against documented ones.

use serde::Serialize;

use crate::burst::{Bursts, CoreClock};
use crate::known_rates::core;
use crate::stream::{round_of, Stream};
use crate::{Class, StressorError};

/// Ticks per burst: about 140 us.
const BURST: f64 = 500_000.0;

/// Measured rate of one class of instructions.
#[derive(Debug, Serialize)]
pub struct Rate {
    /// The class.
    pub class: Class,
    /// Instructions per tick; `None` if the CPU lacks them.
    pub rate: Option<f64>,
    /// The bursts, in ticks per instruction.
    pub bursts: Option<Bursts>,
    /// The documented rate, if the core is known.
    pub documented: Option<f64>,
    /// Why there is no rate.
    pub missing: Option<&'static str>,
}

/// Measure all classes on the calling thread, which should be pinned to a CPU.
///
/// # Errors
/// If every burst was disturbed, or the kernel provides no memory for code.
pub fn validate(vendor: &str, family: u32, model: u32, wanted: usize) -> Result<Vec<Rate>, StressorError> {
    let known = core(vendor, family, model);
    let mut clock = CoreClock::new()?;
    Class::ALL
        .into_iter()
        .map(|class| {
            let documented = known.and_then(|core| core.rate(class));
            match time_alone(&mut clock, class, wanted) {
                Ok(bursts) => {
                    let rate = Some(1.0 / bursts.ticks);
                    Ok(Rate { class, rate, bursts: Some(bursts), documented, missing: None })
                }
                Err(StressorError::Unsupported { feature, .. }) => {
                    Ok(Rate { class, rate: None, bursts: None, documented, missing: Some(feature) })
                }
                Err(other) => Err(other),
            }
        })
        .collect()
}

/// Return the time of one instruction of a class in ticks, without other instructions.
pub fn time_alone(clock: &mut CoreClock, class: Class, wanted: usize) -> Result<Bursts, StressorError> {
    let units = round_of(&[class]);
    time_part(clock, &mut Stream::of_class(class, units)?, class.name(), units as f64, wanted)
}

/// Return the time of one of `parts` equal parts of a round, in ticks.
pub fn time_part(
    clock: &mut CoreClock,
    stream: &mut Stream,
    what: &str,
    parts: f64,
    wanted: usize,
) -> Result<Bursts, StressorError> {
    // Estimate how many rounds fill a burst; interference in the first ones only makes the burst shorter.
    let tried = 8;
    let mut first = Vec::new();
    for _ in 0..3 {
        first.extend(clock.burst(&mut || stream.run(tried))?.map(|(ticks, _)| ticks));
    }
    let round = first.into_iter().fold(f64::INFINITY, f64::min) / tried as f64;
    let rounds = if round.is_finite() { (BURST / round.max(1.0)).clamp(1.0, 1e6) as u64 } else { 100 };
    clock.bursts(what, wanted, rounds as f64 * parts, &mut || stream.run(rounds))
}
