//! What the server says of itself: where its blocks come from, how far it has read, what files cannot tell.

use hindsight_shared::api::{HeightRange, IndexLevel, IndexProgress, Progress, Status};
use leptos::prelude::*;

use super::fact::{Fact, Meter};
use super::notice::{Notice, Tone};
use crate::format::{count, group, span};
use crate::live::{Derived, State, live};
use crate::number::share;

/// The panel beside the list of blocks. What changes is written anew, the rest stays as the reader left it.
#[component]
pub fn Server(
    /// What the server said last.
    status: State<Option<Status>>,
    /// The page of the tip.
    tip: Signal<Option<String>>,
    /// The page of a block with as much work as the tip.
    tie: Signal<Option<String>>,
) -> impl IntoView {
    let height = move || {
        let height = status.with(|status| status.as_ref()?.tip.as_ref()?.height);
        height.map_or_else(|| "not known yet".to_owned(), group)
    };
    let progress =
        Derived::new(move || status.with(|status| status.as_ref().map(|status| status.progress)).unwrap_or_default());
    let source = move || status.with(|status| status.as_ref().map(|status| status.source.clone()));
    let ranges = Derived::new(move || {
        status.with(|status| status.as_ref().map(|status| status.ranges.clone())).unwrap_or_default()
    });
    let levels = Derived::new(move || {
        status.with(|status| status.as_ref().map(|status| status.index.clone())).unwrap_or_default()
    });
    let unknown = Derived::new(move || {
        status.with(|status| status.as_ref().map(|status| status.unknown.clone())).unwrap_or_default()
    });
    view! {
        <section class="card server" aria-labelledby="server-title" data-test="server">
            <h2 id="server-title">"This server"</h2>
            <dl class="facts">
                <Fact name="Tip" value=view! { <a href=tip data-test="tip">{height}</a> }.into_any() />
                <Fact name="Blocks found" title="Stale ones included" value=view! { {live(move || group(progress.get().blocks))} }.into_any() />
                <Fact name="Source" wide=true value=view! { {source} }.into_any() />
                <Fact name="Block files" wide=true value=view! { {live(move || reading(progress.get()))} }.into_any() />
                <Fact name="Statistics" wide=true value=view! { {live(move || counted(progress.get(), &ranges.get()))} }.into_any() />
                {live(move || levels.get().into_iter().map(level_fact).collect_view())}
            </dl>
            {live(move || (ranges.with(Vec::len) > 1).then(|| view! {
                <h3>"Heights on disk"</h3>
                <ul class="ranges-list" data-test="ranges">
                    {ranges.get().into_iter().map(|range| view! { <li>{range_text(range)}</li> }).collect_view()}
                </ul>
            }))}
            {live(move || tie.get().map(|href| view! {
                <p class="muted">
                    "Two blocks at the tip have the same work; files cannot tell which one the node prefers. "
                    <a href=href>"The other one"</a>
                </p>
            }))}
            {live(move || (!unknown.with(Vec::is_empty)).then(|| view! {
                <details data-test="unknown">
                    <summary>"What files cannot tell"</summary>
                    <ul>{unknown.get().into_iter().map(|text| view! { <li>{text}</li> }).collect_view()}</ul>
                </details>
            }))}
        </section>
    }
}

fn reading(progress: Progress) -> AnyView {
    if progress.complete {
        return view! { {count(progress.files.into(), "file")} " read" }.into_any();
    }
    part(progress.files_read.into(), progress.files.into(), "file", "files read")
}

fn counted(progress: Progress, ranges: &[HeightRange]) -> AnyView {
    let blocks = ranges.iter().map(|range| u64::from(range.to.0.saturating_sub(range.from.0)) + 1).sum();
    if u64::from(progress.statistics) >= blocks {
        return view! { {count(blocks, "block")} " counted" }.into_any();
    }
    part(progress.statistics.into(), blocks, "block", "blocks counted")
}

/// How far a level of the index is.
fn level_fact(progress: IndexProgress) -> AnyView {
    let name = match progress.level {
        IndexLevel::Transactions => "Index of transactions",
        IndexLevel::Addresses => "Index of addresses",
    };
    let value = if progress.whole {
        view! { {count(progress.of.into(), "block")} " indexed" }.into_any()
    } else {
        let left = progress.seconds_left.map(|seconds| [&span(seconds.into()), " left"].concat());
        view! {
            {part(progress.blocks.into(), progress.of.into(), "block", "blocks indexed")}
            <span class="muted small">{left}</span>
        }
        .into_any()
    };
    view! { <Fact name wide=true value=view! { <span data-test="index" data-whole=progress.whole.to_string()>{value}</span> }.into_any() /> }.into_any()
}

/// How much of something is done.
fn part(done: u64, of: u64, noun: &str, label: &str) -> AnyView {
    view! {
        {group(done)} " of " {count(of, noun)}
        <Meter share=share(done, of, 1000) label=label.to_owned() />
    }
    .into_any()
}

fn range_text(range: HeightRange) -> String {
    if range.from == range.to { group(range.from) } else { [&group(range.from), "–", &group(range.to)].concat() }
}

/// What is wrong, and the demo's own notice.
#[component]
pub fn Notices(
    /// What the demo chain is, if it is one.
    demo: Option<String>,
    /// What the server warns of.
    warnings: Vec<String>,
) -> impl IntoView {
    let warnings = warnings.into_iter().map(|warning| {
        view! { <Notice tone=Tone::Warning title="The server warns" name="warning"><p>{warning}</p></Notice> }
    });
    view! {
        {demo.map(|about| view! {
            <Notice tone=Tone::Note title="This is a demo chain" name="demo">
                <p>
                    {about} " To see your own node's blocks, start "
                    <code>"hindsight serve"</code> ", with " <code>"--datadir DIR"</code>
                    " where the node is not in its usual place. It only reads, next to the running node, and needs no RPC and no index of the node's."
                </p>
            </Notice>
        })}
        {warnings.collect_view()}
    }
}
