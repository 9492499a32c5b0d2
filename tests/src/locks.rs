//! Scripts that coins are locked with, and what unlocks each: one of every kind that undo data treats differently.
//!
//! The kernel checks every signature made here, so a mistake shows as a rejected block.

use std::sync::LazyLock;

use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoin::key::{Keypair, TapTweak};
use bitcoin::opcodes::all::{
    OP_CHECKMULTISIG, OP_CHECKSIG, OP_DROP, OP_ENDIF, OP_IF, OP_PUSHBYTES_0, OP_PUSHNUM_1, OP_PUSHNUM_2, OP_PUSHNUM_3,
};
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::secp256k1::{All, Message, PublicKey, Secp256k1, SecretKey};
use bitcoin::sighash::{Annex, EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use bitcoin::taproot::{LeafVersion, TaprootBuilder, TaprootSpendInfo};
use bitcoin::{CompressedPublicKey, ScriptBuf, TapLeafHash, Transaction, TxOut, Witness};

/// One kind of script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lock {
    /// Pay to a compressed key.
    Pk,
    /// Pay to an uncompressed key.
    PkUncompressed,
    /// Pay to a key in hybrid form, which undo data does not pack.
    PkHybrid,
    /// Pay to public key hash.
    Pkh,
    /// Pay to script hash, of a script that anyone can unlock.
    ShTrue,
    /// Pay to script hash, of a 1-of-2 multisig.
    ShMultisig,
    /// Version 0 key hash within a script hash.
    ShWpkh,
    /// Version 0 key hash.
    Wpkh,
    /// Version 0 script hash, of a script that anyone can unlock.
    WshTrue,
    /// Taproot, by key.
    TrKey,
    /// Taproot, by script.
    TrScript,
    /// A bare 1-of-2 multisig.
    Multisig,
    /// `OP_TRUE` alone.
    True,
    /// A long script that anyone can unlock.
    Long,
    /// Nothing at all, which anyone can unlock with a push.
    Empty,
    /// Pay to script hash, of a script that anyone can unlock and that counts signature operations.
    ShSigops,
    /// Version 0 script hash, of the same.
    WshSigops,
    /// Version 0 script hash within a script hash, of the same.
    ShWshSigops,
    /// Pay to anchor.
    Anchor,
    /// A witness version without rules, which anyone can unlock with nothing.
    WitnessUnknown,
    /// Taproot, by key, with an annex.
    TrKeyAnnex,
    /// Taproot, by a script that checks a signature, with an annex.
    TrScriptAnnex,
}

impl Lock {
    /// Every kind.
    pub const ALL: [Self; 22] = [
        Self::Pk,
        Self::PkUncompressed,
        Self::PkHybrid,
        Self::Pkh,
        Self::ShTrue,
        Self::ShMultisig,
        Self::ShWpkh,
        Self::Wpkh,
        Self::WshTrue,
        Self::TrKey,
        Self::TrScript,
        Self::Multisig,
        Self::True,
        Self::Long,
        Self::Empty,
        Self::ShSigops,
        Self::WshSigops,
        Self::ShWshSigops,
        Self::Anchor,
        Self::WitnessUnknown,
        Self::TrKeyAnnex,
        Self::TrScriptAnnex,
    ];

    /// The scriptPubKey.
    pub fn script(self) -> ScriptBuf {
        let keys = &*KEYS;
        match self {
            Self::Pk => pay_to(&keys.public.serialize()),
            Self::PkUncompressed => pay_to(&keys.public.serialize_uncompressed()),
            Self::PkHybrid => pay_to(&hybrid(&keys.public)),
            Self::Pkh => ScriptBuf::new_p2pkh(&CompressedPublicKey(keys.public).pubkey_hash()),
            Self::ShTrue => anyone().to_p2sh(),
            Self::ShMultisig => multisig().to_p2sh(),
            Self::ShWpkh => witness_key_hash().to_p2sh(),
            Self::Wpkh => witness_key_hash(),
            Self::WshTrue => anyone().to_p2wsh(),
            Self::TrKey | Self::TrKeyAnnex => ScriptBuf::new_p2tr(&keys.secp, keys.pair.x_only_public_key().0, None),
            Self::TrScript => ScriptBuf::new_p2tr_tweaked(keys.tree.output_key()),
            Self::Multisig => multisig(),
            Self::True => anyone(),
            Self::Long => long(),
            Self::Empty => ScriptBuf::new(),
            Self::ShSigops => sigops().to_p2sh(),
            Self::WshSigops => sigops().to_p2wsh(),
            Self::ShWshSigops => sigops().to_p2wsh().to_p2sh(),
            Self::Anchor => ScriptBuf::from_bytes(vec![0x51, 2, 0x4e, 0x73]),
            Self::WitnessUnknown => ScriptBuf::from_bytes(vec![0x60, 2, 0x75, 0x1e]),
            Self::TrScriptAnnex => tapscript(signed_leaf()).0,
        }
    }

