//! What a reader can check of a block without trusting whoever served it, check by check, and what nobody can check
//! from a block alone.
//!
//! A block commits to its transactions and witnesses, not to the outputs that they spend: amounts and fees rest on
//! the server's word, but for the coinbase's claim, which has to be covered by them.

use std::fmt;

use bitcoin::hashes::{Hash, HashEngine, sha256d};
use bitcoin::{Amount, BlockHash, Network, Target, Txid};
use serde::{Deserialize, Serialize};

use crate::block::{BlockView, TxView, merkle_root};
use crate::network::{NetworkExt, bip34_height, network_of};
use crate::payload::{Absence, Kind, Payload};
use crate::summary::TxRow;

/// Most weight a block may have (BIP141).
pub const MAX_WEIGHT: u64 = 4_000_000;

/// One check and how it went.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Check {
    /// What was checked.
    pub subject: Subject,
    /// How it went.
    pub outcome: Outcome,
    /// What was compared, in words and numbers.
    pub detail: String,
}

/// What can be checked.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub enum Subject {
    /// The header hashes to the block hash that was asked for.
    BlockHash,
    /// That hash is not above the target that the header states.
    ProofOfWork,
    /// The txids hash to the header's merkle root, and no other list of them does.
    MerkleRoot,
    /// The wtxids hash to the commitment in the coinbase (BIP141).
    WitnessCommitment,
    /// The weight is within the limit (BIP141).
    Weight,
    /// The coinbase states the height (BIP34).
    Height,
    /// The undo record fits the checksum that Core stored with it.
    UndoChecksum,
    /// The coinbase claims no more than subsidy and fees.
    Fees,
    /// The spent outputs are what the spent transactions paid.
    Prevouts,
    /// Signatures and scripts.
    Scripts,
}

/// How a check went.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// It could not be checked.
    Unchecked,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BlockHash => "Block hash",
            Self::ProofOfWork => "Proof of work",
            Self::MerkleRoot => "Transaction ids and merkle root",
            Self::WitnessCommitment => "Witness commitment",
            Self::Weight => "Weight",
            Self::Height => "Height in the coinbase",
            Self::UndoChecksum => "Undo checksum",
            Self::Fees => "Fees against the coinbase's claim",
            Self::Prevouts => "Spent outputs",
            Self::Scripts => "Signatures and scripts",
        })
    }
}

/// Checks everything that a payload allows. `asked` is the hash that the reader asked for, if it was one; `rows` are
/// the block's (`summary::rows`).
pub fn verify(payload: &Payload<'_>, block: &BlockView<'_>, rows: &[TxRow], asked: Option<BlockHash>) -> Vec<Check> {
    let network = network_of(payload.network);
    vec![
        block_hash(block, asked),
        proof_of_work(payload, block, network),
        check_merkle_root(block, rows),
        witness_commitment(payload, block, rows, network),
        weight(block),
        height(payload, block, network),
        undo_checksum(payload, block),
        fees(payload, block, rows, network),
        unchecked(
            Subject::Prevouts,
            "a block does not commit to the outputs that it spends: their amounts, and with them the fees, are the server's word",
        ),
        unchecked(Subject::Scripts, "not run here: the node ran them when it connected the block"),
    ]
}

fn passed(subject: Subject, detail: impl Into<String>) -> Check {
    Check { subject, outcome: Outcome::Passed, detail: detail.into() }
}

fn unchecked(subject: Subject, detail: impl Into<String>) -> Check {
    Check { subject, outcome: Outcome::Unchecked, detail: detail.into() }
}

fn check(subject: Subject, holds: bool, detail: impl Into<String>) -> Check {
    Check { subject, outcome: if holds { Outcome::Passed } else { Outcome::Failed }, detail: detail.into() }
}

fn block_hash(block: &BlockView<'_>, asked: Option<BlockHash>) -> Check {
    let hash = block.hash();
    match asked {
        Some(asked) => check(Subject::BlockHash, asked == hash, format!("the header hashes to {hash}")),
        None => unchecked(
            Subject::BlockHash,
            format!("the header hashes to {hash}; it was asked for by height, so the server chose it"),
        ),
    }
}

fn proof_of_work(payload: &Payload<'_>, block: &BlockView<'_>, network: Network) -> Check {
    if payload.kind == Kind::Projected {
        return unchecked(Subject::ProofOfWork, "nobody has mined this block yet");
    }
    let target = block.header().target();
    let limit = network.params().max_attainable_target;
    let detail = format!("hash against target {target:x}, {} hashes expected", block.header().work());
    check(Subject::ProofOfWork, target > Target::ZERO && target <= limit && target.is_met_by(block.hash()), detail)
}

