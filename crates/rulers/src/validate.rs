//! Do rulers do what they say: rates per tick of the core, against documented ones.

use serde::Serialize;

use crate::burst::{Bursts, CoreClock};
use crate::documented::core;
use crate::stream::{round_of, Stream};
use crate::{Class, RulerError};

/// Ticks that a burst lasts: about 140 us.
const BURST: f64 = 500_000.0;

/// What one class of instructions reaches.
#[derive(Debug, Serialize)]
pub struct Rate {
    /// Which.
    pub class: Class,
    /// Instructions a tick; none where the processor lacks them.
    pub rate: Option<f64>,
    /// The bursts: ticks an instruction.
    pub bursts: Option<Bursts>,
    /// The documented rate, where the core is known.
    pub documented: Option<f64>,
    /// Why there is no rate.
    pub missing: Option<&'static str>,
}

/// Measures all classes on the calling thread, which should be bound to a processor.
///
/// # Errors
/// Where no burst was left alone, or the kernel gives no memory for code.
pub fn validate(vendor: &str, family: u32, model: u32, wanted: usize) -> Result<Vec<Rate>, RulerError> {
    let known = core(vendor, family, model);
    let mut clock = CoreClock::new()?;
    Class::ALL
        .into_iter()
        .map(|class| {
            let documented = known.and_then(|core| core.rate(class));
            match alone(&mut clock, class, wanted) {
                Ok(bursts) => {
                    let rate = Some(1.0 / bursts.ticks);
                    Ok(Rate { class, rate, bursts: Some(bursts), documented, missing: None })
                }
                Err(RulerError::Unsupported { feature, .. }) => {
                    Ok(Rate { class, rate: None, bursts: None, documented, missing: Some(feature) })
                }
                Err(other) => Err(other),
            }
        })
        .collect()
}

/// Ticks an instruction of a class takes, nothing beside it.
pub fn alone(clock: &mut CoreClock, class: Class, wanted: usize) -> Result<Bursts, RulerError> {
    let units = round_of(&[class]);
    timed(clock, &mut Stream::of(class, units)?, class.name(), units as f64, wanted)
}

/// Ticks of one of `parts` equal parts of a round.
pub fn timed(
    clock: &mut CoreClock,
    stream: &mut Stream,
    what: &str,
    parts: f64,
    wanted: usize,
) -> Result<Bursts, RulerError> {
    // How many rounds fill a burst: from a first one, thefts in which only make it shorter.
    let tried = 8;
    let mut first = Vec::new();
    for _ in 0..3 {
        first.extend(clock.burst(&mut || stream.run(tried))?.map(|(ticks, _)| ticks));
    }
    let round = first.into_iter().fold(f64::INFINITY, f64::min) / tried as f64;
    let rounds = if round.is_finite() { (BURST / round.max(1.0)).clamp(1.0, 1e6) as u64 } else { 100 };
    clock.bursts(what, wanted, rounds as f64 * parts, &mut || stream.run(rounds))
}
