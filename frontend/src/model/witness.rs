//! What each item of a witness is for. Only what follows from the spent output's type is said: without the prevout an
//! item is just an item.

use bitcoin::Script;
use hindsight_shared::script::ScriptKind;

/// What an item of a witness is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Not known, or an argument of a script.
    Item,
    /// A coinbase's reserved value, hashed into the witness commitment.
    Reserved,
    /// A signature.
    Signature,
    /// A public key.
    PublicKey,
    /// The script whose hash a P2WSH output holds.
    WitnessScript,
    /// A leaf of the output's script tree.
    Tapscript,
    /// What ties a leaf to the output key.
    ControlBlock,
    /// The annex: covered by signatures, without a meaning so far.
    Annex,
}

impl Role {
    /// The name that readers see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Reserved => "witness reserved value",
            Self::Signature => "signature",
            Self::PublicKey => "public key",
            Self::WitnessScript => "witness script",
            Self::Tapscript => "tapscript",
            Self::ControlBlock => "control block",
            Self::Annex => "annex",
        }
    }

    /// Whether the item is a script.
    pub const fn is_script(self) -> bool {
        matches!(self, Self::WitnessScript | Self::Tapscript)
    }
}

/// How an output was spent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spend {
    /// Taproot by its key.
    KeyPath,
    /// Taproot by a leaf of its script tree.
    ScriptPath {
        /// The leaf's version.
        leaf_version: u8,
        /// How deep in the tree it is.
        depth: u32,
    },
    /// Segwit inside P2SH.
    Nested(ScriptKind),
}

/// The kind that rules a witness: of the spent output, or of the program inside its P2SH.
pub fn ruling_kind(spent: ScriptKind, script_sig: &Script) -> ScriptKind {
    match (spent, script_sig.as_bytes()) {
        // Exactly one push of a witness program (BIP141).
        (ScriptKind::P2sh, [22, program @ ..]) if program.len() == 22 => nested(program, spent),
        (ScriptKind::P2sh, [34, program @ ..]) if program.len() == 34 => nested(program, spent),
        _ => spent,
    }
}

fn nested(program: &[u8], spent: ScriptKind) -> ScriptKind {
    match ScriptKind::of(Script::from_bytes(program)) {
        kind @ (ScriptKind::P2wpkh | ScriptKind::P2wsh) => kind,
        _ => spent,
    }
}

/// The role of each item of a witness, by the kind that rules it ([`ruling_kind`]); `None` where the prevout is not
/// known.
pub fn roles(kind: Option<ScriptKind>, items: &[Vec<u8>]) -> Vec<Role> {
    let mut roles = vec![Role::Item; items.len()];
    match (kind, &mut roles[..]) {
        (Some(ScriptKind::P2wpkh), [signature, key]) => (*signature, *key) = (Role::Signature, Role::PublicKey),
        (Some(ScriptKind::P2wsh), [arguments @ .., script]) => {
            *script = Role::WitnessScript;
            mark_signatures(arguments, items);
        }
        (Some(ScriptKind::P2tr), roles) => taproot_roles(roles, items),
        _ => {}
    }
    roles
}

/// BIP341: with two items or more, a last one that starts with 0x50 is the annex; of what is left, one item is a
/// signature by the key, and more are arguments, leaf and control block.
fn taproot_roles(roles: &mut [Role], items: &[Vec<u8>]) {
    let annex = items.len() >= 2 && items.last().is_some_and(|item| item.first() == Some(&0x50));
    let (rest, annexes) = roles.split_at_mut(items.len() - usize::from(annex));
    annexes.fill(Role::Annex);
    match rest {
        [signature] => *signature = Role::Signature,
        [arguments @ .., script, control] => {
            (*script, *control) = (Role::Tapscript, Role::ControlBlock);
            for (role, item) in arguments.iter_mut().zip(items) {
                if matches!(item.len(), 64 | 65) {
                    *role = Role::Signature;
                }
            }
        }
        [] => {}
    }
}

