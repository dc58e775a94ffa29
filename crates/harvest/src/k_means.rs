//! K-means clustering (Lloyd 1982) with k-means++ starts (Arthur and Vassilvitskii 2007).

use crate::sequence::Sequence;

/// Most rounds. A few thousand points converge far sooner.
const ROUNDS: usize = 100;

/// Return the cluster of each point: at most `k` clusters, numbered by first appearance. Equal seeds give
/// equal clusters.
pub fn k_means(points: &[Vec<f64>], k: usize, seed: u64) -> Vec<usize> {
    if points.is_empty() || k == 0 {
        return vec![0; points.len()];
    }
    let mut centres = starting_centres(points, k, &mut Sequence::new(seed));
    let mut cluster_of = vec![usize::MAX; points.len()];
    for _ in 0..ROUNDS {
        let mut moved = false;
        for (point, at) in points.iter().zip(&mut cluster_of) {
            let next = nearest(point, &centres).0;
            moved |= next != *at;
            *at = next;
        }
        if !moved {
            break;
        }
        for (number, centre) in centres.iter_mut().enumerate() {
            let members =
                points.iter().zip(&cluster_of).filter(|(_, &at)| at == number).map(|(point, _)| point);
            let (mut sum, mut n) = (vec![0.0; centre.len()], 0.0);
            for point in members {
                n += 1.0;
                sum.iter_mut().zip(point).for_each(|(total, x)| *total += x);
            }
            if n > 0.0 {
                *centre = sum.into_iter().map(|total| total / n).collect();
            }
        }
    }
    number_by_appearance(cluster_of)
}

/// Draw starting centres in proportion to squared distance. Return fewer than `k` if fewer points differ.
fn starting_centres(points: &[Vec<f64>], k: usize, random: &mut Sequence) -> Vec<Vec<f64>> {
    let mut centres = vec![points[random.below(points.len())].clone()];
    let mut distances: Vec<f64> = points.iter().map(|point| squared_distance(point, &centres[0])).collect();
    while centres.len() < k {
        let Some(next) = random.weighted(&distances) else { break };
        let centre = points[next].clone();
        for (distance, point) in distances.iter_mut().zip(points) {
            *distance = distance.min(squared_distance(point, &centre));
        }
        centres.push(centre);
    }
    centres
}

fn nearest(point: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    centres.iter().map(|centre| squared_distance(point, centre)).enumerate().fold(
        (0, f64::INFINITY),
        |best, one| {
            if one.1 < best.1 {
                one
            } else {
                best
            }
        },
    )
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

fn number_by_appearance(cluster_of: Vec<usize>) -> Vec<usize> {
    let mut names: Vec<usize> = Vec::new();
    cluster_of
        .into_iter()
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
    fn separate_clusters_are_found_with_any_seed() {
        let points: Vec<Vec<f64>> =
            (0..90).map(|i| vec![f64::from(i % 3) * 10.0 + f64::from(i) * 0.01, f64::from(i % 3)]).collect();
        for seed in 0..20 {
            let cluster_of = k_means(&points, 3, seed);
            assert!((0..90).all(|i| cluster_of[i] == i % 3), "seed {seed}");
        }
    }

    #[test]
    fn there_are_at_most_as_many_clusters_as_distinct_points() {
        let points = vec![vec![1.0], vec![1.0], vec![2.0]];
        assert_eq!(k_means(&points, 13, 1), [0, 0, 1]);
        assert_eq!(k_means(&[], 3, 1), Vec::<usize>::new());
    }
}
