//! Undo records and `spenttxouts`: both forms say the same, and the second returns byte for byte.

use hindsight_shared::prevouts::{PrevoutScript, PrevoutsView};

/// Reads `bytes` in both forms.
pub fn run(bytes: &[u8]) {
    if let Ok(spent) = PrevoutsView::from_spent_txouts(bytes) {
        assert_eq!(spent.to_spent_txouts(), bytes);
    }
    let Ok(undo) = PrevoutsView::from_undo(bytes) else { return };
    let rest = undo.to_spent_txouts();
    let spent = PrevoutsView::from_spent_txouts(&rest).expect("what was written can be read");
    assert_eq!(spent.tx_count(), undo.tx_count());
    assert_eq!((undo.tx(0).len(), undo.tx(undo.tx_count()).len()), (0, 0));
    for index in 0..undo.tx_count() {
        assert_eq!(undo.tx(index).len(), undo.tx(index).count());
        assert_eq!(undo.tx(index).len(), spent.tx(index).len());
        for (one, other) in undo.tx(index).zip(spent.tx(index)) {
            assert_eq!(one.value, other.value);
            let PrevoutScript::Raw(script) = other.script else { panic!("spenttxouts packs no script") };
            assert_eq!(one.script.to_script().as_bytes(), script);
            assert_eq!(other.created, None);
            assert!(one.created.is_none_or(|created| created.height.0 > 0));
        }
    }
}
