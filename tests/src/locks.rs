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
use bitcoin::secp256k1::{All, Message, PublicKey, Secp256k1, SecretKey, XOnlyPublicKey};
use bitcoin::sighash::{Annex, EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use bitcoin::taproot::{LeafVersion, TaprootBuilder};
use bitcoin::{CompressedPublicKey, Script, ScriptBuf, TapLeafHash, Transaction, TxOut, Witness};

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

    /// The scriptPubKey, of the key that all tests share.
    pub fn script(self) -> ScriptBuf {
        self.script_of(&KEY)
    }

    /// The scriptPubKey of a key.
    pub fn script_of(self, key: &Key) -> ScriptBuf {
        match self {
            Self::Pk => pay_to(&key.public.serialize()),
            Self::PkUncompressed => pay_to(&key.public.serialize_uncompressed()),
            Self::PkHybrid => pay_to(&hybrid(&key.public)),
            Self::Pkh => ScriptBuf::new_p2pkh(&CompressedPublicKey(key.public).pubkey_hash()),
            Self::ShTrue => anyone().to_p2sh(),
            Self::ShMultisig => key.multisig().to_p2sh(),
            Self::ShWpkh => key.witness_key_hash().to_p2sh(),
            Self::Wpkh => key.witness_key_hash(),
            Self::WshTrue => anyone().to_p2wsh(),
            Self::TrKey | Self::TrKeyAnnex => ScriptBuf::new_p2tr(&SECP, key.x_only(), None),
            Self::TrScript => key.tapscript(anyone()).0,
            Self::Multisig => key.multisig(),
            Self::True => anyone(),
            Self::Long => long(),
            Self::Empty => ScriptBuf::new(),
            Self::ShSigops => sigops().to_p2sh(),
            Self::WshSigops => sigops().to_p2wsh(),
            Self::ShWshSigops => sigops().to_p2wsh().to_p2sh(),
            Self::Anchor => ScriptBuf::from_bytes(vec![0x51, 2, 0x4e, 0x73]),
            Self::WitnessUnknown => ScriptBuf::from_bytes(vec![0x60, 2, 0x75, 0x1e]),
            Self::TrScriptAnnex => key.tapscript(key.signed_leaf()).0,
        }
    }

    /// Unlocks one input with the key that all tests share, where `spent` are the outputs of all inputs.
    pub fn unlock(self, tx: &mut Transaction, index: usize, spent: &[TxOut]) {
        self.unlock_with(&KEY, tx, index, spent);
    }

    /// Unlocks one input with a key, where `spent` are the outputs of all inputs.
    pub fn unlock_with(self, key: &Key, tx: &mut Transaction, index: usize, spent: &[TxOut]) {
        let (script_sig, witness) = match self {
            Self::Pk | Self::PkUncompressed | Self::PkHybrid => {
                (pushes(&[key.legacy(tx, index, &self.script_of(key))]), vec![])
            }
            Self::Pkh => {
                let public = key.public.serialize().to_vec();
                (pushes(&[key.legacy(tx, index, &self.script_of(key)), public]), vec![])
            }
            Self::ShTrue => (pushes(&[anyone().into_bytes()]), vec![]),
            Self::ShMultisig => {
                let redeem = key.multisig();
                (pushes(&[vec![], key.legacy(tx, index, &redeem), redeem.into_bytes()]), vec![])
            }
            Self::ShWpkh => (pushes(&[key.witness_key_hash().into_bytes()]), key.by_witness_key(tx, index, spent)),
            Self::Wpkh => (ScriptBuf::new(), key.by_witness_key(tx, index, spent)),
            Self::WshTrue => (ScriptBuf::new(), vec![anyone().into_bytes()]),
            Self::TrKey => (ScriptBuf::new(), vec![key.by_key(tx, index, spent, None)]),
            Self::TrKeyAnnex => (ScriptBuf::new(), vec![key.by_key(tx, index, spent, Some(ANNEX)), ANNEX.to_vec()]),
            Self::TrScriptAnnex => (ScriptBuf::new(), key.by_leaf(tx, index, spent, &key.signed_leaf(), Some(ANNEX))),
            Self::TrScript => (ScriptBuf::new(), key.tapscript(anyone()).1.to_vec()),
            Self::Multisig => (pushes(&[vec![], key.legacy(tx, index, &key.multisig())]), vec![]),
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

static SECP: LazyLock<Secp256k1<All>> = LazyLock::new(Secp256k1::new);

static KEY: LazyLock<Key> = LazyLock::new(|| Key::new([7; 32]));

/// Starts with 0x50 and means nothing yet (BIP341).
const ANNEX: &[u8] = &[0x50, 0xde, 0xad];

/// A secret key, and what it can sign. The same key makes the same signature of the same bytes.
#[derive(Clone, Debug)]
pub struct Key {
    secret: SecretKey,
    /// What the world sees of it.
    pub public: PublicKey,
    pair: Keypair,
}

impl Key {
    /// From its bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        let secret = SecretKey::from_slice(&secret).unwrap();
        Self { public: secret.public_key(&SECP), pair: Keypair::from_secret_key(&SECP, &secret), secret }
    }

    /// As taproot writes it.
    pub fn x_only(&self) -> XOnlyPublicKey {
        self.pair.x_only_public_key().0
    }

    fn multisig(&self) -> ScriptBuf {
        let key = bitcoin::PublicKey::new(self.public);
        let other = bitcoin::PublicKey::new_uncompressed(self.public);
        Builder::new()
            .push_opcode(OP_PUSHNUM_1)
            .push_key(&key)
            .push_key(&other)
            .push_opcode(OP_PUSHNUM_2)
            .push_opcode(OP_CHECKMULTISIG)
            .into_script()
    }

    fn witness_key_hash(&self) -> ScriptBuf {
        ScriptBuf::new_p2wpkh(&CompressedPublicKey(self.public).wpubkey_hash())
    }

    /// Signs an input as it was done before segwit, where `script` is what it is checked by.
    pub fn legacy(&self, tx: &Transaction, index: usize, script: &Script) -> Vec<u8> {
        let all = EcdsaSighashType::All.to_u32();
        self.ecdsa(SighashCache::new(tx).legacy_signature_hash(index, script, all).unwrap().to_byte_array())
    }

    /// Signs an input of a version 0 script hash.
    pub fn by_witness_script(&self, tx: &Transaction, index: usize, spent: &[TxOut], script: &Script) -> Vec<u8> {
        let (value, all) = (spent[index].value, EcdsaSighashType::All);
        self.ecdsa(SighashCache::new(tx).p2wsh_signature_hash(index, script, value, all).unwrap().to_byte_array())
    }

    fn by_witness_key(&self, tx: &Transaction, index: usize, spent: &[TxOut]) -> Vec<Vec<u8>> {
        let (script, value) = (self.witness_key_hash(), spent[index].value);
        let sighash =
            SighashCache::new(tx).p2wpkh_signature_hash(index, &script, value, EcdsaSighashType::All).unwrap();
        vec![self.ecdsa(sighash.to_byte_array()), self.public.serialize().to_vec()]
    }

    fn ecdsa(&self, digest: [u8; 32]) -> Vec<u8> {
        let signature = SECP.sign_ecdsa(&Message::from_digest(digest), &self.secret);
        bitcoin::ecdsa::Signature::sighash_all(signature).to_vec()
    }

    /// `<key> OP_CHECKSIG`
    pub fn signed_leaf(&self) -> ScriptBuf {
        Builder::new().push_x_only_key(&self.x_only()).push_opcode(OP_CHECKSIG).into_script()
    }

    fn by_key(&self, tx: &Transaction, index: usize, spent: &[TxOut], annex: Option<&[u8]>) -> Vec<u8> {
        schnorr(tx, index, spent, annex, None, &self.pair.tap_tweak(&SECP, None).to_keypair())
    }

    /// The witness that unlocks a taproot output of [`Key::tapscript`] whose script asks for a signature of this key.
    pub fn by_leaf(
        &self,
        tx: &Transaction,
        index: usize,
        spent: &[TxOut],
        script: &Script,
        annex: Option<&[u8]>,
    ) -> Vec<Vec<u8>> {
        let leaf = TapLeafHash::from_script(script, LeafVersion::TapScript);
        let signature = schnorr(tx, index, spent, annex, Some(leaf), &self.pair);
        let (_, witness) = self.tapscript(script.to_owned());
        [vec![signature], witness.to_vec(), annex.map(<[u8]>::to_vec).into_iter().collect()].concat()
    }

    /// A taproot output that a script unlocks, and the witness that does so, signatures left out.
    pub fn tapscript(&self, leaf: ScriptBuf) -> (ScriptBuf, Witness) {
        let tree = TaprootBuilder::new().add_leaf(0, leaf.clone()).unwrap().finalize(&SECP, self.x_only()).unwrap();
        let control = tree.control_block(&(leaf.clone(), LeafVersion::TapScript)).unwrap();
        let witness = Witness::from_slice(&[leaf.into_bytes(), control.serialize()]);
        (ScriptBuf::new_p2tr_tweaked(tree.output_key()), witness)
    }
}

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

/// A script of nothing but pushes.
pub fn pushes(items: &[Vec<u8>]) -> ScriptBuf {
    let push = |builder: Builder, item: &Vec<u8>| builder.push_slice(PushBytesBuf::try_from(item.clone()).unwrap());
    items.iter().fold(Builder::new(), push).into_script()
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
    SECP.sign_schnorr_no_aux_rand(&message, pair).serialize().to_vec()
}

/// A taproot output that a script unlocks which anyone can run to its end, and the witness that does so.
pub fn tapscript(leaf: ScriptBuf) -> (ScriptBuf, Witness) {
    KEY.tapscript(leaf)
}

/// A script that no one can unlock and that carries data.
pub fn op_return(data: &[u8]) -> ScriptBuf {
    ScriptBuf::new_op_return(PushBytesBuf::try_from(data.to_vec()).unwrap())
}

/// Size of a transaction on the wire, for fees by rate.
pub fn size(tx: &Transaction) -> usize {
    serialize(tx).len()
}
