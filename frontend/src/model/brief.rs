//! What a list shows of a block's statistics.

use bitcoin::Amount;
use hindsight_shared::DecodeError;
use hindsight_shared::bytes::Reader;
use hindsight_shared::stats::exact::FeeRate;
use hindsight_shared::stats::miner;
use hindsight_shared::stats::row::Summary;

/// A block's statistics in brief.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Brief {
    /// The block.
    pub hash: bitcoin::BlockHash,
    /// Weight of the whole block.
    pub weight: u32,
    /// Sum of all fees.
    pub fees: Amount,
    /// Its fee rates; `None` where nobody paid one.
    pub rates: Option<Rates>,
    /// The pool that its coinbase names, or else the text in it.
    pub miner: String,
}

/// Exact fee rates, in thousandths of a satoshi per virtual byte, spread by weight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rates {
    /// The lowest.
    pub min: u64,
    /// A tenth of the weight pays this or less.
    pub p10: u64,
    /// Half of the weight does.
    pub median: u64,
    /// Nine tenths of it do.
    pub p90: u64,
    /// The highest.
    pub max: u64,
}

impl Brief {
    /// Reads rows, one after another.
    ///
    /// # Errors
    /// Where they end within a row.
    pub fn read(rows: &[u8]) -> Result<Vec<Self>, DecodeError> {
        let mut reader = Reader::new(rows);
        let mut briefs = Vec::new();
        while reader.left() > 0 {
            briefs.push(Self::of(&Summary::unpack(&mut reader)?));
        }
        Ok(briefs)
    }

    fn of(summary: &Summary) -> Self {
        let spread = summary.by_transaction;
        let [p10, _, median, _, p90] = spread.percentiles.map(FeeRate::milli);
        let rates = Rates { min: spread.min.milli(), p10, median, p90, max: spread.max.milli() };
        Self {
            hash: summary.hash,
            weight: summary.weight,
            fees: Amount::from_sat(summary.core.totalfee),
            rates: (summary.core.txs > 1).then_some(rates),
            miner: miner_of(&summary.miner),
        }
    }
}

/// Letters and digits that a text has at least; less is taken for numbers that happen to be printable.
const LEAST: usize = 5;

/// The pool's name; else the text, without the slashes that many put around it; empty where neither is there.
pub fn miner_of(tag: &[u8]) -> String {
    let text = String::from_utf8_lossy(tag);
    let says_something = text.bytes().filter(u8::is_ascii_alphanumeric).count() >= LEAST;
    let text = if says_something { text.trim_matches(['\0', '/', ' ']) } else { "" };
    miner::name(tag).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::Network;
    use bitcoin::blockdata::constants::genesis_block;
    use hindsight_shared::Height;
    use hindsight_shared::block::BlockView;

    #[test]
    fn rows_are_read_and_cut_ones_refused() {
        let block = genesis_block(Network::Bitcoin);
        let bytes = bitcoin::consensus::serialize(&block);
        let view = BlockView::parse(&bytes).unwrap();
        let row = Summary::compute(Network::Bitcoin, Height(0), &view, None).unwrap().pack();
        let briefs = Brief::read(&[row.clone(), row.clone()].concat()).unwrap();
        assert_eq!(briefs.len(), 2);
        assert_eq!((briefs[0].hash, u64::from(briefs[0].weight)), (block.block_hash(), block.weight().to_wu()));
        assert_eq!((briefs[0].rates, briefs[0].fees), (None, Amount::ZERO));
        assert!(briefs[0].miner.starts_with("EThe Times 03/Jan/2009"));
        assert!(Brief::read(&row[1..]).is_err());
        assert_eq!(Brief::read(&[]), Ok(Vec::new()));
    }

    #[test]
    fn miners_have_names() {
        assert_eq!(miner_of(b"/Foundry USA Pool #dropgold/\0\0\0"), "Foundry USA");
        assert_eq!(miner_of(b"/my own pool/\0\0"), "my own pool");
        assert_eq!(miner_of(&[0; 32]), "");
        assert_eq!(miner_of(b"KU`?|\0"), "");
    }
}
