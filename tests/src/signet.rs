//! A signet of our own: its challenge, and the solution that every block carries (BIP325).
//!
//! A signet's least difficulty is real work, millions of hashes a block. The same calls make the same blocks, so their
//! nonces have been searched once and lie in a file; where one no longer fits, it is searched again.

use bitcoin::absolute::LockTime;
use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoin::opcodes::OP_0;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::transaction::Version;
use bitcoin::{Amount, Block, OutPoint, Script, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};

use crate::locks::Lock;

/// What the solution's push starts with.
const HEADER: [u8; 4] = [0xec, 0xc7, 0xda, 0xa2];

/// What the challenge is locked with: a bare multisig, as the default signet's.
const LOCK: Lock = Lock::Multisig;

/// A nonce a line, from height 1 on.
const NONCES: &str = include_str!("../fixtures/signet-nonces.txt");

/// The script that every block has to satisfy.
pub fn challenge() -> ScriptBuf {
    LOCK.script()
}

/// Where to start searching the nonce of the block at a height.
pub fn nonce(height: u32) -> u32 {
    NONCES.lines().nth(height as usize - 1).and_then(|line| line.parse().ok()).unwrap_or(0)
}

/// Adds the solution to the witness commitment, the coinbase's last output. The proof of work is still to be done.
pub fn solve(block: &mut Block) {
    let commitment = block.txdata[0].output.last().unwrap().script_pubkey.clone();
    set_commitment(block, pushed_after(&commitment, &HEADER));
    let spent = to_spend(block);
    let output = spent.output[0].clone();
    let mut to_sign = Transaction {
        version: Version(0),
        lock_time: LockTime::ZERO,
        input: vec![input(OutPoint { txid: spent.compute_txid(), vout: 0 }, ScriptBuf::new())],
        output: vec![TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::from_bytes(vec![0x6a]) }],
    };
    LOCK.unlock(&mut to_sign, 0, &[output]);
    let TxIn { script_sig, witness, .. } = &to_sign.input[0];
    let solution = [&HEADER[..], &serialize(script_sig), &serialize(witness)].concat();
    set_commitment(block, pushed_after(&commitment, &solution));
}

/// The transaction that the solution spends: it holds the block as it is without a solution.
fn to_spend(block: &Block) -> Transaction {
    let root = block.compute_merkle_root().unwrap();
    let data = [
        serialize(&block.header.version),
        serialize(&block.header.prev_blockhash),
        root.to_byte_array().to_vec(),
        serialize(&block.header.time),
    ];
    let data = PushBytesBuf::try_from(data.concat()).unwrap();
    Transaction {
        version: Version(0),
        lock_time: LockTime::ZERO,
        input: vec![input(OutPoint::null(), Builder::new().push_opcode(OP_0).push_slice(data).into_script())],
        output: vec![TxOut { value: Amount::ZERO, script_pubkey: challenge() }],
    }
}

fn input(previous_output: OutPoint, script_sig: ScriptBuf) -> TxIn {
    TxIn { previous_output, script_sig, sequence: Sequence::ZERO, witness: Witness::new() }
}

fn pushed_after(script: &Script, data: &[u8]) -> ScriptBuf {
    let mut longer = script.to_owned();
    longer.push_slice(PushBytesBuf::try_from(data.to_vec()).unwrap());
    longer
}

fn set_commitment(block: &mut Block, script: ScriptBuf) {
    block.txdata[0].output.last_mut().unwrap().script_pubkey = script;
}
