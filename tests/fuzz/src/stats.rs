//! Statistics of a payload's block: whatever parses has some or is refused, they hold together, and signature
//! operations are as many as the `bitcoin` crate counts.

use bitcoin::consensus::deserialize;
use bitcoin::{Block, Transaction, TxOut};
use hindsight_shared::Height;
use hindsight_shared::bytes::Reader;
use hindsight_shared::network::network_of;
use hindsight_shared::payload::Payload;
use hindsight_shared::prevouts::PrevoutsView;
use hindsight_shared::stats::content::ByKind;
use hindsight_shared::stats::core::UtxoOverhead;
use hindsight_shared::stats::exact::{FeeRate, Spread};
use hindsight_shared::stats::row::{SUMMARY_SIZE, Summary};

use crate::payload::mended;

/// Opens a payload and computes the statistics of what is in it.
pub fn run(bytes: &[u8]) {
    let bytes = mended(bytes);
    let Ok(payload) = Payload::decode(&bytes) else { return };
    let Ok((block, prevouts)) = payload.view() else { return };
    let (network, height) = (network_of(payload.network), payload.height.unwrap_or(Height(0)));
    let compute = |prevouts: Option<&PrevoutsView<'_>>| Summary::compute(network, height, &block, prevouts);
    if let Ok(summary) = compute(None) {
        holds_together(&summary);
    }
    let Some(prevouts) = prevouts else { return };
    let Ok(summary) = compute(Some(&prevouts)) else { return };
    holds_together(&summary);
    let ages = &summary.content.ages;
    assert_eq!(ages.known.count + ages.unknown.count, summary.core.ins);
    assert_eq!(total(summary.content.spent), summary.core.ins);
    // Core's other form of the same outputs says the same of everything but ages.
    let spent = prevouts.to_spent_txouts();
    let spent = PrevoutsView::from_spent_txouts(&spent).expect("what was written can be read");
    let mut other = compute(Some(&spent)).expect("the same outputs");
    assert_eq!(other.content.ages.unknown.count, summary.core.ins);
    other.content.ages = summary.content.ages;
    assert_eq!(other, summary);
    if let Ok(judge) = deserialize::<Block>(payload.block)
        && let Some(cost) = sigop_cost(&judge, &prevouts)
    {
        assert_eq!(summary.content.sigop_cost, cost);
    }
}

fn total(kinds: ByKind) -> u64 {
    kinds.iter().map(|tally| tally.count).sum()
}

fn holds_together(summary: &Summary) {
    let packed = summary.pack();
    assert_eq!(packed.len(), SUMMARY_SIZE);
    assert_eq!(Summary::unpack(&mut Reader::new(&packed)), Ok(*summary));
    let core = &summary.core;
    assert!(core.minfee <= core.medianfee && core.medianfee <= core.maxfee);
    assert!(core.mintxsize <= core.mediantxsize && core.mediantxsize <= core.maxtxsize);
    assert!(core.total_size <= summary.size.into() && core.total_weight <= summary.weight.into());
    assert_eq!(total(summary.content.created), core.outs);
    for overhead in [UtxoOverhead::Forty, UtxoOverhead::FortyOne] {
        assert!(core.utxo.size_increase_actual(overhead) <= core.utxo.size_increase(overhead));
    }
    for spread in [&summary.by_transaction, &summary.by_package] {
        let rates = [&[spread.min][..], &spread.percentiles, &[spread.max]].concat();
        assert!(rates.is_sorted());
    }
    // Truncation keeps the order, so Core's rates are the exact ones truncated.
    let Spread { min, percentiles, max } = summary.by_transaction;
    let truncated = |rate: FeeRate| {
        let rate = (u128::from(rate.fee) * 4).checked_div(rate.weight.into()).unwrap_or(0);
        u64::try_from(rate).unwrap_or(u64::MAX)
    };
    assert_eq!((truncated(min), truncated(max)), (core.minfeerate, core.maxfeerate));
    assert_eq!(percentiles.map(truncated), core.feerate_percentiles);
}

/// As the `bitcoin` crate counts; `None` where it counts what Core does not: a redeem script behind a `scriptSig` of
/// other things than pushes, which no valid transaction has.
fn sigop_cost(block: &Block, prevouts: &PrevoutsView<'_>) -> Option<u64> {
    let mut cost = 0;
    for (index, tx) in block.txdata.iter().enumerate() {
        let outputs =
            prevouts.tx(index).map(|prevout| TxOut { value: prevout.value, script_pubkey: prevout.script.to_script() });
        let outputs: Vec<TxOut> = outputs.collect();
        let mut spends = tx.input.iter().zip(&outputs);
        if spends.any(|(input, spent)| spent.script_pubkey.is_p2sh() && !input.script_sig.is_push_only()) {
            return None;
        }
        cost += tx_sigop_cost(tx, &outputs);
    }
    Some(cost)
}

/// The crate asks for each input's output in order, several times over; outpoints may repeat in what a fuzzer makes.
fn tx_sigop_cost(tx: &Transaction, outputs: &[TxOut]) -> u64 {
    let mut asked = (0..tx.input.len()).cycle();
    tx.total_sigop_cost(|_| outputs.get(asked.next()?).cloned()) as u64
}
