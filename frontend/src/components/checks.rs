//! What was checked in this browser, check by check, and what nobody can check from a block alone.

use hindsight_shared::verify::{Check, Outcome, Subject};
use leptos::prelude::*;

use super::icon::{Glyph, Icon};
use crate::format::bytes;
use crate::model::block::Report;

/// The panel of checks.
#[component]
pub fn Checks(
    /// Each check and how it went.
    checks: Vec<Check>,
    /// Times.
    report: Report,
    /// Bytes that came over the wire.
    size: u64,
    /// Fetches the block anew.
    again: Callback<()>,
) -> impl IntoView {
    let count = |outcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let (passed, failed, unchecked) = (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Unchecked));
    let verdict = if failed > 0 { "verdict bad" } else { "verdict good" };
    let summary = verdict_text(passed, failed, unchecked);
    let milliseconds = |time: u32| [&crate::format::group(time), " ms"].concat();
    let times = [
        bytes(size),
        " in ".to_owned(),
        milliseconds(report.fetch_ms),
        ", decoded in ".to_owned(),
        milliseconds(report.decode_ms),
        ", checked in ".to_owned(),
        milliseconds(report.verify_ms),
        ", statistics in ".to_owned(),
        milliseconds(report.stats_ms),
    ]
    .concat();
    view! {
        <section class="card checks" aria-labelledby="checks-title" data-test="checks">
            <h2 id="checks-title">"Verified in your browser"</h2>
            <p class=verdict data-test="verdict">{summary}</p>
            {(failed > 0).then(|| view! {
                <button type="button" class="button" data-test="again" on:click=move |_| again.run(())>"Fetch it again"</button>
            })}
            <ul>{checks.into_iter().map(|check| view! { <Row check /> }).collect_view()}</ul>
            <p class="muted small" data-test="times">{times}</p>
        </section>
    }
}

fn verdict_text(passed: usize, failed: usize, unchecked: usize) -> String {
    let plural = |count: usize| crate::format::count(crate::number::wide(count), "check");
    let mut out = if failed > 0 {
        [&plural(failed), " failed, ", &passed.to_string(), " passed"].concat()
    } else {
        [&plural(passed), " passed"].concat()
    };
    if unchecked > 0 {
        out.push_str(", ");
        out.push_str(&unchecked.to_string());
        out.push_str(" cannot be made here");
    }
    out
}

#[component]
fn Row(check: Check) -> impl IntoView {
    let (icon, outcome) = match check.outcome {
        Outcome::Passed => (Icon::Tick, "passed"),
        Outcome::Failed => (Icon::Cross, "failed"),
        Outcome::Unchecked => (Icon::Dash, "unchecked"),
    };
    view! {
        <li class=outcome data-test="check" data-outcome=outcome>
            <details>
                <summary>
                    <Glyph icon />
                    <span>{check.subject.to_string()}</span>
                    <span class="unseen">{outcome}</span>
                    <span class="more">
                        <Glyph icon=Icon::Down />
                    </span>
                </summary>
                <p>{check.detail}</p>
                <p class="muted">{meaning(check.subject)}</p>
            </details>
        </li>
    }
}

/// What a check guards against.
const fn meaning(subject: Subject) -> &'static str {
    match subject {
        Subject::BlockHash => {
            "Guards against another block in this one's place: the hash covers all 80 bytes of the header."
        }
        Subject::ProofOfWork => {
            "Guards against an invented block: finding such a hash costs as much work as mining did."
        }
        Subject::MerkleRoot => {
            "Guards against a missing, changed or added transaction: the header commits to every txid."
        }
        Subject::WitnessCommitment => {
            "Guards against changed signatures and witness data: the coinbase commits to every wtxid (BIP141)."
        }
        Subject::Weight => "The consensus limit, counted from the bytes.",
        Subject::Height => "Guards against a wrong height: since BIP34 the coinbase starts with it.",
        Subject::UndoChecksum => {
            "Amounts and types of spent outputs come from the node's undo record, which Bitcoin Core seals with a checksum."
        }
        Subject::Fees => {
            "If the server invented amounts of inputs, fees and the miner's claim would hardly still agree."
        }
        Subject::Prevouts => "Only the transactions that created them, or a signature check, could prove them.",
        Subject::Scripts => "The node's own validation stands for them.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        assert_eq!(verdict_text(8, 0, 2), "8 checks passed, 2 cannot be made here");
        assert_eq!(verdict_text(7, 1, 0), "1 check failed, 7 passed");
    }
}
