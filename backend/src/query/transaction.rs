//! One transaction of a block.

use bitcoin::Txid;
use bytes::Bytes;
use hindsight_shared::block::BlockView;
use hindsight_shared::payload::split_checksum;
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::search::BlockId;
use hindsight_shared::tx_payload::TxPayload;

use super::bodies::Body;
use super::{Explorer, QueryError};
use crate::chain::Node;

/// A transaction named within its block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TxInBlock {
    /// By its place, from 0.
    Index(usize),
    /// By its id.
    Txid(Txid),
}

/// An encoded [`TxPayload`].
#[derive(Clone, Debug)]
pub struct TxAnswer {
    /// The bytes.
    pub bytes: Bytes,
    /// A tag that changes whenever the bytes do.
    pub tag: String,
    /// Whether these bytes can never change.
    pub immutable: bool,
}

impl Explorer {
    /// One transaction of a block with what it spends.
    ///
    /// # Errors
    /// [`QueryError::NoTransaction`] where the block holds no such one; where the block is unknown or cannot be read.
    pub fn transaction(&self, id: BlockId, which: TxInBlock) -> Result<TxAnswer, QueryError> {
        let node = self.node(id)?;
        let body = self.bodies.read(&node)?;
        let block = BlockView::parse(&body.block)?;
        let index = match which {
            TxInBlock::Index(index) => Some(index),
            TxInBlock::Txid(txid) => block.txs().position(|tx| tx.txid() == txid),
        };
        let missing = || QueryError::NoTransaction { block: node.hash, which };
        let (index, tx) = index.and_then(|index| Some((index, block.tx(index)?))).ok_or_else(missing)?;
        let (undo, _) = split_checksum(&body.undo);
        let prevouts = (!undo.is_empty()).then(|| PrevoutsView::from_undo(undo)).transpose()?;
        let prevouts = prevouts.as_ref().map_or(&[][..], |prevouts| prevouts.tx_undo(index));
        let place = u32::try_from(index).unwrap_or(u32::MAX);
        let bytes = self.tx_payload(&node, &body, place, prevouts, tx.bytes())?.into();
        let immutable = node.height.is_some() && (index == 0 || body.absence.is_none());
        Ok(TxAnswer { bytes, tag: format!("{}-{index}", self.tag(&node, &body)), immutable })
    }

    /// A transaction of a checked block and what it spends, encoded.
    pub(super) fn tx_payload(
        &self,
        node: &Node,
        body: &Body,
        index: u32,
        prevouts: &[u8],
        tx: &[u8],
    ) -> Result<Vec<u8>, QueryError> {
        let payload = TxPayload {
            network: self.about.magic,
            height: node.height,
            absence: body.absence.filter(|_| index > 0),
            index,
            block: node.hash,
            prevouts,
            tx,
        };
        Ok(payload.encode()?)
    }
}