fn check_merkle_root(block: &BlockView<'_>, rows: &[TxRow]) -> Check {
    let (root, mutated) = merkle_root(rows.iter().map(|row| row.txid.to_raw_hash()).collect());
    let holds = root == block.header().merkle_root.to_raw_hash() && !mutated;
    let detail = if mutated {
        "two equal neighbours: another list of transactions has the same root (CVE-2012-2459)".to_owned()
    } else {
        format!("{} txids recomputed, root {root}", rows.len())
    };
    check(Subject::MerkleRoot, holds, detail)
}

fn witness_commitment(payload: &Payload<'_>, block: &BlockView<'_>, rows: &[TxRow], network: Network) -> Check {
    const SUBJECT: Subject = Subject::WitnessCommitment;
    if payload.kind == Kind::Projected {
        return unchecked(SUBJECT, "nobody has made a coinbase for this block yet");
    }
    let coinbase = block.tx(0);
    let bare = !block.txs().any(|tx| tx.is_segwit());
    // Mainnet 478,558 and others held outputs like commitments before these meant anything.
    if payload.height.is_some_and(|height| height < network.segwit_height()) {
        return check(SUBJECT, bare, "before segwit: no transaction carries a witness");
    }
    let Some(commitment) = coinbase.as_ref().and_then(commitment) else {
        let witnesses = block.txs().filter(TxView::is_segwit).count();
        let detail = format!("the coinbase commits to no witnesses, {witnesses} transactions carry one");
        return check(SUBJECT, bare, detail);
    };
    let Some(reserved) = coinbase.as_ref().and_then(reserved_value) else {
        return check(SUBJECT, false, "the coinbase's witness is not one item of 32 bytes");
    };
    let wtxids = rows.iter().enumerate().map(|(index, row)| match index {
        0 => sha256d::Hash::all_zeros(),
        _ => row.wtxid.to_raw_hash(),
    });
    let (root, _) = merkle_root(wtxids.collect());
    let holds = commits(commitment, &root, reserved);
    check(SUBJECT, holds, format!("{} wtxids recomputed, witness root {root}", rows.len()))
}

/// Whether a block's transactions are those that it commits to, witnesses included: what bytes that were read from a
/// disk have to pass before they are passed on. Otherwise what is wrong.
///
/// The merkle root says nothing of witnesses, so that damage in one shows only in the coinbase's commitment.
pub fn check_whole(block: &BlockView<'_>) -> Result<(), String> {
    whole_txids(block).map(drop)
}

/// The same, for whoever needs the txids that it takes.
///
/// # Errors
/// As [`check_whole`].
pub fn whole_txids(block: &BlockView<'_>) -> Result<Vec<Txid>, String> {
    let txids: Vec<Txid> = block.txs().map(|tx| tx.txid()).collect();
    let (root, mutated) = merkle_root(txids.iter().map(|txid| txid.to_raw_hash()).collect());
    if mutated || root != block.header().merkle_root.to_raw_hash() {
        return Err(format!("its transactions hash to {root}, not to the header's merkle root"));
    }
    if !block.txs().any(|tx| tx.is_segwit()) {
        return Ok(txids);
    }
    let coinbase = block.tx(0);
    let (commitment, reserved) = (coinbase.as_ref().and_then(commitment), coinbase.as_ref().and_then(reserved_value));
    let wtxids = block.txs().zip(&txids).enumerate().map(|(index, (tx, txid))| match (index, tx.is_segwit()) {
        (0, _) => sha256d::Hash::all_zeros(),
        (_, false) => txid.to_raw_hash(),
        (_, true) => tx.wtxid().to_raw_hash(),
    });
    let (root, _) = merkle_root(wtxids.collect());
    match commitment.zip(reserved) {
        Some((commitment, reserved)) if commits(commitment, &root, reserved) => Ok(txids),
        _ => Err(format!("its witnesses hash to {root}, which is not what the coinbase commits to")),
    }
}

fn commits(commitment: &[u8; 32], witness_root: &sha256d::Hash, reserved: &[u8]) -> bool {
    let mut engine = sha256d::Hash::engine();
    engine.input(witness_root.as_byte_array());
    engine.input(reserved);
    sha256d::Hash::from_engine(engine).as_byte_array() == commitment
}

