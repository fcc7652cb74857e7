//! A set of combinations of facts described by the fewest conjunctions of conditions.
//!
//! What one conjunction can match is a *cube*. The largest cubes that match nothing outside the
//! set are found by starting from everything and excluding each outsider in every way that a
//! condition can; of these, as few as possible are chosen that match the whole set together.

use super::model::{Condition, FactWord, State, Vocabulary};

/// How many cubes are kept while searching; beyond it the result is a good one, not the smallest.
const MAX_CUBES: usize = 2_000;
/// How many choices are tried for the smallest selection of cubes.
const MAX_CHOICES: usize = 100_000;

/// Conjunctions that together match exactly the set they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// The conjunctions, each in fact order and with as few conditions as it can have.
    pub conjunctions: Vec<Vec<Condition>>,
    /// Whether fewer conjunctions are proven not to do.
    pub smallest: bool,
}

/// Describes the combinations of `space` for which `inside` holds.
#[must_use]
pub fn cover(vocabulary: &Vocabulary, space: &[FactWord], inside: impl Fn(FactWord) -> bool) -> Cover {
    let space = Space::new(vocabulary, space);
    let wanted = Set::of(space.words.iter().map(|word| inside(*word)));
    let (cubes, complete) = match space.largest_cubes(&wanted) {
        Some(cubes) => (cubes, true),
        None => (wanted.points().map(|point| space.some_cube(&wanted, point)).collect(), false),
    };
    let described: Vec<(Set, Vec<Condition>)> =
        cubes.into_iter().map(|cube| (space.describe(&cube), cube)).map(|(c, s)| (s, c)).collect();
    let (chosen, exhausted) = choose(&wanted, &described);
    let mut conjunctions: Vec<Vec<Condition>> =
        chosen.into_iter().filter_map(|index| described.get(index)).map(|(_, conditions)| conditions.clone()).collect();
    conjunctions.sort_by_key(|conditions| conditions.iter().map(|c| (c.fact, c.wanted)).collect::<Vec<_>>());
    Cover { conjunctions, smallest: complete && exhausted }
}

/// A set of combinations, by their place in the space.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Set(Vec<u64>);

impl Set {
    fn of(members: impl Iterator<Item = bool>) -> Self {
        let mut bits = Vec::new();
        for (place, member) in members.enumerate() {
            if place % 64 == 0 {
                bits.push(0);
            }
            if let Some(last) = bits.last_mut() {
                *last |= u64::from(member) << (place % 64);
            }
        }
        Self(bits)
    }

    fn zip(&self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| op(*a, *b)).collect())
    }

    fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    fn points(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|place| self.has(*place))
    }
}

/// The combinations, and for each fact and each thing it can be, which of them have it so.
struct Space<'s> {
    words: &'s [FactWord],
    vocabulary: &'s Vocabulary,
    everything: Set,
    /// By fact, by value.
    having: Vec<Vec<Set>>,
    /// By fact: the combinations in which it does not apply. No condition on it matches them.
    inapplicable: Vec<Set>,
}

impl<'s> Space<'s> {
    fn new(vocabulary: &'s Vocabulary, words: &'s [FactWord]) -> Self {
        let having = |state: State, fact: usize| {
            Set::of(words.iter().map(|word| vocabulary.facts.get(fact).is_some_and(|spec| word.state(spec) == state)))
        };
        let facts = vocabulary.facts.iter().enumerate();
        Self {
            words,
            vocabulary,
            everything: Set::of(words.iter().map(|_| true)),
            having: facts
                .clone()
                .map(|(fact, spec)| (0..spec.values.len()).map(|value| having(State::Value(value), fact)).collect())
                .collect(),
            inapplicable: facts.map(|(fact, _)| having(State::NotApplicable, fact)).collect(),
        }
    }

    /// Every way in which a condition on one fact can exclude `outsider` from `cube`.
    fn excluding<'c>(&'c self, cube: &'c Set, outsider: usize) -> impl Iterator<Item = Set> + 'c {
        self.having.iter().zip(&self.inapplicable).map(move |(having, inapplicable)| {
            let cube = cube.without(inapplicable);
            match having.iter().find(|set| set.has(outsider)) {
                Some(set) => cube.without(set),
                None => cube,
            }
        })
    }

    /// All largest cubes within `wanted`; `None` if there are too many on the way.
    fn largest_cubes(&self, wanted: &Set) -> Option<Vec<Set>> {
        let mut cubes = vec![self.everything.clone()];
        for outsider in self.everything.without(wanted).points() {
            let (hit, mut kept): (Vec<Set>, Vec<Set>) = cubes.into_iter().partition(|cube| cube.has(outsider));
            for cube in hit.iter().flat_map(|cube| self.excluding(cube, outsider)) {
                if cube.meets(wanted) && !kept.iter().any(|other| cube.is_within(other)) {
                    kept.retain(|other| !other.is_within(&cube));
                    kept.push(cube);
                }
            }
            if kept.len() > MAX_CUBES {
                return None;
            }
            cubes = kept;
        }
        Some(cubes)
    }

