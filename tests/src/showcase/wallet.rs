//! Who owns coins: thousands of keys, and the ways that people lock coins with one or three of them.

use bitcoin::hashes::{Hash, sha256};
use bitcoin::opcodes::all::OP_CHECKMULTISIG;
use bitcoin::script::Builder;
use bitcoin::{ScriptBuf, Transaction, TxOut, Witness};

use crate::locks::{Key, Lock, pushes};
use crate::rng::Rng;

/// A way to lock coins.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    /// By one key, or by none.
    One(Lock),
    /// By two of three keys, in a version 0 script hash.
    WshMultisig,
    /// By two of three keys, in a script hash.
    ShMultisig,
    /// By two of three keys, in a version 0 script hash within a script hash.
    ShWshMultisig,
    /// By a script of taproot that asks for one key's signature.
    Leaf(ScriptBuf),
}

/// A way to lock coins, and whose key it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Owner {
    /// The way.
    pub kind: Kind,
    /// The first of its keys.
    pub key: usize,
}

/// What wallets pay to, and how many in a thousand outputs do.
pub const EVERYDAY: &[(u64, &Kind)] = &[
    (560, &Kind::One(Lock::Wpkh)),
    (235, &Kind::One(Lock::TrKey)),
    (105, &Kind::One(Lock::Pkh)),
    (45, &Kind::One(Lock::ShWpkh)),
    (30, &Kind::WshMultisig),
    (15, &Kind::ShWshMultisig),
    (10, &Kind::ShMultisig),
];

/// What is rarely paid to.
pub const ODD: &[Lock] = &[
    Lock::Pk,
    Lock::Pk,
    Lock::PkUncompressed,
    Lock::PkHybrid,
    Lock::Multisig,
    Lock::Multisig,
    Lock::ShMultisig,
    Lock::TrScriptAnnex,
    Lock::TrKeyAnnex,
    Lock::TrScript,
    Lock::WshTrue,
    Lock::ShTrue,
    Lock::True,
    Lock::Empty,
    Lock::Long,
    Lock::WitnessUnknown,
    Lock::ShSigops,
    Lock::WshSigops,
    Lock::ShWshSigops,
    Lock::Anchor,
];

/// All keys.
pub struct Wallet {
    keys: Vec<Key>,
}

impl Wallet {
    /// So many keys, the same ones each time.
    pub fn new(count: usize) -> Self {
        let secret = |number: usize| sha256::Hash::hash(format!("hindsight showcase {number}").as_bytes());
        Self { keys: (0..count).map(|number| Key::new(secret(number).to_byte_array())).collect() }
    }

    /// Somebody with a way that wallets use.
    pub fn somebody(&self, rng: &mut Rng) -> Owner {
        Owner { kind: rng.weighted(EVERYDAY).clone(), key: self.somebody_s_key(rng) }
    }

    /// Somebody with this way.
    pub fn anybody_with(&self, kind: Kind, rng: &mut Rng) -> Owner {
        Owner { kind, key: self.somebody_s_key(rng) }
    }

    /// Somebody's key.
    pub fn somebody_s_key(&self, rng: &mut Rng) -> usize {
        rng.below(self.keys.len() - 2)
    }

    /// A key.
    pub fn key(&self, number: usize) -> &Key {
        &self.keys[number]
    }

    fn two_of_three(&self, key: usize) -> ScriptBuf {
        let keys = self.keys[key..key + 3].iter().map(|key| bitcoin::PublicKey::new(key.public));
        let script = keys.fold(Builder::new().push_int(2), |script, key| script.push_key(&key));
        script.push_int(3).push_opcode(OP_CHECKMULTISIG).into_script()
    }

    /// The scriptPubKey.
    pub fn script(&self, owner: &Owner) -> ScriptBuf {
        match &owner.kind {
            Kind::One(lock) => lock.script_of(self.key(owner.key)),
            Kind::WshMultisig => self.two_of_three(owner.key).to_p2wsh(),
            Kind::ShMultisig => self.two_of_three(owner.key).to_p2sh(),
            Kind::ShWshMultisig => self.two_of_three(owner.key).to_p2wsh().to_p2sh(),
            Kind::Leaf(leaf) => self.key(owner.key).tapscript(leaf.clone()).0,
        }
    }

    /// Unlocks one input, where `spent` are the outputs of all inputs.
    pub fn unlock(&self, owner: &Owner, tx: &mut Transaction, index: usize, spent: &[TxOut]) {
        let (script_sig, witness) = match &owner.kind {
            Kind::One(lock) => return lock.unlock_with(self.key(owner.key), tx, index, spent),
            Kind::WshMultisig => (ScriptBuf::new(), self.by_two_of_three(owner.key, tx, index, spent)),
            Kind::ShWshMultisig => {
                let redeem = self.two_of_three(owner.key).to_p2wsh().into_bytes();
                (pushes(&[redeem]), self.by_two_of_three(owner.key, tx, index, spent))
            }
            Kind::ShMultisig => {
                let redeem = self.two_of_three(owner.key);
                let sign = |key| self.key(key).legacy(tx, index, &redeem);
                let items = [vec![], sign(owner.key), sign(owner.key + 2), redeem.to_bytes()];
                (pushes(&items), vec![])
            }
            Kind::Leaf(leaf) => (ScriptBuf::new(), self.key(owner.key).by_leaf(tx, index, spent, leaf, None)),
        };
        tx.input[index].script_sig = script_sig;
        tx.input[index].witness = Witness::from_slice(&witness);
    }

    fn by_two_of_three(&self, key: usize, tx: &Transaction, index: usize, spent: &[TxOut]) -> Vec<Vec<u8>> {
        let script = self.two_of_three(key);
        let sign = |key| self.key(key).by_witness_script(tx, index, spent, &script);
        vec![vec![], sign(key), sign(key + 1), script.to_bytes()]
    }
}
