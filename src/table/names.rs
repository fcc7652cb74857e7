//! The nearest right name to a misspelt one.

/// How long an id or a name may be, in characters; longer ones are not compared.
pub(super) const ID_MAX_CHARS: usize = 64;

/// The name among `known` that `name` is most likely meant to be, if one is near enough: letter
/// case and the kind of dash do not count, and at most every second character may differ.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > ID_MAX_CHARS {
        return None;
    }
    let name = plain(name);
    known
        .map(|candidate| (strsim::osa_distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| distance * 2 <= name.chars().count().max(candidate.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters without case, and one kind of dash.
fn plain(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '-' | ' ') { '_' } else { c }).collect()
}
