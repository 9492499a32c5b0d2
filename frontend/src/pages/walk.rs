//! Walking along a list by keys: the same on every page that has one.

use crate::browser::is_taken;
use crate::components::virtual_list::ListPlace;
use crate::live::State;

/// Moves the choice by one for `j`, `k` and the arrows, and opens what is chosen for Enter.
pub fn walk(
    event: &web_sys::KeyboardEvent,
    count: usize,
    chosen: State<Option<usize>>,
    place: ListPlace,
    open: &dyn Fn(usize),
) {
    if is_taken(event) {
        return;
    }
    let position = chosen.get_untracked();
    let next = match event.key().as_str() {
        "j" => position.map_or(0, |at| at + 1),
        "k" => position.map_or(0, |at| at.saturating_sub(1)),
        "ArrowDown" if position.is_some() => position.map_or(0, |at| at + 1),
        "ArrowUp" if position.is_some() => position.map_or(0, |at| at.saturating_sub(1)),
        "Enter" => return position.filter(|&at| at < count).into_iter().for_each(open),
        _ => return,
    };
    let Some(last) = count.checked_sub(1) else { return };
    event.prevent_default();
    let next = next.min(last);
    chosen.set(Some(next));
    place.reveal(next, 80);
}