    /// One large cube within `wanted` around `point`.
    fn some_cube(&self, wanted: &Set, point: usize) -> Set {
        let mut cube = self.everything.clone();
        while let Some(outsider) = cube.without(wanted).points().next() {
            let best = self
                .excluding(&cube, outsider)
                .filter(|smaller| smaller.has(point) && !smaller.has(outsider))
                .max_by_key(|smaller| smaller.and(wanted).len());
            match best {
                Some(smaller) => cube = smaller,
                None => break,
            }
        }
        cube
    }

    /// The fewest conditions that match exactly the combinations of `cube`.
    fn describe(&self, cube: &Set) -> Vec<Condition> {
        let candidates: Vec<(Condition, Set)> = (0..self.vocabulary.facts.len())
            .filter(|fact| self.inapplicable.get(*fact).is_some_and(|none| !none.meets(cube)))
            .filter_map(|fact| {
                let spec = self.vocabulary.facts.get(fact)?;
                let mut matching = Set::of(self.words.iter().map(|_| false));
                let mut wanted = 0;
                for (value, having) in self.having.get(fact)?.iter().enumerate().filter(|(_, set)| set.meets(cube)) {
                    wanted |= spec.value_bit(value);
                    matching = matching.zip(having, |a, b| a | b);
                }
                Some((Condition { fact, wanted }, matching))
            })
            .collect();
        let conditions = (0..=candidates.len()).find_map(|size| fewest(&candidates, size, &self.everything, cube));
        conditions.unwrap_or_default()
    }
}

/// `size` of the candidates that, within `matched`, match `cube` and nothing else.
fn fewest(candidates: &[(Condition, Set)], size: usize, matched: &Set, cube: &Set) -> Option<Vec<Condition>> {
    if size == 0 {
        return (matched == cube).then(Vec::new);
    }
    candidates.iter().enumerate().find_map(|(index, (condition, matching))| {
        let narrower = matched.and(matching);
        if narrower == *matched {
            return None;
        }
        let mut conditions = fewest(candidates.get(index + 1..)?, size - 1, &narrower, cube)?;
        conditions.insert(0, *condition);
        Some(conditions)
    })
}

/// Indexes of the fewest cubes, and of those the ones with the fewest conditions, that match all
/// of `wanted`, and whether all choices were tried.
fn choose(wanted: &Set, cubes: &[(Set, Vec<Condition>)]) -> (Vec<usize>, bool) {
    let mut search = Search { cubes, best: greedily(wanted, cubes), choices: 0 };
    search.extend(wanted, &mut Vec::new());
    (search.best, search.choices < MAX_CHOICES)
}

/// A selection that takes the cube that matches the most of what is left.
fn greedily(wanted: &Set, cubes: &[(Set, Vec<Condition>)]) -> Vec<usize> {
    let (mut left, mut chosen) = (wanted.clone(), Vec::new());
    while !left.is_empty() {
        let gain =
            |(cube, conditions): &(Set, Vec<Condition>)| (cube.and(&left).len(), std::cmp::Reverse(conditions.len()));
        let Some((index, (cube, _))) = cubes.iter().enumerate().max_by_key(|(_, cube)| gain(cube)) else { break };
        if !cube.meets(&left) {
            break;
        }
        left = left.without(cube);
        chosen.push(index);
    }
    chosen
}

struct Search<'c> {
    cubes: &'c [(Set, Vec<Condition>)],
    best: Vec<usize>,
    choices: usize,
}

impl Search<'_> {
    fn cost(&self, chosen: &[usize]) -> (usize, usize) {
        let conditions = chosen.iter().filter_map(|index| self.cubes.get(*index)).map(|(_, when)| when.len()).sum();
        (chosen.len(), conditions)
    }

    /// Tries every way to match what is `left`, beginning at the combination with the fewest ways.
    fn extend(&mut self, left: &Set, chosen: &mut Vec<usize>) {
        if left.is_empty() {
            if self.cost(chosen) < self.cost(&self.best) {
                self.best.clone_from(chosen);
            }
            return;
        }
        let largest = self.cubes.iter().map(|(cube, _)| cube.and(left).len()).max().unwrap_or_default().max(1);
        let at_least = chosen.len() + left.len().div_ceil(largest);
        if self.choices >= MAX_CHOICES
            || at_least > self.best.len()
            || (at_least, self.cost(chosen).1) >= self.cost(&self.best)
        {
            return;
        }
        let ways = |point: usize| self.cubes.iter().enumerate().filter(move |(_, (cube, _))| cube.has(point));
        let Some(point) = left.points().min_by_key(|point| ways(*point).count()) else { return };
        let options: Vec<usize> = ways(point).map(|(index, _)| index).collect();
        for index in options {
            self.choices += 1;
            if let Some((cube, _)) = self.cubes.get(index) {
                let left = left.without(cube);
                chosen.push(index);
                self.extend(&left, chosen);
                chosen.pop();
            }
        }
    }
}
