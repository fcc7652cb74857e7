//! The nearest right name to a misspelt one.

/// How long an id or a name may be, in characters; longer ones are not compared.
pub(super) const ID_MAX_CHARS: usize = 64;

/// The name among `known` that `name` is most likely meant to be, if one is near enough.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    if name.len() > ID_MAX_CHARS {
        return None;
    }
    known
        .map(|candidate| (distance(&name, &plain(candidate)), candidate))
        // At most every second character may differ.
        .filter(|(distance, candidate)| distance * 2 <= name.len().max(candidate.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters without case, and one kind of dash.
fn plain(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '-' | ' ') { '_' } else { c }).collect()
}

/// How many characters to insert, drop, replace or swap with their neighbour to get from `a` to `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut best =
                (cell(&above, j) + usize::from(from != to)).min(cell(&above, j + 1) + 1).min(cell(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from) {
                best = best.min(cell(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(a.len())
}
