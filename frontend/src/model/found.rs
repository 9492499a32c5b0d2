//! Where a transaction's page takes it from: its block, which is there whole, or the answer to a search by its id.

use bitcoin::{BlockHash, Network, Txid};
use hindsight_shared::api::BlockFacts;
use hindsight_shared::found_tx::{Fate, FoundTx, TxPlace};
use hindsight_shared::network::network_of;
use hindsight_shared::payload::Absence;
use hindsight_shared::summary::row_alone;
use hindsight_shared::{DecodeError, Height};

use super::block::LoadedBlock;
use super::tx::Tx;
use crate::number::{index, narrow};

/// What a transaction's page shows of its block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Home {
    /// The block.
    pub block: BlockHash,
    /// Its height, where that is known.
    pub height: Option<Height>,
    /// The chain's network.
    pub network: Network,
    /// Why the prevouts are absent.
    pub absence: Option<Absence>,
    /// The time of its header, where that is known.
    pub time: Option<u32>,
    /// How many transactions it holds, where that is known.
    pub count: Option<u32>,
}

impl Home {
    /// Of a transaction of a block that is there.
    pub fn of(block: &LoadedBlock) -> Self {
        Self {
            block: block.hash,
            height: block.height,
            network: block.network,
            absence: block.absence,
            time: Some(block.header.time),
            count: Some(narrow(block.rows.len())),
        }
    }

    /// Adds what the server says of the block.
    #[must_use]
    pub fn with(self, facts: Option<&BlockFacts>) -> Self {
        let facts = facts.filter(|facts| facts.hash == self.block);
        Self { time: facts.map(|facts| facts.time), count: facts.map(|facts| facts.tx_count), ..self }
    }
}

/// A transaction that was found by its id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// It.
    pub tx: Tx,
    /// The first of its blocks.
    pub home: Home,
    /// Its blocks, and what became of its outputs.
    pub after: Afterlife,
}

/// What the best chain knows of a transaction beyond its bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Afterlife {
    /// The best chain's height when this was said.
    pub tip: Height,
    /// Every block of the best chain that holds it, highest first.
    pub places: Vec<TxPlace>,
    /// What became of its first outputs.
    pub fates: Vec<Fate>,
}

impl Found {
    /// Reads an answer to a question for a txid.
    ///
    /// # Errors
    /// Where it does not decode, or is about another transaction: then nothing that it says is believed.
    pub fn read(bytes: &[u8], asked: Txid) -> Result<Self, DecodeError> {
        let FoundTx { tip, places, fates, payload } = FoundTx::decode(bytes)?;
        let (view, prevouts) = payload.view()?;
        let row = row_alone(&view, prevouts.clone(), payload.height)?;
        if row.txid != asked {
            return Err(DecodeError::Contradiction("another transaction than the one that was asked for"));
        }
        let prevouts = prevouts.map(Iterator::collect).unwrap_or_default();
        let home = Home {
            block: payload.block,
            height: payload.height,
            network: network_of(payload.network),
            absence: payload.absence,
            time: None,
            count: None,
        };
        Ok(Self {
            tx: Tx::new(index(payload.index), row, &view, prevouts),
            home,
            after: Afterlife { tip, places, fates },
        })
    }
}

impl Afterlife {
    /// Whether asking again may tell more: the chain has grown, or not all was indexed.
    pub fn is_old(&self, tip: Option<Height>) -> bool {
        tip.is_some_and(|tip| tip != self.tip) || self.fates.contains(&Fate::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::serialize;
    use bitcoin::p2p::Magic;
    use hindsight_shared::tx_payload::TxPayload;

    /// The answer for the first transaction of all.
    fn genesis() -> (Txid, Vec<u8>) {
        let block = bitcoin::blockdata::constants::genesis_block(Network::Bitcoin);
        let (hash, tx) = (block.block_hash(), serialize(&block.txdata[0]));
        let payload = TxPayload {
            network: Magic::BITCOIN,
            height: Some(Height(0)),
            absence: None,
            index: 0,
            block: hash,
            prevouts: &[],
            tx: &tx,
        };
        let places = vec![TxPlace { block: hash, height: Height(0), index: 0 }];
        let found = FoundTx { tip: Height(5), places, fates: vec![Fate::Unspendable], payload };
        (block.txdata[0].compute_txid(), found.encode().unwrap())
    }

    #[test]
    fn an_answer_is_read_and_held_against_the_question() {
        let (txid, bytes) = genesis();
        let found = Found::read(&bytes, txid).unwrap();
        assert_eq!((found.tx.row.txid, found.tx.outputs.len()), (txid, 1));
        assert_eq!(found.tx.outputs[0].value, bitcoin::Amount::from_int_btc(50));
        assert_eq!((found.home.block, found.home.time), (found.after.places[0].block, None));
        let other = bitcoin::hashes::Hash::all_zeros();
        assert!(Found::read(&bytes, other).is_err());
        assert!(Found::read(&bytes[1..], txid).is_err());
    }

    #[test]
    fn what_may_have_changed_is_asked_again() {
        let after = |fate| Afterlife { tip: Height(5), places: Vec::new(), fates: vec![fate] };
        assert!(!after(Fate::Unspent).is_old(Some(Height(5))));
        assert!(after(Fate::Unspent).is_old(Some(Height(6))));
        assert!(after(Fate::Unknown).is_old(None));
    }
}
