//! Finds which instructions share execution ports: the certificate of a core, from times alone.
//!
//! Two classes are interleaved in one stream, balanced so that each alone would take the same time. On disjoint
//! ports the stream takes as long as either; on the same ports it takes the sum. The overlap of a pair is `(T(a and
//! b) - max(T(a), T(b))) / min(T(a), T(b))`: 0 if the times overlap completely, 1 if they add up.

use serde::Serialize;

use crate::burst::CoreClock;
use crate::stream::{round_of, Stream};
use crate::validate::{time_alone, time_part};
use crate::{Class, StressorError};

/// From this overlap on, two classes use the same ports: half-way between sharing all and sharing two thirds.
const SAME_PORTS: f64 = 0.83;
/// Up to this overlap, they use different ports. Dispatch width alone gives a pair of fast classes 0.17 on a
/// six-wide core, for example.
pub const DIFFERENT_PORTS: f64 = 0.2;

/// How often all cells are measured. Another guest on this core disturbs some for about a second, and the median of
/// five tolerates two disturbed passes. A pass takes 0.8 s. (Medians or minima of each of a cell's three times were
/// worse, because all three are disturbed in the same pass.)
const PASSES: usize = 5;

/// How much of the shorter of two streams is not hidden by the other.
#[derive(Clone, Debug, Serialize)]
pub struct Overlap {
    /// The first class.
    pub a: Class,
    /// The second class.
    pub b: Class,
    /// 0: disjoint ports, 1: the same ports.
    pub value: f64,
    /// Lower bound, from the quartiles of the bursts.
    pub low: f64,
    /// Upper bound, from the quartiles of the bursts.
    pub high: f64,
}

/// Classes that use the same ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The classes.
    pub classes: Vec<Class>,
    /// Whether it is an axis: all overlaps with the other axes are small.
    pub axis: bool,
}

/// Port groups of this core, as derived from times.
#[derive(Debug, Serialize)]
pub struct Certificate {
    /// All pairs, each once; a row starts with the pair of a class with itself.
    pub overlaps: Vec<Overlap>,
    /// Classes grouped by ports.
    pub groups: Vec<Group>,
    /// Undisturbed bursts over all cells.
    pub clean: usize,
    /// All bursts over all cells.
    pub tried: usize,
    /// Clock of the core in GHz.
    pub ghz: f64,
}

