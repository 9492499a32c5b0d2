//! What the server says of itself: where its blocks come from, how far it has read, what files cannot tell.

use hindsight_shared::api::Status;
use leptos::prelude::*;

use super::fact::{Fact, Meter};
use super::notice::{Notice, Tone};
use crate::format::{count, group};
use crate::number::share;

/// The panel beside the list of blocks.
#[component]
pub fn Server(
    /// What the server said last.
    status: Status,
    /// The page of the tip.
    tip: Option<String>,
    /// The page of a block with as much work as the tip.
    tie: Option<String>,
) -> impl IntoView {
    let progress = status.progress;
    let read = share(progress.files_read.into(), progress.files.into(), 1000);
    let reading = if progress.complete {
        count(progress.files.into(), "block file") + " read"
    } else {
        [&group(progress.files_read), " of ", &count(progress.files.into(), "block file"), " read"].concat()
    };
    let height = status.tip.as_ref().and_then(|tip| tip.height).map_or_else(|| "not known yet".to_owned(), group);
    let ranges = status.ranges.iter().map(|range| {
        let text = if range.from == range.to {
            group(range.from)
        } else {
            [&group(range.from), "–", &group(range.to)].concat()
        };
        view! { <li>{text}</li> }
    });
    let several = status.ranges.len() > 1;
    let tie = tie.map(|href| {
        view! {
            <p class="muted">
                "Two blocks at the tip have the same work; files cannot tell which one the node prefers. "
                <a href=href>"The other one"</a>
            </p>
        }
    });
    view! {
        <section class="card server" aria-labelledby="server-title" data-test="server">
            <h2 id="server-title">"This server"</h2>
            <dl class="facts">
                <Fact name="Tip">
                    {match tip {
                        Some(href) => view! { <a href=href data-test="tip">{height}</a> }.into_any(),
                        None => height.into_any(),
                    }}
                </Fact>
                <Fact name="Blocks found" title="Stale ones included">{group(progress.blocks)}</Fact>
                <Fact name="Source" wide=true>{status.source.clone()}</Fact>
                <Fact name="Reading" wide=true>
                    {reading}
                    {(!progress.complete).then(|| view! { <Meter share=read label="files read".to_owned() /> })}
                </Fact>
            </dl>
            {several.then(|| view! {
                <h3>"Heights on disk"</h3>
                <ul class="ranges-list" data-test="ranges">{ranges.collect_view()}</ul>
            })}
            {tie}
            {(!status.unknown.is_empty()).then(|| view! {
                <details data-test="unknown">
                    <summary>"What files cannot tell"</summary>
                    <ul>{status.unknown.iter().map(|text| view! { <li>{text.clone()}</li> }).collect_view()}</ul>
                </details>
            })}
        </section>
    }
}

/// What is wrong, and the demo's own notice.
#[component]
pub fn Notices(
    /// What the server said last.
    status: Status,
) -> impl IntoView {
    let warnings = status.warnings.iter().map(|warning| {
        let warning = warning.clone();
        view! { <Notice tone=Tone::Warning title="The server warns" name="warning"><p>{warning}</p></Notice> }
    });
    view! {
        {status.demo.then(|| view! {
            <Notice tone=Tone::Note title="This is the demo chain" name="demo">
                <p>
                    "The first 2,017 blocks of testnet3, real ones, as Bitcoin Core wrote them. To see your own node's blocks, start "
                    <code>"hindsight serve"</code> ", with " <code>"--datadir DIR"</code>
                    " where the node is not in its usual place. It only reads, next to the running node, and needs no RPC and no index of the node's."
                </p>
            </Notice>
        })}
        {warnings.collect_view()}
    }
}
