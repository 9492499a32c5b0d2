//! The block view against the `bitcoin` crate: what one accepts the other reads the same.

use bitcoin::consensus::{deserialize, encode};
use bitcoin::{Block, Transaction};
use hindsight_shared::block::{BlockView, TxView, merkle_root};

/// Reads `bytes` as a block, and what lies behind a header as a lone transaction.
pub fn run(bytes: &[u8]) {
    match (BlockView::parse(bytes), deserialize::<Block>(bytes)) {
        (Ok(view), Ok(judge)) => same_block(&view, &judge),
        (Ok(view), Err(error)) => assert!(crate_alone_refuses(&error), "{} transactions: {error}", view.tx_count()),
        (Err(error), Ok(judge)) => {
            assert!(judge.txdata.iter().any(crate_alone_accepts), "{error}, but {} transactions", judge.txdata.len());
        }
        (Err(_), Err(_)) => {}
    }
    let tx = bytes.get(81..).unwrap_or_default();
    match (TxView::parse(tx), deserialize::<Transaction>(tx)) {
        (Ok(view), Ok(judge)) => same_tx(&view, &judge),
        (Ok(_), Err(error)) => assert!(crate_alone_refuses(&error), "a lone transaction: {error}"),
        (Err(error), Ok(judge)) => assert!(crate_alone_accepts(&judge), "{error}, but {}", judge.compute_txid()),
        (Err(_), Err(_)) => {}
    }
}

/// The crate bounds what it allocates by what a list's items would take in memory, which refuses long lists of small
/// items that a block may hold.
fn crate_alone_refuses(error: &encode::Error) -> bool {
    matches!(error, encode::Error::OversizedVectorAllocation { .. })
}

/// A witness flag and no input: the crate writes half-built transactions so, Core throws ("Superfluous witness record").
fn crate_alone_accepts(judge: &Transaction) -> bool {
    judge.input.is_empty()
}

fn same_block(view: &BlockView<'_>, judge: &Block) {
    assert_eq!(view.header(), &judge.header);
    assert_eq!(view.hash(), judge.block_hash());
    assert_eq!(view.tx_count(), judge.txdata.len());
    for (view, judge) in view.txs().zip(&judge.txdata) {
        same_tx(&view, judge);
    }
    assert_eq!(view.weight(), judge.weight());
    let (root, _) = merkle_root(view.txs().map(|tx| tx.txid().to_raw_hash()).collect());
    if let Some(judge) = judge.compute_merkle_root() {
        assert_eq!(root, judge.to_raw_hash());
    }
}

/// Every field of a transaction, as both read it.
pub fn same_tx(view: &TxView<'_>, judge: &Transaction) {
    assert_eq!(view.txid(), judge.compute_txid());
    assert_eq!(view.wtxid(), judge.compute_wtxid());
    assert_eq!(view.weight(), judge.weight());
    assert_eq!((view.size(), view.base_size()), (judge.total_size(), judge.base_size()));
    assert_eq!(view.version().to_le_bytes(), judge.version.0.to_le_bytes());
    assert_eq!(view.lock_time(), judge.lock_time.to_consensus_u32());
    assert_eq!(view.is_coinbase(), judge.is_coinbase());
    assert_eq!((view.input_count(), view.output_count()), (judge.input.len(), judge.output.len()));
    assert_eq!(view.inputs().count(), judge.input.len());
    assert_eq!(view.outputs().count(), judge.output.len());
    for (view, judge) in view.inputs().zip(&judge.input) {
        assert_eq!((view.txid, view.vout), (judge.previous_output.txid, judge.previous_output.vout));
        assert_eq!((view.script_sig, view.sequence), (judge.script_sig.as_script(), judge.sequence.0));
    }
    for (view, judge) in view.outputs().zip(&judge.output) {
        assert_eq!((view.value, view.script), (judge.value, judge.script_pubkey.as_script()));
    }
    if view.is_segwit() {
        assert_eq!(view.witnesses().count(), judge.input.len());
        for (view, judge) in view.witnesses().zip(&judge.input) {
            assert_eq!(view, judge.witness.iter().collect::<Vec<_>>());
        }
    }
}
