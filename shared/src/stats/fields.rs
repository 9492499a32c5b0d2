//! The fields of a row of statistics by name, so that two rows that differ can be told apart in words.
//!
//! Their order and sizes are those of the table in this crate's README, which `row` packs by.

use std::fmt;

use super::row::SUMMARY_SIZE;

/// A field's name, the bytes of one value, how many values stand side by side.
const FIELDS: &[(&str, usize, usize)] = &[
    ("block hash", 32, 1),
    ("height", 4, 1),
    ("time", 4, 1),
    ("size", 4, 1),
    ("weight", 4, 1),
    ("minfee", 8, 1),
    ("medianfee", 8, 1),
    ("maxfee", 8, 1),
    ("totalfee", 8, 1),
    ("minfeerate", 8, 1),
    ("maxfeerate", 8, 1),
    ("feerate_percentiles", 8, 5),
    ("total_out", 8, 1),
    ("subsidy", 8, 1),
    ("txs", 4, 1),
    ("ins", 4, 1),
    ("outs", 4, 1),
    ("mintxsize", 4, 1),
    ("mediantxsize", 4, 1),
    ("maxtxsize", 4, 1),
    ("total_size", 4, 1),
    ("total_weight", 4, 1),
    ("swtxs", 4, 1),
    ("swtotal_size", 4, 1),
    ("swtotal_weight", 4, 1),
    ("outputs that enter the UTXO set", 4, 1),
    ("bytes of all outputs", 4, 1),
    ("bytes of outputs that enter the UTXO set", 4, 1),
    ("bytes of outputs spent", 4, 1),
    ("rates of transactions", 12, 7),
    ("rates of packages", 12, 7),
    ("outputs spent by kind", 12, 11),
    ("outputs created by kind", 12, 11),
    ("outputs spent of known height", 12, 1),
    ("outputs spent of unknown height", 12, 1),
    ("satoshis × blocks destroyed", 16, 1),
    ("height of the oldest output spent", 4, 1),
    ("witness bytes", 4, 1),
    ("OP_RETURN bytes", 4, 1),
    ("inscription envelopes", 4, 1),
    ("bytes of inscription envelopes", 4, 1),
    ("sigop cost", 4, 1),
    ("coinbase claim", 8, 1),
    ("subsidy and fees", 8, 1),
    ("text of the coinbase", 32, 1),
];

/// One value that two rows do not agree on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The field's name.
    pub field: &'static str,
    /// Which of the values that stand side by side, from 0; `None` where there is one.
    pub index: Option<usize>,
    /// The first byte of the value in the row.
    pub offset: usize,
    /// Its bytes in the first row.
    pub left: Vec<u8>,
    /// Its bytes in the second row.
    pub right: Vec<u8>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))?;
        write!(f, " {} / {}", value(&self.left), value(&self.right))
    }
}

/// A number where the field is one, else the bytes in hex.
fn value(bytes: &[u8]) -> String {
    match bytes.len() {
        ..=8 | 16 => bytes.iter().rev().fold(0_u128, |number, byte| number << 8 | u128::from(*byte)).to_string(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Every value that two rows do not agree on, in their order. `None` where either is no whole row.
pub fn differences(left: &[u8], right: &[u8]) -> Option<Vec<Difference>> {
    if left.len() != SUMMARY_SIZE || right.len() != SUMMARY_SIZE {
        return None;
    }
    let mut found = Vec::new();
    let mut offset = 0;
    for &(field, size, count) in FIELDS {
        for index in 0..count {
            let (left, right) = (&left[offset..offset + size], &right[offset..offset + size]);
            if left != right {
                let index = (count > 1).then_some(index);
                found.push(Difference { field, index, offset, left: left.to_vec(), right: right.to_vec() });
            }
            offset += size;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::Height;
    use crate::block::BlockView;
    use crate::stats::row::Summary;

    #[test]
    fn fields_fill_the_row() {
        assert_eq!(FIELDS.iter().map(|(_, size, count)| size * count).sum::<usize>(), SUMMARY_SIZE);
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let genesis = bitcoin::blockdata::constants::genesis_block(bitcoin::Network::Bitcoin);
        let bytes = bitcoin::consensus::serialize(&genesis);
        let block = BlockView::parse(&bytes).unwrap();
        let row = Summary::compute(bitcoin::Network::Bitcoin, Height(0), &block, None).unwrap();
        let mut other = row;
        other.height = Height(7);
        other.core.totalfee = 5000;
        other.core.feerate_percentiles[3] = 2;
        other.core.swtotal_weight = 3;
        other.core.utxo.spent_bytes = 4;
        other.by_package.max.fee = 258;
        other.content.ages.destroyed = 1 << 100;
        other.content.sigop_cost += 1;
        other.content.claimed += 1;
        let found = differences(&row.pack(), &other.pack()).unwrap();
        let said: Vec<String> = found.iter().map(Difference::to_string).collect();
        let expected = [
            "height 0 / 7",
            "totalfee 0 / 5000",
            "feerate_percentiles[3] 0 / 2",
            "swtotal_weight 0 / 3",
            "bytes of outputs spent 0 / 4",
            "rates of packages[6] 000000000000000000000000 / 020100000000000000000000",
            "satoshis × blocks destroyed 0 / 1267650600228229401496703205376",
            "sigop cost 4 / 5",
            "coinbase claim 5000000000 / 5000000001",
        ];
        assert_eq!(said, expected);
        assert_eq!(differences(&row.pack(), &row.pack()), Some(Vec::new()));
        assert_eq!(differences(&row.pack(), &row.pack()[1..]), None);
    }
}
