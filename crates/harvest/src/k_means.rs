//! K-Means (Lloyd 1982), begun as k-means++ does (Arthur, Vassilvitskii 2007).

use crate::sequence::Sequence;

/// Rounds; assignments of a few thousand points settle far sooner.
const ROUNDS: usize = 100;

/// The cluster of each point: at most `k`, numbered by first appearance; the same for the same seed.
pub fn k_means(points: &[Vec<f64>], k: usize, seed: u64) -> Vec<usize> {
    if points.is_empty() || k == 0 {
        return vec![0; points.len()];
    }
    let mut centres = begin(points, k, &mut Sequence::new(seed));
    let mut of = vec![usize::MAX; points.len()];
    for _ in 0..ROUNDS {
        let mut moved = false;
        for (point, at) in points.iter().zip(&mut of) {
            let next = nearest(point, &centres).0;
            moved |= next != *at;
            *at = next;
        }
        if !moved {
            break;
        }
        for (number, centre) in centres.iter_mut().enumerate() {
            let own = points.iter().zip(&of).filter(|(_, &at)| at == number).map(|(point, _)| point);
            let (mut sum, mut n) = (vec![0.0; centre.len()], 0.0);
            for point in own {
                n += 1.0;
                sum.iter_mut().zip(point).for_each(|(total, x)| *total += x);
            }
            if n > 0.0 {
                *centre = sum.into_iter().map(|total| total / n).collect();
            }
        }
    }
    number_by_appearance(of)
}

/// Centres far apart from each other, drawn in proportion to squared distance; fewer where points are alike.
fn begin(points: &[Vec<f64>], k: usize, random: &mut Sequence) -> Vec<Vec<f64>> {
    let mut centres = vec![points[random.below(points.len())].clone()];
    let mut distances: Vec<f64> = points.iter().map(|point| squared(point, &centres[0])).collect();
    while centres.len() < k {
        let Some(next) = random.weighted(&distances) else { break };
        let centre = points[next].clone();
        for (distance, point) in distances.iter_mut().zip(points) {
            *distance = distance.min(squared(point, &centre));
        }
        centres.push(centre);
    }
    centres
}

fn nearest(point: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    centres.iter().map(|centre| squared(point, centre)).enumerate().fold((0, f64::INFINITY), |best, one| {
        if one.1 < best.1 {
            one
        } else {
            best
        }
    })
}

fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

fn number_by_appearance(of: Vec<usize>) -> Vec<usize> {
    let mut names: Vec<usize> = Vec::new();
    of.into_iter()
        .map(|old| {
            names.iter().position(|&name| name == old).unwrap_or_else(|| {
                names.push(old);
                names.len() - 1
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_that_lie_apart_are_found_whatever_the_seed() {
        let points: Vec<Vec<f64>> =
            (0..90).map(|i| vec![f64::from(i % 3) * 10.0 + f64::from(i) * 0.01, f64::from(i % 3)]).collect();
        for seed in 0..20 {
            let of = k_means(&points, 3, seed);
            assert!((0..90).all(|i| of[i] == i % 3), "seed {seed}");
        }
    }

    #[test]
    fn there_are_no_more_clusters_than_different_points() {
        let points = vec![vec![1.0], vec![1.0], vec![2.0]];
        assert_eq!(k_means(&points, 13, 1), [0, 0, 1]);
        assert_eq!(k_means(&[], 3, 1), Vec::<usize>::new());
    }
}