/// Measure all pairs of some classes on the calling thread, which should be pinned to a CPU.
///
/// # Errors
/// If every burst of a pair was disturbed, or the kernel provides no memory for code.
pub fn certificate(classes: &[Class], wanted: usize) -> Result<Certificate, StressorError> {
    let mut clock = CoreClock::new()?;
    let mut costs = Vec::new();
    for &class in classes {
        match time_alone(&mut clock, class, wanted) {
            Ok(bursts) => costs.push((class, bursts.ticks)),
            Err(StressorError::Unsupported { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    let mut found = Certificate { overlaps: Vec::new(), groups: Vec::new(), clean: 0, tried: 0, ghz: 0.0 };
    let mut passes = Vec::new();
    for _ in 0..PASSES {
        let mut cells = Vec::new();
        for (row, &a) in costs.iter().enumerate() {
            for &b in &costs[row..] {
                cells.push(overlap(&mut clock, a, b, wanted, &mut found.clean, &mut found.tried)?);
            }
        }
        passes.push(cells);
    }
    found.overlaps = median_cells(&passes);
    found.ghz = clock.ghz();
    let present: Vec<Class> = costs.iter().map(|(class, _)| *class).collect();
    found.groups = cluster(&present, &found.overlaps);
    Ok(found)
}

/// Return each cell from the pass with its median value.
fn median_cells(passes: &[Vec<Overlap>]) -> Vec<Overlap> {
    let cells = passes.first().map_or(0, Vec::len);
    let of = |cell: usize| {
        let mut seen: Vec<&Overlap> = passes.iter().map(|pass| &pass[cell]).collect();
        seen.sort_by(|one, other| one.value.total_cmp(&other.value));
        seen[seen.len() / 2].clone()
    };
    (0..cells).map(of).collect()
}

/// Return the counts of a round in which both parts alone take the same time.
fn balance(round: usize, a: f64, b: f64) -> (usize, usize) {
    let share = b / (a + b);
    let first = ((round as f64 * share).round() as usize).clamp(6, round - 6);
    (first, round - first)
}

fn overlap(
    clock: &mut CoreClock,
    (a, cost_a): (Class, f64),
    (b, cost_b): (Class, f64),
    wanted: usize,
    clean: &mut usize,
    tried: &mut usize,
) -> Result<Overlap, StressorError> {
    let (n_a, n_b) = balance(round_of(&[a, b]), cost_a, cost_b);
    let mut time = |stream: Result<Stream, StressorError>| {
        let found = time_part(clock, &mut stream?, &format!("{} with {}", a.name(), b.name()), 1.0, wanted)?;
        *clean += found.clean;
        *tried += found.tried;
        Ok::<_, StressorError>(found)
    };
    let alone_a = time(Stream::of_class(a, n_a))?;
    let alone_b = time(Stream::of_class(b, n_b))?;
    let both = time(Stream::pair((a, n_a), (b, n_b)))?;
    let (longer, shorter) = (alone_a.ticks.max(alone_b.ticks), alone_a.ticks.min(alone_b.ticks));
    let share = |ticks: f64| (ticks - longer) / shorter;
    Ok(Overlap {
        a,
        b,
        value: share(both.ticks),
        low: share(both.quartiles[0]),
        high: share(both.quartiles[1]),
    })
}

/// Group classes by ports: classes whose times add up form a group. The axes are the largest set of groups with
/// small mutual overlap; ties are decided by the number of classes, then by the least overlap with the other
/// groups.
pub fn cluster(classes: &[Class], overlaps: &[Overlap]) -> Vec<Group> {
    let value = |a: Class, b: Class| {
        let found = overlaps.iter().find(|one| (one.a, one.b) == (a, b) || (one.a, one.b) == (b, a));
        found.map_or(0.0, |one| one.value)
    };
    let mut groups: Vec<Vec<Class>> = Vec::new();
    for &class in classes {
        match groups.iter_mut().find(|group| group.iter().all(|&other| value(class, other) >= SAME_PORTS)) {
            Some(group) => group.push(class),
            None => groups.push(vec![class]),
        }
    }
    let between = |one: usize, other: usize| {
        let all = groups[one].iter().flat_map(|&a| groups[other].iter().map(move |&b| (a, b)));
        all.map(|(a, b)| value(a, b)).fold(0.0, f64::max)
    };
    let shared: Vec<Vec<f64>> =
        (0..groups.len()).map(|one| (0..groups.len()).map(|other| between(one, other)).collect()).collect();
    let merit = |set: u32| {
        let inside = |group: usize| set & (1 << group) != 0;
        let members: Vec<usize> = (0..groups.len()).filter(|&group| inside(group)).collect();
        let apart =
            members.iter().all(|&a| members.iter().all(|&b| a == b || shared[a][b] <= DIFFERENT_PORTS));
        let classes: usize = members.iter().map(|&group| groups[group].len()).sum();
        let outside =
            members.iter().flat_map(|&a| shared[a].iter().enumerate().filter(move |(b, _)| *b != a));
        apart.then(|| (members.len(), classes, -outside.map(|(_, share)| share.max(0.0)).sum::<f64>()))
    };
    // There are at most fourteen classes, so all sets can be enumerated.
    let best = (0..1u32 << groups.len())
        .filter_map(|set| merit(set).map(|merit| (merit, set)))
        .max_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)))
        .map_or(0, |(_, set)| set);
    let found = groups.iter().enumerate();
    found.map(|(at, classes)| Group { classes: classes.clone(), axis: best & (1 << at) != 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaps(of: &[(Class, Class, f64)]) -> Vec<Overlap> {
        of.iter().map(|&(a, b, value)| Overlap { a, b, value, low: value, high: value }).collect()
    }

    #[test]
    fn classes_whose_times_add_up_form_a_group_and_a_class_on_all_ports_is_no_axis() {
        use Class::{FpAdd, FpLogic, FpMul, IntAdd, VecMul};
        let seen = overlaps(&[
            (FpMul, FpAdd, 0.12),
            (FpMul, FpLogic, 0.5),
            (FpAdd, FpLogic, 0.5),
            (FpMul, VecMul, 1.0),
            (FpAdd, VecMul, 0.1),
            (FpLogic, VecMul, 0.5),
            (FpLogic, IntAdd, 0.17),
        ]);
        let found = cluster(&[FpMul, FpAdd, FpLogic, VecMul, IntAdd], &seen);
        let of = |class| found.iter().find(|group| group.classes.contains(&class)).unwrap();
        assert_eq!(of(FpMul).classes, [FpMul, VecMul]);
        assert_eq!(of(FpLogic).classes, [FpLogic]);
        assert!(of(FpMul).axis && of(FpAdd).axis && of(IntAdd).axis);
        assert!(!of(FpLogic).axis);
    }

    #[test]
    fn two_disturbed_passes_of_five_do_not_change_a_cell() {
        let pass = |value: f64| {
            vec![Overlap { a: Class::IntAdd, b: Class::Load, value, low: value - 0.1, high: value + 0.1 }]
        };
        let seen = median_cells(&[0.02, 0.9, 0.01, -0.3, 0.03].map(pass));
        assert_eq!((seen.len(), seen[0].value, seen[0].low), (1, 0.02, 0.02 - 0.1));
        assert!(median_cells(&[]).is_empty());
    }

    #[test]
    fn both_parts_of_a_pair_take_the_same_time_alone() {
        for (a, b) in [(0.25, 6.0), (0.5, 0.5), (1.0, 3.0), (13.0, 0.25)] {
            let (n_a, n_b) = balance(600, a, b);
            let (t_a, t_b) = (n_a as f64 * a, n_b as f64 * b);
            assert!((t_a - t_b).abs() <= 0.5 * a.max(b).max(1.0) + 0.1 * t_a, "{a} {b}: {t_a} {t_b}");
        }
    }
}
