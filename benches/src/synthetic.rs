//! A full block of today's kind with the outputs that it spends, the same bytes every time.
//!
//! The transactions spend coins that never existed, so no node would connect the block; everything that can be checked
//! of a block by itself holds: proof of work (regtest's), merkle root, witness commitment, height, fees.

use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash;
use bitcoin::locktime::absolute::LockTime;
use bitcoin::opcodes::all::OP_RETURN;
use bitcoin::script::Builder;
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, Network, OutPoint, PubkeyHash, ScriptBuf, ScriptHash, Sequence,
    Transaction, TxIn, TxMerkleNode, TxOut, Txid, WPubkeyHash, Witness, WitnessCommitment, WitnessProgram,
    WitnessVersion, transaction,
};
use hindsight_shared::Height;
use hindsight_shared::network::NetworkExt;
use hindsight_shared::prevouts::undo_checksum;

use crate::records::{push_compressed_amount, push_varint};

/// Weight to fill: what miners leave free of 4,000,000.
pub(crate) const FULL: u64 = 3_990_000;
/// Regtest's easiest target: half of all hashes meet it.
const BITS: u32 = 0x207f_ffff;

/// A block and its undo record as `rev*.dat` holds it, checksum included.
#[derive(Clone, Debug)]
pub struct FullBlock {
    /// The block.
    pub block: Block,
    /// Undo and checksum.
    pub undo: Vec<u8>,
}

/// A full block on top of `previous`.
#[must_use]
pub fn full_block(previous: BlockHash, height: u32) -> FullBlock {
    let mut random = Random(u64::from(height));
    let mut spends = Vec::new();
    let mut weight = 0;
    while weight < FULL {
        let spend = spend(&mut random, spends.len());
        weight += spend.tx.weight().to_wu();
        spends.push(spend);
    }
    let undo = undo(&mut random, height, &spends);
    let fees = spends.iter().map(|spend| spend.fee).sum::<Amount>();
    let reward = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([7; 20]));
    let mut txdata = vec![coinbase(height, fees, reward)];
    txdata.extend(spends.into_iter().map(|spend| spend.tx));
    let header = header(previous, height);
    let mut block = Block { header, txdata };
    commit(&mut block);
    mine(&mut block.header);
    let checksum = undo_checksum(&previous, &undo);
    FullBlock { block, undo: [undo, checksum.to_vec()].concat() }
}

/// A header on top of `previous`, not mined yet.
#[must_use]
pub fn header(previous: BlockHash, height: u32) -> Header {
    Header {
        version: Version::from_consensus(0x2000_0000),
        prev_blockhash: previous,
        merkle_root: TxMerkleNode::all_zeros(),
        time: 1_700_000_000 + height,
        bits: CompactTarget::from_consensus(BITS),
        nonce: 0,
    }
}

/// Finds a nonce: about two tries.
pub fn mine(header: &mut Header) {
    while header.validate_pow(header.target()).is_err() {
        header.nonce += 1;
    }
}

struct Spend {
    tx: Transaction,
    spent: Vec<TxOut>,
    fee: Amount,
}

/// One transaction of the mix that fills blocks today: mostly native segwit, some taproot, some of the old kinds.
fn spend(random: &mut Random, index: usize) -> Spend {
    let kind = [Kind::P2wpkh, Kind::P2wpkh, Kind::P2tr, Kind::P2pkh, Kind::P2sh][index % 5];
    let inputs = 1 + index % 3;
    let spent: Vec<_> = (0..inputs)
        .map(|_| TxOut {
            value: Amount::from_sat(100_000 + random.next() % 1_000_000 * 100),
            script_pubkey: kind.script(random),
        })
        .collect();
    let input = (0..inputs).map(|_| kind.input(random)).collect();
    let total: Amount = spent.iter().map(|output| output.value).sum();
    let fee = Amount::from_sat(1_000 + random.next() % 20_000);
    let change = (total - fee) / 3;
    let outputs = [(total - fee - change, Kind::P2wpkh), (change, kind)];
    let output = outputs.map(|(value, kind)| TxOut { value, script_pubkey: kind.script(random) }).to_vec();
    let tx = Transaction { version: transaction::Version::TWO, lock_time: LockTime::ZERO, input, output };
    Spend { tx, spent, fee }
}

#[derive(Clone, Copy)]
enum Kind {
    P2pkh,
    P2sh,
    P2wpkh,
    P2tr,
}

