//! What a block holds besides fees: kinds of scripts, ages of coins, bytes of data, signature operations, and what the
//! coinbase claims.

use bitcoin::script::Instruction;
use bitcoin::{Amount, Network, Script};

use crate::Height;
use crate::block::{BlockView, InputView, TxView};
use crate::network::NetworkExt;
use crate::prevouts::{Prevout, PrevoutsView};
use crate::script::ScriptKind;
use crate::summary::TxRow;

/// How many, and what they hold, in satoshis.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Their sum, in satoshis.
    pub value: u64,
}

/// A tally for each kind of script, in the order of [`ScriptKind::ALL`].
pub type ByKind = [Tally; ScriptKind::ALL.len()];

/// What a block holds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Content {
    /// Outputs spent, by kind.
    pub spent: ByKind,
    /// Outputs created, the coinbase's included, by kind.
    pub created: ByKind,
    /// Ages of the outputs spent.
    pub ages: Ages,
    /// Bytes of witnesses, marker and flag included (what BIP141 discounts).
    pub witness_bytes: u64,
    /// Bytes of scripts that start with OP_RETURN.
    pub op_return_bytes: u64,
    /// Inscription envelopes (`OP_FALSE OP_IF "ord" … OP_ENDIF` in a tapscript).
    pub envelopes: u64,
    /// Bytes of those envelopes.
    pub envelope_bytes: u64,
    /// Signature operations as the block limit of 80,000 counts them (BIP141).
    pub sigop_cost: u64,
    /// What the coinbase pays out, in satoshis.
    pub claimed: u64,
    /// What it may pay out: subsidy and fees. `None` where the fees are unknown.
    pub claimable: Option<u64>,
}

/// Ages in blocks, from the heights that undo records keep.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ages {
    /// Outputs whose height is known.
    pub known: Tally,
    /// Outputs whose height is not recorded (spenttxouts, and undo records from before 2017).
    pub unknown: Tally,
    /// Sum of satoshis times blocks: 144 blocks are a day, so that this over 14,400,000,000 is coin days destroyed.
    pub destroyed: u128,
    /// Height of the oldest output spent.
    pub oldest: Option<Height>,
}

/// The content of a block at a height. `rows` are the block's, made with the same prevouts.
pub fn content(
    network: Network,
    height: Height,
    block: &BlockView<'_>,
    prevouts: Option<&PrevoutsView<'_>>,
    rows: &[TxRow],
) -> Content {
    let mut content = Content::default();
    for (index, tx) in block.txs().enumerate() {
        content.add_outputs(&tx);
        content.witness_bytes += (tx.size() - tx.base_size()) as u64;
        let Some(prevouts) = prevouts.filter(|_| index > 0) else { continue };
        // Without witnesses the iterator ends at once: then every input has an empty one.
        let mut witnesses = tx.witnesses();
        for (input, prevout) in tx.inputs().zip(prevouts.tx(index)) {
            content.add_input(height, &input, &prevout, &witnesses.next().unwrap_or_default());
        }
    }
    content.claimed = rows.first().map_or(0, |row| row.value.to_sat());
    let spends = rows.get(1..).unwrap_or_default();
    let fees = spends.iter().try_fold(Amount::ZERO, |sum, row| sum.checked_add(row.fee?));
    let claimable = fees.and_then(|fees| fees.checked_add(network.subsidy(height)));
    content.claimable = claimable.map(Amount::to_sat);
    content
}

impl Content {
    /// What the miner left unclaimed, in satoshis; `None` where the fees are unknown or it claims too much.
    pub fn unclaimed(&self) -> Option<u64> {
        self.claimable?.checked_sub(self.claimed)
    }

    fn add_outputs(&mut self, tx: &TxView<'_>) {
        for output in tx.outputs() {
            count(&mut self.created, ScriptKind::of(output.script), output.value);
            self.sigop_cost += 4 * sigops(output.script.count_sigops_legacy());
            if output.script.is_op_return() {
                self.op_return_bytes += output.script.len() as u64;
            }
        }
        for input in tx.inputs() {
            self.sigop_cost += 4 * sigops(input.script_sig.count_sigops_legacy());
        }
    }

    fn add_input(&mut self, height: Height, input: &InputView<'_>, prevout: &Prevout<'_>, witness: &[&[u8]]) {
        let kind = ScriptKind::of_prevout(prevout.script);
        count(&mut self.spent, kind, prevout.value);
        self.ages.add(height, prevout);
        self.sigop_cost += spend_sigop_cost(kind, input.script_sig, witness);
        if kind == ScriptKind::P2tr
            && let Some(script) = tapscript(witness)
        {
            for bytes in envelopes(script) {
                self.envelopes += 1;
                self.envelope_bytes += bytes as u64;
            }
        }
    }
}

