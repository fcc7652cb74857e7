//! Which rules a word leaves possible, looked up a byte at a time instead of row by row.

/// How many rules an [`Index`] covers; rows behind them are tried one by one.
pub const INDEXED_RULES: usize = u32::BITS as usize;

/// For every value that each byte of a fact word can have, the rules that miss because of none of
/// its bits. What all eight bytes of a word leave are the rules that do not miss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    by_byte: [[u32; 256]; 8],
    /// The "not asked" bits of the probes that each rule tests.
    asks: [u64; INDEXED_RULES],
}

impl Index {
    /// The index of rules with these masks, in order: what makes a rule miss, and the "not asked"
    /// bits of the probes it tests.
    #[must_use]
    pub const fn of(rules: &[(u64, u64)]) -> Self {
        let mut asks = [0; INDEXED_RULES];
        let mut by_byte = [[0; 256]; 8];
        let mut place = 0;
        while place < 8 {
            let mut byte = 0;
            while byte < 256 {
                let mut rule = 0;
                while rule < rules.len() && rule < INDEXED_RULES {
                    let misses = ((byte as u64) << (8 * place)) & rules[rule].0 != 0;
                    by_byte[place][byte] |= (!misses as u32) << rule;
                    asks[rule] = rules[rule].1;
                    rule += 1;
                }
                byte += 1;
            }
            place += 1;
        }
        Self { by_byte, asks }
    }

    /// The rules that do not miss, one bit each, for a word with these bits.
    #[inline]
    #[must_use]
    pub fn possible(&self, word: u64) -> u32 {
        self.by_byte
            .iter()
            .zip(word.to_le_bytes())
            .fold(u32::MAX, |left, (place, byte)| left & place[usize::from(byte)])
    }

    /// The "not asked" bits of the probes that a rule tests.
    #[inline]
    #[must_use]
    pub fn asks(&self, rule: usize) -> u64 {
        self.asks[rule % INDEXED_RULES]
    }

    /// The rules that do not miss because of a single bit.
    #[inline]
    #[must_use]
    pub fn possible_with(&self, bit: u32) -> u32 {
        self.by_byte[(bit / 8) as usize % 8][1 << (bit % 8)]
    }
}