impl Kind {
    fn script(self, random: &mut Random) -> ScriptBuf {
        match self {
            Self::P2pkh => ScriptBuf::new_p2pkh(&PubkeyHash::from_byte_array(random.array())),
            Self::P2sh => ScriptBuf::new_p2sh(&ScriptHash::from_byte_array(random.array())),
            Self::P2wpkh => ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(random.array())),
            Self::P2tr => {
                ScriptBuf::new_witness_program(&WitnessProgram::new(WitnessVersion::V1, &random.array::<32>()).unwrap())
            }
        }
    }

    fn input(self, random: &mut Random) -> TxIn {
        let (signature, key) = (random.array::<71>(), random.array::<33>());
        let script_sig = match self {
            Self::P2pkh => Builder::new().push_slice(signature).push_slice(key).into_script(),
            Self::P2sh => Builder::new().push_slice(random.array::<22>()).into_script(),
            Self::P2wpkh | Self::P2tr => ScriptBuf::new(),
        };
        let witness = match self {
            Self::P2pkh => Witness::new(),
            Self::P2sh | Self::P2wpkh => Witness::from_slice(&[&signature[..], &key]),
            Self::P2tr => Witness::from_slice(&[random.array::<64>()]),
        };
        let vout = u32::try_from(random.next() % 4).unwrap();
        let previous_output = OutPoint { txid: Txid::from_byte_array(random.array()), vout };
        TxIn { previous_output, script_sig, sequence: Sequence::ENABLE_RBF_NO_LOCKTIME, witness }
    }
}

/// What a block at a height may pay out, to one script.
pub(crate) fn coinbase(height: u32, fees: Amount, script_pubkey: ScriptBuf) -> Transaction {
    let input = TxIn {
        previous_output: OutPoint::null(),
        script_sig: Builder::new().push_int(height.into()).push_slice(b"/Hindsight/").into_script(),
        sequence: Sequence::MAX,
        witness: Witness::from_slice(&[[0; 32]]),
    };
    let reward = TxOut { value: Network::Regtest.subsidy(Height(height)) + fees, script_pubkey };
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: vec![reward],
    }
}

/// Writes the witness commitment into the coinbase and the merkle root into the header.
pub(crate) fn commit(block: &mut Block) {
    let root = block.witness_root().unwrap();
    let commitment = Block::compute_witness_commitment(&root, &[0; 32]);
    block.txdata[0].output.push(TxOut { value: Amount::ZERO, script_pubkey: commitment_script(&commitment) });
    block.header.merkle_root = block.compute_merkle_root().unwrap();
}

fn commitment_script(commitment: &WitnessCommitment) -> ScriptBuf {
    let mut push = [0xaa, 0x21, 0xa9, 0xed].to_vec();
    push.extend_from_slice(commitment.as_byte_array());
    let push: [u8; 36] = push.try_into().unwrap();
    Builder::new().push_opcode(OP_RETURN).push_slice(push).into_script()
}

/// The undo record of all transactions but the coinbase (Core `src/undo.h`, `src/compressor.cpp`).
fn undo(random: &mut Random, height: u32, spends: &[Spend]) -> Vec<u8> {
    let mut out = bitcoin::consensus::serialize(&bitcoin::VarInt::from(spends.len()));
    for spend in spends {
        out.extend(bitcoin::consensus::serialize(&bitcoin::VarInt::from(spend.spent.len())));
        for spent in &spend.spent {
            let created = u64::from(height) - 1 - random.next() % u64::from(height.min(100_000));
            push_varint(&mut out, created.max(1) << 1);
            push_varint(&mut out, 0);
            push_compressed_amount(&mut out, spent.value.to_sat());
            push_script(&mut out, spent.script_pubkey.as_bytes());
        }
    }
    out
}

fn push_script(out: &mut Vec<u8>, script: &[u8]) {
    match script {
        [0x76, 0xa9, 20, hash @ .., 0x88, 0xac] if hash.len() == 20 => {
            out.push(0);
            out.extend_from_slice(hash);
        }
        [0xa9, 20, hash @ .., 0x87] if hash.len() == 20 => {
            out.push(1);
            out.extend_from_slice(hash);
        }
        other => {
            push_varint(out, other.len() as u64 + 6);
            out.extend_from_slice(other);
        }
    }
}

/// SplitMix64: bytes that look like hashes and signatures, and are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        for chunk in array.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
        array
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::consensus::serialize;
    use bitcoin::p2p::Magic;
    use hindsight_shared::payload::{Kind, Payload, Prevouts};
    use hindsight_shared::summary::rows;
    use hindsight_shared::verify::{Outcome, verify};

    /// All that can be checked holds, so that the benches do the work that a real block makes.
    #[test]
    fn a_full_block_passes_every_check() {
        let previous = BlockHash::from_byte_array([3; 32]);
        let FullBlock { block, undo } = full_block(previous, 840_000);
        assert!(block.weight().to_wu() > FULL && block.weight().to_wu() < 4_000_000);
        let bytes = serialize(&block);
        let payload = Payload {
            network: Magic::REGTEST,
            height: Some(Height(840_000)),
            kind: Kind::Block,
            absence: None,
            prevouts: Prevouts::Undo(&undo),
            block: &bytes,
        };
        let (view, prevouts) = payload.view().unwrap();
        let rows = rows(&view, prevouts.as_ref()).unwrap();
        assert!(rows.iter().skip(1).all(|row| row.fee.is_some()));
        let failed: Vec<_> = verify(&payload, &view, &rows, Some(block.block_hash()))
            .into_iter()
            .filter(|check| check.outcome == Outcome::Failed)
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
    }
}
