//! Suggestions for misspelled names.

/// Return `; did you mean NAME?` if a name is similar enough; otherwise all names, if there are few.
pub fn nearest(word: &str, names: &[&str]) -> String {
    let near = names.iter().map(|name| (distance(word, name), name)).min();
    match near {
        Some((steps, name)) if steps <= 1 + word.len() / 4 => format!("; did you mean {name}?"),
        Some(_) if names.len() <= 12 => format!("; there are {}", names.join(", ")),
        _ => String::new(),
    }
}

/// Return the edit distance: letters inserted, deleted, changed, or swapped with their neighbour (Damerau 1964,
/// where no pair is edited twice).
fn distance(one: &str, other: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_one_step() {
        for (one, other, steps) in
            [("int", "itn", 1), ("int", "in", 1), ("", "abc", 3), ("a", "a", 0), ("ab", "ba", 1)]
        {
            assert_eq!(distance(one, other), steps, "{one} {other}");
        }
        assert_eq!(nearest("zzzz", &["int", "hex"]), "; there are int, hex");
    }
}