impl Ages {
    fn add(&mut self, height: Height, prevout: &Prevout<'_>) {
        let tally = if prevout.created.is_some() { &mut self.known } else { &mut self.unknown };
        tally.count += 1;
        tally.value = tally.value.saturating_add(prevout.value.to_sat());
        if let Some(created) = prevout.created {
            let age = height.0.saturating_sub(created.height.0);
            self.destroyed += u128::from(prevout.value.to_sat()) * u128::from(age);
            self.oldest = Some(self.oldest.map_or(created.height, |oldest| oldest.min(created.height)));
        }
    }
}

fn count(kinds: &mut ByKind, kind: ScriptKind, value: Amount) {
    let tally = &mut kinds[kind as usize];
    tally.count += 1;
    tally.value = tally.value.saturating_add(value.to_sat());
}

fn sigops(count: usize) -> u64 {
    count as u64
}

/// Cost of what is only known with the spent output (Core's `GetP2SHSigOpCount` and `CountWitnessSigOps`).
fn spend_sigop_cost(kind: ScriptKind, script_sig: &Script, witness: &[&[u8]]) -> u64 {
    match kind {
        ScriptKind::P2wpkh | ScriptKind::P2wsh => witness_sigops(kind, witness),
        ScriptKind::P2sh => {
            let Some(redeem) = last_push(script_sig) else { return 0 };
            4 * sigops(redeem.count_sigops()) + witness_sigops(ScriptKind::of(redeem), witness)
        }
        _ => 0,
    }
}

fn witness_sigops(kind: ScriptKind, witness: &[&[u8]]) -> u64 {
    match kind {
        ScriptKind::P2wpkh => 1,
        ScriptKind::P2wsh => witness.last().map_or(0, |script| sigops(Script::from_bytes(script).count_sigops())),
        _ => 0,
    }
}

/// The last push of a script of pushes only; an empty push stands for an empty script.
fn last_push(script: &Script) -> Option<&Script> {
    if !script.is_push_only() {
        return None;
    }
    match script.instructions().last()?.ok()? {
        Instruction::PushBytes(bytes) => Some(Script::from_bytes(bytes.as_bytes())),
        // OP_1 … OP_16 push a number, which as a script counts nothing.
        Instruction::Op(_) => None,
    }
}

/// The script of a taproot script path spend: before the control block, after which an annex may stand (BIP341).
pub fn tapscript<'a>(witness: &[&'a [u8]]) -> Option<&'a Script> {
    let without_annex = match witness {
        [rest @ .., annex] if !rest.is_empty() && annex.first() == Some(&0x50) => rest,
        all => all,
    };
    match without_annex {
        [.., script, _control] => Some(Script::from_bytes(script)),
        _ => None,
    }
}

/// Sizes of the inscription envelopes in a tapscript, from OP_FALSE to OP_ENDIF.
fn envelopes(script: &Script) -> impl Iterator<Item = usize> + '_ {
    let mut items = script.instruction_indices().map_while(Result::ok).peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, item) = items.next()?;
            let opens = matches!(item, Instruction::PushBytes(bytes) if bytes.is_empty());
            if !opens || items.next_if(|(_, item)| is_if(item)).is_none() {
                continue;
            }
            let named =
                items.next_if(|(_, item)| matches!(item, Instruction::PushBytes(bytes) if bytes.as_bytes() == b"ord"));
            if named.is_none() {
                continue;
            }
            let (end, _) = items.by_ref().find(|(_, item)| is_endif(item))?;
            return Some(end + 1 - start);
        }
    })
}

fn is_if(item: &Instruction<'_>) -> bool {
    matches!(item, Instruction::Op(code) if *code == bitcoin::opcodes::all::OP_IF)
}

fn is_endif(item: &Instruction<'_>) -> bool {
    matches!(item, Instruction::Op(code) if *code == bitcoin::opcodes::all::OP_ENDIF)
}

#[cfg(test)]
mod tests {
    use bitcoin::ScriptBuf;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_lone_item_that_starts_like_an_annex_is_a_signature() {
        assert_eq!(tapscript(&[&[0x50; 64]]), None);
        assert_eq!(tapscript(&[&[0x50; 64], &[0x50]]), None);
        assert_eq!(tapscript(&[&[0x51], &[0xc0; 33]]).map(Script::len), Some(1));
        assert_eq!(tapscript(&[&[0x51], &[0xc0; 33], &[0x50, 1]]).map(Script::len), Some(1));
    }

    #[test]
    fn envelopes_are_found_and_measured() {
        let sizes = |hex: &str| envelopes(&ScriptBuf::from_hex(hex).unwrap()).collect::<Vec<_>>();
        // OP_FALSE OP_IF "ord" 1 "a" OP_ENDIF, twice
        assert_eq!(sizes("51006303 6f7264 51 0161 68 006303 6f7264 68".replace(' ', "").as_str()), [10, 7]);
        assert_eq!(sizes("0063036f7264"), [0; 0]);
        assert_eq!(sizes("0063036f726568"), [0; 0]);
    }
}