    /// Unlocks one input, where `spent` are the outputs of all of them.
    pub fn unlock(self, tx: &mut Transaction, index: usize, spent: &[TxOut]) {
        let (script_sig, witness) = match self {
            Self::Pk | Self::PkUncompressed | Self::PkHybrid => (pushes(&[legacy(tx, index, &self.script())]), vec![]),
            Self::Pkh => {
                let key = KEYS.public.serialize().to_vec();
                (pushes(&[legacy(tx, index, &self.script()), key]), vec![])
            }
            Self::ShTrue => (pushes(&[anyone().into_bytes()]), vec![]),
            Self::ShMultisig => {
                let redeem = multisig();
                (pushes(&[vec![], legacy(tx, index, &redeem), redeem.into_bytes()]), vec![])
            }
            Self::ShWpkh => (pushes(&[witness_key_hash().into_bytes()]), by_witness_key(tx, index, spent)),
            Self::Wpkh => (ScriptBuf::new(), by_witness_key(tx, index, spent)),
            Self::WshTrue => (ScriptBuf::new(), vec![anyone().into_bytes()]),
            Self::TrKey => (ScriptBuf::new(), vec![by_key(tx, index, spent, None)]),
            Self::TrKeyAnnex => (ScriptBuf::new(), vec![by_key(tx, index, spent, Some(ANNEX)), ANNEX.to_vec()]),
            Self::TrScriptAnnex => (ScriptBuf::new(), by_signed_leaf(tx, index, spent)),
            Self::TrScript => {
                let control = KEYS.tree.control_block(&(anyone(), LeafVersion::TapScript)).unwrap();
                (ScriptBuf::new(), vec![anyone().into_bytes(), control.serialize()])
            }
            Self::Multisig => (pushes(&[vec![], legacy(tx, index, &multisig())]), vec![]),
            Self::True | Self::Long | Self::Anchor | Self::WitnessUnknown => (ScriptBuf::new(), vec![]),
            Self::Empty => (Builder::new().push_opcode(OP_PUSHNUM_1).into_script(), vec![]),
            Self::ShSigops => (pushes(&[sigops().into_bytes()]), vec![]),
            Self::WshSigops => (ScriptBuf::new(), vec![sigops().into_bytes()]),
            Self::ShWshSigops => (pushes(&[sigops().to_p2wsh().into_bytes()]), vec![sigops().into_bytes()]),
        };
        tx.input[index].script_sig = script_sig;
        tx.input[index].witness = Witness::from_slice(&witness);
    }
}

struct Keys {
    secp: Secp256k1<All>,
    secret: SecretKey,
    public: PublicKey,
    pair: Keypair,
    tree: TaprootSpendInfo,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let secp = Secp256k1::new();
    let secret = SecretKey::from_slice(&[7; 32]).unwrap();
    let pair = Keypair::from_secret_key(&secp, &secret);
    let leaf = TaprootBuilder::new().add_leaf(0, anyone()).unwrap();
    let tree = leaf.finalize(&secp, pair.x_only_public_key().0).unwrap();
    Keys { public: secret.public_key(&secp), secret, pair, tree, secp }
});

fn pay_to(key: &[u8]) -> ScriptBuf {
    Builder::new().push_slice(PushBytesBuf::try_from(key.to_vec()).unwrap()).push_opcode(OP_CHECKSIG).into_script()
}

/// Both coordinates, with the parity of the second in the prefix.
fn hybrid(key: &PublicKey) -> Vec<u8> {
    let mut bytes = key.serialize_uncompressed().to_vec();
    bytes[0] = 6 + (bytes[64] & 1);
    bytes
}

fn anyone() -> ScriptBuf {
    Builder::new().push_opcode(OP_PUSHNUM_1).into_script()
}

fn long() -> ScriptBuf {
    let data = PushBytesBuf::try_from(vec![0xa5; 500]).unwrap();
    Builder::new().push_slice(data).push_opcode(OP_DROP).push_opcode(OP_PUSHNUM_1).into_script()
}

/// Signature operations that are counted and never run: 1, 3 of a multisig that says so, 20 of one that does not.
fn sigops() -> ScriptBuf {
    Builder::new()
        .push_opcode(OP_PUSHBYTES_0)
        .push_opcode(OP_IF)
        .push_opcode(OP_CHECKSIG)
        .push_opcode(OP_PUSHNUM_3)
        .push_opcode(OP_CHECKMULTISIG)
        .push_opcode(OP_CHECKMULTISIG)
        .push_opcode(OP_ENDIF)
        .push_opcode(OP_PUSHNUM_1)
        .into_script()
}

