//! Which runs there are, and how far those that are being merged have come: one row, changed with the pages.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use hindsight_shared::bytes::Reader;

use crate::runs::hashes::{MAX_PREFIX, PREFIX_BITS, Prefix};

/// The list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunList {
    /// Runs that are whole, or were before a merge began.
    pub runs: Vec<u32>,
    /// What is being merged.
    pub merges: Vec<Merge>,
}

/// Runs on their way into one, slice by slice of the prefixes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Merge {
    /// The new one.
    pub into: u32,
    /// The old ones.
    pub parts: Vec<u32>,
    /// Of how many slices.
    pub slices: u32,
    /// How many are done.
    pub done: u32,
}

/// No merge has as many: of all prefixes each slice has some.
const MOST_SLICES: u32 = 1 << 20;

impl Merge {
    /// The prefixes of a slice.
    pub fn slice(&self, number: u32) -> RangeInclusive<Prefix> {
        let start = |number: u32| (u64::from(number) << PREFIX_BITS) / u64::from(self.slices.max(1));
        start(number)..=start(number + 1) - 1
    }
}

impl RunList {
    /// All runs that it names.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().copied().chain(self.merges.iter().map(|merge| merge.into))
    }

    /// Runs and the prefixes that each answers for, and whether it is one of those that have been whole.
    pub fn readable(&self) -> impl Iterator<Item = (u32, RangeInclusive<Prefix>, bool)> {
        let of_parts = self.runs.iter().map(|&id| {
            let merge = self.merges.iter().find(|merge| merge.parts.contains(&id));
            (id, merge.map_or(0, |merge| *merge.slice(merge.done).start())..=MAX_PREFIX, true)
        });
        let merged = self.merges.iter().filter(|merge| merge.done > 0);
        of_parts.chain(merged.map(|merge| (merge.into, 0..=*merge.slice(merge.done - 1).end(), false)))
    }

    /// These runs and, where one of them takes part in a merge, everything else that does: half of its rows are
    /// elsewhere.
    pub fn with_their_merges(&self, mut ids: BTreeSet<u32>) -> BTreeSet<u32> {
        for merge in &self.merges {
            if ids.contains(&merge.into) || merge.parts.iter().any(|part| ids.contains(part)) {
                ids.insert(merge.into);
                ids.extend(&merge.parts);
            }
        }
        ids
    }

    /// The list without these.
    pub fn without(&self, gone: &BTreeSet<u32>) -> Self {
        let mut list = self.clone();
        list.runs.retain(|id| !gone.contains(id));
        list.merges.retain(|merge| !gone.contains(&merge.into));
        list
    }

    /// Runs (4) ‖ their numbers (4 each) ‖ merges: into, slices, done, parts (4 each) ‖ their numbers (4 each).
    pub fn pack(&self) -> Vec<u8> {
        let count = |ids: &[u32]| u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let mut words = vec![count(&self.runs)];
        words.extend(&self.runs);
        for merge in &self.merges {
            words.extend([merge.into, merge.slices, merge.done, count(&merge.parts)]);
            words.extend(&merge.parts);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Reads a list back; `None` where it is none.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let mut list = Self { runs: ids(&mut reader)?, merges: Vec::new() };
        while reader.left() > 0 {
            let (into, slices, done) = (reader.u32().ok()?, reader.u32().ok()?, reader.u32().ok()?);
            (done < slices && slices < MOST_SLICES).then_some(())?;
            list.merges.push(Merge { into, slices, done, parts: ids(&mut reader)? });
        }
        Some(list)
    }
}

fn ids(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    (0..reader.u32().ok()?).map(|_| reader.u32().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> RunList {
        let merge = Merge { into: 9, parts: vec![4, 5], slices: 3, done: 1 };
        RunList { runs: vec![3, 4, 5, 7], merges: vec![merge] }
    }

    #[test]
    fn lists_return_and_others_are_refused() {
        let bytes = list().pack();
        assert_eq!(RunList::unpack(&bytes), Some(list()));
        let merges_begin = 20;
        for end in (0..bytes.len()).filter(|end| *end != merges_begin) {
            assert_eq!(RunList::unpack(&bytes[..end]), None, "{end}");
        }
    }

    #[test]
    fn slices_are_all_prefixes_once() {
        for slices in [1, 2, 3, 7, 1000] {
            let merge = Merge { into: 1, parts: Vec::new(), slices, done: 0 };
            let mut next = 0;
            for number in 0..slices {
                assert_eq!(*merge.slice(number).start(), next);
                next = merge.slice(number).end() + 1;
            }
            assert_eq!(next - 1, MAX_PREFIX);
        }
    }

    #[test]
    fn each_prefix_of_a_merge_is_answered_for_by_the_new_run_or_the_old_ones() {
        let boundary = *list().merges[0].slice(0).end();
        let readable: Vec<_> = list().readable().collect();
        let old = boundary + 1..=MAX_PREFIX;
        let expected = [
            (3, 0..=MAX_PREFIX, true),
            (4, old.clone(), true),
            (5, old, true),
            (7, 0..=MAX_PREFIX, true),
            (9, 0..=boundary, false),
        ];
        assert_eq!(readable, expected);
    }

    #[test]
    fn what_takes_part_in_a_merge_goes_together() {
        let gone = list().with_their_merges([5].into());
        assert_eq!(gone, [4, 5, 9].into());
        assert_eq!(list().without(&gone), RunList { runs: vec![3, 7], merges: Vec::new() });
        assert_eq!(list().with_their_merges([7].into()), [7].into());
    }
}
