//! Golden vectors: decisions that the plug-ins of `hadoop/` must reproduce. One case per line, columns
//! separated by tabs.
//!
//! ```text
//!  tenant  ENVIRONMENT REIMAGES PEAK SPACE FIRST_SERVER SERVERS CELL
//!  place   SEED WEIGH REPAIR FIRST LAST PRESENT(,) -> SERVER LEVEL   (FIRST to LAST are usable except 5 modulo 7;
//!                                                                   -1 -1 if no server is left)
//!  select  SEED LENGTH WANTS NOW(,) -> CLASSES(,)
//! ```

use std::fmt::Write as _;

use crate::grid::Tenant;
use crate::jobs::Length;
use crate::pattern::Pattern;
use crate::place::{Placer, Repair, Rules, Weigh};
use crate::select::{select, ClassState, Job, Weights};
use crate::sequence::Sequence;

const TENANTS: u32 = 37;

/// Return the tenants of all vectors: 1 to 8 servers each, two tenants per environment.
fn tenants(random: &mut Sequence) -> Vec<Tenant> {
    let mut first = 0;
    (0..TENANTS)
        .map(|i| {
            let servers = 1 + random.below(8) as u32;
            first += servers;
            Tenant {
                environment: i / 2,
                // Few different values, so that ties occur.
                reimages: random.below(9) as f64 / 8.0,
                peak: random.below(17) as f64 / 16.0,
                space: f64::from(servers) * 1.5,
                servers: (first - servers..first).collect(),
            }
        })
        .collect()
}

fn join<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// Return all vectors as text.
///
/// # Panics
///
/// Never: the tenants are in range.
pub fn vectors() -> String {
    let mut random = Sequence::new(2016);
    let tenants = tenants(&mut random);
    let servers = tenants.iter().map(|tenant| tenant.servers.len()).sum::<usize>();
    let mut text = String::from("# hindmost.harvest.golden/1\n");
    let placer = |weigh, repair, soft| {
        Placer::new(tenants.clone(), Rules { weigh, repair, soft, grid: true }).expect("tenants are in range")
    };
    let plain = placer(Weigh::Tenants, Repair::Row, true);
    for tenant in &tenants {
        let cell = plain.cell_of(tenant.servers[0]).expect("a tenant's own server");
        let (first, n) = (tenant.servers[0], tenant.servers.len());
        let Tenant { environment, reimages, peak, space, .. } = tenant;
        let _ = writeln!(text, "tenant\t{environment}\t{reimages}\t{peak}\t{space}\t{first}\t{n}\t{cell}");
    }
    for (weigh, name) in [(Weigh::Tenants, "tenants"), (Weigh::Space, "space")] {
        for (repair, operation) in
            [(None, "create"), (Some(Repair::Strict), "strict"), (Some(Repair::Row), "row")]
        {
            let placer = placer(weigh, repair.unwrap_or_default(), true);
            for case in 0..50 {
                let seed = random.word();
                let present: Vec<usize> = (0..case % 6).map(|_| random.below(servers)).collect();
                let known: Vec<u32> = present.iter().map(|&server| server as u32).collect();
                // In every third case, only servers near the first replica are usable, so the rules must be
                // relaxed.
                let near = case % 3 == 2 && !known.is_empty();
                let (first, last) = if near { (known[0], known[0] + 4) } else { (0, servers as u32) };
                let usable = |server: u32| (first..=last).contains(&server) && server % 7 != 5;
                let choice = placer.choose(&known, repair.is_some(), &mut Sequence::new(seed), usable);
                let (server, level) =
                    choice.map_or((-1, -1), |choice| (i64::from(choice.server), i64::from(choice.level)));
                let present = join(&present);
                let _ = writeln!(
                    text,
                    "place\t{seed}\t{name}\t{operation}\t{first}\t{last}\t{present}\t{server}\t{level}"
                );
            }
        }
    }
    let patterns = [Pattern::Periodic, Pattern::Constant, Pattern::Unpredictable];
    for (length, name) in [(Length::Short, "short"), (Length::Medium, "medium"), (Length::Long, "long")] {
        for case in 0..30 {
            let seed = random.word();
            let now: Vec<f64> = (0..6).map(|_| random.below(33) as f64 / 32.0).collect();
            let states: Vec<ClassState> = (now.iter().enumerate())
                .map(|(at, &now)| ClassState {
                    pattern: patterns[at % 3],
                    mean: 0.25 + at as f64 / 32.0,
                    peak: 0.5 + at as f64 / 16.0,
                    now,
                    capacity: 64.0,
                })
                .collect();
            let wants = f64::from(case * 8);
            let job = Job { length, wants };
            let selected = select(&job, &states, &Weights::default(), &mut Sequence::new(seed))
                .expect("wants is in range");
            let _ = writeln!(text, "select\t{seed}\t{name}\t{wants}\t{}\t{}", join(&now), join(&selected));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_file_of_the_java_tests_is_current() {
        let kept = include_str!("../../../hadoop/src/test/resources/golden.tsv");
        if kept != vectors() && std::env::var_os("HINDMOST_REFRESH_GOLDEN").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hadoop/src/test/resources/golden.tsv");
            std::fs::write(path, vectors()).unwrap();
            return;
        }
        assert!(kept == vectors(), "to update: HINDMOST_REFRESH_GOLDEN=1 cargo test -p hindmost-harvest");
    }

    #[test]
    fn the_vectors_cover_every_level_and_number_of_classes() {
        let text = vectors();
        let column = |kind: &str, at: usize| -> Vec<String> {
            let rows = text.lines().filter(|line| line.starts_with(kind));
            rows.map(|line| line.split('\t').nth(at).unwrap().to_owned()).collect()
        };
        let levels = column("place", 8);
        assert!(
            ["0", "1", "2", "3", "4", "-1"]
                .iter()
                .all(|level| levels.iter().any(|expected| expected == level)),
            "{levels:?}"
        );
        let counts: Vec<usize> =
            column("select", 5).iter().map(|c| c.split(',').filter(|c| !c.is_empty()).count()).collect();
        assert!([0, 1, 2, 3].iter().all(|n| counts.contains(n)));
    }
}
