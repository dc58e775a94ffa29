//! Instruction rates that vendors and public tables state, in instructions per tick of the core.

use crate::Class;

/// A core with known rates.
pub struct Core {
    /// Instructions per tick.
    pub rates: &'static [(Class, f64)],
}

/// AMD Zen 4: Software Optimization Guide for the AMD Zen4 Microarchitecture (publication 57647) and uops.info,
/// each confirmed by measurement on an EPYC of that family. More than two pipes execute shuffles, contrary to the
/// guide's table, so no rate is stated for them.
const ZEN4: Core = Core {
    rates: &[
        (Class::FpMul, 2.0),
        (Class::FpAdd, 2.0),
        (Class::FpDiv, 1.0 / 3.0),
        (Class::FpLogic, 4.0),
        (Class::VecAdd, 4.0),
        (Class::VecMul, 2.0),
        (Class::IntAdd, 4.0),
        (Class::IntMul, 1.0),
        (Class::IntDiv, 1.0 / 6.0),
        (Class::Branch, 2.0),
        (Class::BranchTaken, 1.0),
        (Class::Load, 3.0),
        (Class::Store, 2.0),
    ],
};

/// AMD Zen 3: pipes as in the Software Optimization Guide for AMD Family 19h Processors (publication 56665): four
/// integer units, one of which multiplies; two branch units, one of them for taken branches; two multipliers and
/// two adders for floats; four vector units; three loads or two stores per tick. Measurements on an EPYC of that
/// family agree within half a percent. No rate is stated for divisions, which occupy their unit for several ticks.
const ZEN3: Core = Core {
    rates: &[
        (Class::FpMul, 2.0),
        (Class::FpAdd, 2.0),
        (Class::FpLogic, 4.0),
        (Class::VecAdd, 4.0),
        (Class::VecMul, 2.0),
        (Class::IntAdd, 4.0),
        (Class::IntMul, 1.0),
        (Class::Branch, 2.0),
        (Class::BranchTaken, 1.0),
        (Class::Load, 3.0),
        (Class::Store, 2.0),
    ],
};

/// Return the core by vendor, family and model as in `/proc/cpuinfo`; `None` if its rates are not known.
pub fn core(vendor: &str, family: u32, model: u32) -> Option<&'static Core> {
    match (vendor, family, model) {
        ("AuthenticAMD", 25, 0x00..=0x0f | 0x20..=0x5f) => Some(&ZEN3),
        ("AuthenticAMD", 25, 0x10..=0x1f | 0x60..=0xaf) => Some(&ZEN4),
        _ => None,
    }
}

impl Core {
    /// Return its rate for a class.
    pub fn rate(&self, class: Class) -> Option<f64> {
        self.rates.iter().find(|(one, _)| *one == class).map(|(_, rate)| *rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_one_family_differ_by_model() {
        let divides = |model| core("AuthenticAMD", 25, model).map(|one| one.rate(Class::IntDiv).is_some());
        assert_eq!([0x01, 0x11, 0x21, 0x50, 0x61].map(divides), [false, true, false, false, true].map(Some));
        assert_eq!(divides(0xff), None);
        assert!(core("GenuineIntel", 25, 1).is_none());
    }
}