/// The last output that starts like a commitment counts (BIP141).
fn commitment<'a>(coinbase: &TxView<'a>) -> Option<&'a [u8; 32]> {
    const PREFIX: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
    coinbase.outputs().filter_map(|output| output.script.as_bytes().strip_prefix(&PREFIX)?.first_chunk()).last()
}

fn reserved_value<'a>(coinbase: &TxView<'a>) -> Option<&'a [u8]> {
    match &coinbase.witnesses().next()?[..] {
        [value] if value.len() == 32 => Some(value),
        _ => None,
    }
}

fn weight(block: &BlockView<'_>) -> Check {
    let weight = block.weight().to_wu();
    check(Subject::Weight, weight <= MAX_WEIGHT, format!("{weight} of at most {MAX_WEIGHT} weight units"))
}

fn height(payload: &Payload<'_>, block: &BlockView<'_>, network: Network) -> Check {
    const SUBJECT: Subject = Subject::Height;
    let stated = coinbase_script(block).and_then(|script| bip34_height(network, block.header(), script));
    match (payload.height, stated) {
        (Some(height), Some(stated)) => {
            check(SUBJECT, height == stated, format!("served as {height}, the coinbase says {stated}"))
        }
        (Some(height), None) if height >= network.bip34_height() && block.header().version.to_consensus() >= 2 => {
            check(SUBJECT, false, format!("served as {height}, the coinbase does not say so"))
        }
        (Some(height), None) => {
            unchecked(SUBJECT, format!("served as {height}, which is before coinbases had to state it"))
        }
        (None, _) => unchecked(SUBJECT, "the server does not know the height"),
    }
}

fn coinbase_script<'a>(block: &BlockView<'a>) -> Option<&'a [u8]> {
    Some(block.tx(0)?.inputs().next()?.script_sig.as_bytes())
}

fn undo_checksum(payload: &Payload<'_>, block: &BlockView<'_>) -> Check {
    match payload.prevouts.checksum_holds(&block.header().prev_blockhash) {
        Some(holds) => check(
            Subject::UndoChecksum,
            holds,
            "the undo record against the checksum that Bitcoin Core wrote behind it: guards against damage, not against lies",
        ),
        None => unchecked(Subject::UndoChecksum, absence(payload)),
    }
}

fn absence(payload: &Payload<'_>) -> &'static str {
    match payload.absence {
        Some(Absence::Genesis) => "the first block spends nothing",
        Some(Absence::NotConnected) => "the node never connected this block, so there is no undo record",
        Some(Absence::Pruned) => "the node has deleted the undo record",
        Some(Absence::Damaged) => "the undo record on the server's disk is damaged",
        Some(Absence::NotReadYet) => "the server has not read the undo record yet",
        None => "the prevouts came in a form without a checksum",
    }
}

fn fees(payload: &Payload<'_>, block: &BlockView<'_>, rows: &[TxRow], network: Network) -> Check {
    const SUBJECT: Subject = Subject::Fees;
    let Some(height) = payload.height else {
        return unchecked(SUBJECT, "without the height the subsidy is not known");
    };
    let Some(claim) = block.tx(0).and_then(|tx| tx.output_value()) else {
        return check(SUBJECT, false, "the block has no coinbase");
    };
    let Some(fees) = total_fees(payload, rows) else {
        return unchecked(SUBJECT, absence(payload));
    };
    let subsidy = network.subsidy(height);
    let Ok(fees) = fees else {
        return check(SUBJECT, false, "a transaction pays out more than it spends");
    };
    let allowed = subsidy.checked_add(fees).unwrap_or(Amount::MAX);
    let detail = match allowed.checked_sub(claim) {
        Some(Amount::ZERO) => format!("claims {claim} = subsidy {subsidy} + fees {fees}"),
        Some(unclaimed) => format!("claims {claim} of subsidy {subsidy} + fees {fees}: {unclaimed} left unclaimed"),
        None => format!("claims {claim}, more than subsidy {subsidy} + fees {fees}"),
    };
    // The genesis coinbase is nobody's: its claim is checked all the same.
    if claim <= allowed { passed(SUBJECT, detail) } else { check(SUBJECT, false, detail) }
}

/// Sum of all fees; `None` without prevouts, an error where a transaction overspends.
fn total_fees(payload: &Payload<'_>, rows: &[TxRow]) -> Option<Result<Amount, ()>> {
    let complete = payload.absence.is_none() || payload.absence == Some(Absence::Genesis);
    complete.then(|| rows.iter().skip(1).try_fold(Amount::ZERO, |sum, row| sum.checked_add(row.fee?)).ok_or(()))
}