/// Strict DER: the only form in which a signature is valid in a witness script.
fn mark_signatures(roles: &mut [Role], items: &[Vec<u8>]) {
    for (role, item) in roles.iter_mut().zip(items) {
        if (9..=73).contains(&item.len()) && item[0] == 0x30 && usize::from(item[1]) == item.len() - 3 {
            *role = Role::Signature;
        }
    }
}

/// How an output of `spent` kind was spent, where that is not plain from the kind.
pub fn spend(spent: Option<ScriptKind>, script_sig: &Script, items: &[Vec<u8>]) -> Option<Spend> {
    let spent = spent?;
    let ruling = ruling_kind(spent, script_sig);
    if ruling != spent {
        return Some(Spend::Nested(ruling));
    }
    if spent != ScriptKind::P2tr {
        return None;
    }
    let roles = roles(Some(spent), items);
    let control = roles.iter().position(|&role| role == Role::ControlBlock);
    match control.and_then(|at| items.get(at)) {
        Some(control) => Some(Spend::ScriptPath {
            leaf_version: control.first()? & 0xfe,
            depth: crate::number::narrow(control.len().saturating_sub(33) / 32),
        }),
        None => roles.contains(&Role::Signature).then_some(Spend::KeyPath),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::ScriptBuf;

    fn items(items: &[&[u8]]) -> Vec<Vec<u8>> {
        items.iter().map(|item| item.to_vec()).collect()
    }

    #[track_caller]
    fn check(kind: ScriptKind, witness: &[&[u8]], expect: &[Role]) {
        assert_eq!(roles(Some(kind), &items(witness)), expect);
    }

    /// The kinds of mempool/mempool PR#5961: a signature that starts with 0x50 is no annex when it is alone.
    #[test]
    fn an_annex_takes_two_items() {
        let signature = [0x50; 64];
        check(ScriptKind::P2tr, &[&signature], &[Role::Signature]);
        check(ScriptKind::P2tr, &[&[1; 64], &[0x50, 1]], &[Role::Signature, Role::Annex]);
        check(
            ScriptKind::P2tr,
            &[&[1; 64], &[0x51], &[0xc0; 33], &[0x50]],
            &[Role::Signature, Role::Tapscript, Role::ControlBlock, Role::Annex],
        );
        check(ScriptKind::P2tr, &[&[0x51], &[0xc0; 33]], &[Role::Tapscript, Role::ControlBlock]);
        check(ScriptKind::P2tr, &[], &[]);
        check(ScriptKind::P2tr, &[&[]], &[Role::Signature]);
    }

    #[test]
    fn other_kinds() {
        check(ScriptKind::P2wpkh, &[&[0x30; 71], &[2; 33]], &[Role::Signature, Role::PublicKey]);
        let mut der = vec![0x30; 71];
        der[1] = 68;
        check(ScriptKind::P2wsh, &[&[], &der, &[0x52, 0xae]], &[Role::Item, Role::Signature, Role::WitnessScript]);
        check(ScriptKind::P2pkh, &[&[1]], &[Role::Item]);
        assert_eq!(roles(None, &items(&[&[1; 64]])), [Role::Item]);
    }

    #[test]
    fn spends_are_told() {
        let none = ScriptBuf::new();
        let path = |witness: &[&[u8]]| spend(Some(ScriptKind::P2tr), &none, &items(witness));
        assert_eq!(path(&[&[0x50; 65]]), Some(Spend::KeyPath));
        assert_eq!(path(&[&[0x51], &[0xc1; 33 + 64]]), Some(Spend::ScriptPath { leaf_version: 0xc0, depth: 2 }));
        assert_eq!(spend(None, &none, &items(&[&[1; 64]])), None);
        let nested = ScriptBuf::from_bytes([&[22, 0, 20][..], &[7; 20]].concat());
        assert_eq!(spend(Some(ScriptKind::P2sh), &nested, &[]), Some(Spend::Nested(ScriptKind::P2wpkh)));
        assert_eq!(spend(Some(ScriptKind::P2sh), &none, &[]), None);
    }
}
