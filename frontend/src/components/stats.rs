//! A block's statistics: Core's definitions and exact ones side by side, computed in this browser and held against what
//! the server says.

use std::sync::Arc;

use hindsight_shared::stats::row::{SUMMARY_SIZE, Summary};
use leptos::prelude::*;

use super::tx_table::NARROW;
use crate::api::ApiError;
use crate::browser::{load, matches, save};
use crate::chain::Answer;
use crate::format::count;
use crate::model::stats::{Table, tables};
use crate::number::wide;
use crate::settings::Settings;

/// The name under which the browser keeps whether the panel is open.
const NAME: &str = "stats";

/// The panel.
#[component]
pub fn Stats(
    /// What this browser computed.
    summary: Arc<Summary>,
    /// What the server computed, once it is there.
    server: Answer<Vec<u8>>,
) -> impl IntoView {
    let settings = expect_context::<Settings>();
    let own = summary.pack();
    let verdict = move || server.with(|server| verdict(&own, server.as_ref()));
    // As text, because a view of sixty lines would be twenty kilobytes of code. No text in it comes from a block.
    // On a phone only the first table is open: the transactions are not far then.
    let open = if matches(NARROW) { 1 } else { usize::MAX };
    let text = move || {
        let tables = tables(&summary, settings.unit.get());
        tables.iter().enumerate().map(|(at, table)| html(table, at < open)).collect::<String>()
    };
    // The transactions below are what most come for: closed until a reader opens it, and then for good.
    let is_open = load(NAME).is_some_and(|kept| kept == "open");
    let keep = move |event: leptos::ev::Event| {
        let details: web_sys::Element = event_target(&event);
        save(NAME, if details.has_attribute("open") { "open" } else { "closed" });
    };
    view! {
        <details class="card stats" open=is_open on:toggle=keep data-test="stats">
            <summary>
                <h2>"Statistics"</h2>
                <span class="muted" role="status" data-test="stats-verdict">{verdict}</span>
            </summary>
            <p class="muted small">
                "Core's definitions and exact ones, side by side. Names in code are those of Core's getblockstats, which truncates rates to whole sat/vB. Exact rates are fee over
                weight, rounded down only here. Packages: what a child pays above its own rate counts for the parents that it
                has in the same block. Open a line for its definition."
            </p>
            <div class="stats-tables" inner_html=text></div>
        </details>
    }
}

fn html(table: &Table, open: bool) -> String {
    let cells = |values: &mut dyn Iterator<Item = &str>| -> String {
        values.map(|value| ["<span>", value, "</span>"].concat()).collect()
    };
    let lines: String = table
        .lines
        .iter()
        .map(|line| {
            let is_cores = line.name.starts_with(|letter: char| letter.is_ascii_lowercase());
            let tag = if is_cores { "code" } else { "b" };
            let values = cells(&mut line.values.iter().map(String::as_str));
            let head = ["<", tag, ">", &line.name, "</", tag, ">", &values].concat();
            ["<details><summary>", &head, "</summary><p>", line.meaning, "</p></details>"].concat()
        })
        .collect();
    let heads = cells(&mut table.heads.iter().copied());
    let columns = table.heads.len().to_string();
    let open = if open { " open" } else { "" };
    let head = ["<summary><h3>", &table.title, "</h3>", &heads, "</summary>"].concat();
    ["<details class=\"columns-", &columns, "\"", open, ">", &head, &lines, "</details>"].concat()
}

fn verdict(own: &[u8], server: Option<&Result<Vec<u8>, ApiError>>) -> String {
    match server {
        None => "Computed in this browser; the server's own statistics are on their way.".to_owned(),
        Some(Ok(row)) if row == own => [
            "Computed in this browser. The server's own are the same, in all of ",
            &count(wide(own.len()), "byte"),
            ".",
        ]
        .concat(),
        Some(Ok(row)) => {
            let differing = row.iter().zip(own).filter(|(a, b)| a != b).count() + row.len().abs_diff(SUMMARY_SIZE);
            let differing = count(wide(differing), "byte");
            ["Computed in this browser. The server's own DIFFER in ", &differing, ": do not rely on its lists."]
                .concat()
        }
        Some(Err(error)) => ["Computed in this browser. The server gives none: ", &error.to_string()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let own = vec![1; SUMMARY_SIZE];
        let mut other = own.clone();
        assert!(verdict(&own, Some(&Ok(other.clone()))).ends_with("the same, in all of 756 bytes."));
        other[5] = 2;
        assert!(verdict(&own, Some(&Ok(other))).contains("DIFFER in 1 byte:"));
        assert!(verdict(&own, Some(&Ok(Vec::new()))).contains("DIFFER in 756 bytes"));
        let error = ApiError::Refused { status: 404, sentence: "no undo".to_owned() };
        assert!(verdict(&own, Some(&Err(error))).ends_with("no undo"));
        assert!(verdict(&own, None).contains("on their way"));
    }

    #[test]
    fn a_table_is_text() {
        let line = crate::model::stats::Line { name: "txs".to_owned(), meaning: "All.", values: vec!["5".to_owned()] };
        let table = Table { title: "Counts".to_owned(), heads: &["Core"], lines: vec![line] };
        let expect = "<details class=\"columns-1\" open><summary><h3>Counts</h3><span>Core</span></summary><details><summary><code>txs</code>\
                      <span>5</span></summary><p>All.</p></details></details>";
        assert_eq!(html(&table, true), expect);
    }
}