fn multisig() -> ScriptBuf {
    let key = bitcoin::PublicKey::new(KEYS.public);
    let other = bitcoin::PublicKey::new_uncompressed(KEYS.public);
    Builder::new()
        .push_opcode(OP_PUSHNUM_1)
        .push_key(&key)
        .push_key(&other)
        .push_opcode(OP_PUSHNUM_2)
        .push_opcode(OP_CHECKMULTISIG)
        .into_script()
}

fn witness_key_hash() -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&CompressedPublicKey(KEYS.public).wpubkey_hash())
}

fn pushes(items: &[Vec<u8>]) -> ScriptBuf {
    let push = |builder: Builder, item: &Vec<u8>| builder.push_slice(PushBytesBuf::try_from(item.clone()).unwrap());
    items.iter().fold(Builder::new(), push).into_script()
}

fn legacy(tx: &Transaction, index: usize, script: &ScriptBuf) -> Vec<u8> {
    let sighash = SighashCache::new(tx).legacy_signature_hash(index, script, EcdsaSighashType::All.to_u32()).unwrap();
    ecdsa(sighash.to_byte_array())
}

fn ecdsa(digest: [u8; 32]) -> Vec<u8> {
    let signature = KEYS.secp.sign_ecdsa(&Message::from_digest(digest), &KEYS.secret);
    bitcoin::ecdsa::Signature::sighash_all(signature).to_vec()
}

fn by_witness_key(tx: &Transaction, index: usize, spent: &[TxOut]) -> Vec<Vec<u8>> {
    let (script, value) = (witness_key_hash(), spent[index].value);
    let sighash = SighashCache::new(tx).p2wpkh_signature_hash(index, &script, value, EcdsaSighashType::All).unwrap();
    vec![ecdsa(sighash.to_byte_array()), KEYS.public.serialize().to_vec()]
}

/// Starts with 0x50 and means nothing yet (BIP341).
const ANNEX: &[u8] = &[0x50, 0xde, 0xad];

fn signed_leaf() -> ScriptBuf {
    Builder::new().push_x_only_key(&KEYS.pair.x_only_public_key().0).push_opcode(OP_CHECKSIG).into_script()
}

fn by_key(tx: &Transaction, index: usize, spent: &[TxOut], annex: Option<&[u8]>) -> Vec<u8> {
    schnorr(tx, index, spent, annex, None, &KEYS.pair.tap_tweak(&KEYS.secp, None).to_keypair())
}

fn by_signed_leaf(tx: &Transaction, index: usize, spent: &[TxOut]) -> Vec<Vec<u8>> {
    let leaf = TapLeafHash::from_script(&signed_leaf(), LeafVersion::TapScript);
    let signature = schnorr(tx, index, spent, Some(ANNEX), Some(leaf), &KEYS.pair);
    let (_, witness) = tapscript(signed_leaf());
    [vec![signature], witness.to_vec(), vec![ANNEX.to_vec()]].concat()
}

fn schnorr(
    tx: &Transaction,
    index: usize,
    spent: &[TxOut],
    annex: Option<&[u8]>,
    leaf: Option<TapLeafHash>,
    pair: &Keypair,
) -> Vec<u8> {
    let annex = annex.map(|annex| Annex::new(annex).unwrap());
    let leaf = leaf.map(|leaf| (leaf, u32::MAX));
    let sighash = SighashCache::new(tx)
        .taproot_signature_hash(index, &Prevouts::All(spent), annex, leaf, TapSighashType::Default)
        .unwrap();
    let message = Message::from_digest(sighash.to_byte_array());
    KEYS.secp.sign_schnorr_no_aux_rand(&message, pair).serialize().to_vec()
}

/// A taproot output that a script unlocks which anyone can run to its end, and the witness that does so.
pub fn tapscript(leaf: ScriptBuf) -> (ScriptBuf, Witness) {
    let tree = TaprootBuilder::new().add_leaf(0, leaf.clone()).unwrap();
    let tree = tree.finalize(&KEYS.secp, KEYS.pair.x_only_public_key().0).unwrap();
    let control = tree.control_block(&(leaf.clone(), LeafVersion::TapScript)).unwrap();
    let witness = Witness::from_slice(&[leaf.into_bytes(), control.serialize()]);
    (ScriptBuf::new_p2tr_tweaked(tree.output_key()), witness)
}

/// A script that no one can unlock and that carries data.
pub fn op_return(data: &[u8]) -> ScriptBuf {
    ScriptBuf::new_op_return(PushBytesBuf::try_from(data.to_vec()).unwrap())
}

/// Size of a transaction on the wire, for fees by rate.
pub fn size(tx: &Transaction) -> usize {
    serialize(tx).len()
}
