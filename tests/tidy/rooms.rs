//! The room rule: data flows one way, and nothing further left knows anything further right.
//!
//! Each room lists which of its crate's modules it may use, and which crates it must not know. Tests are free.

use super::{Source, nothing_is_wrong, sources};

struct Room {
    /// Where its files are.
    path: &'static str,
    /// Modules of the same crate that it may use, besides itself; `*` for all.
    may_use: &'static [&'static str],
    /// Crates, or parts of the standard library, that it must not know.
    must_not_know: &'static [&'static str],
}

const WEB: &[&str] = &["leptos", "leptos_router", "gloo_net", "web_sys", "js_sys"];
const SERVING: &[&str] = &["axum", "tokio", "tower", "tower_http", "hyper", "hyper_util"];

const ROOMS: &[Room] = &[
    Room {
        path: "shared/src/",
        may_use: &["*"],
        must_not_know: &["std::fs", "std::net", "std::thread", "std::time", "std::env", "redb", "hindsight", "anyhow"],
    },
    Room { path: "backend/src/source", may_use: &[], must_not_know: &["redb"] },
    Room { path: "backend/src/runs", may_use: &[], must_not_know: &["redb", "std::fs"] },
    // The plain values that walking and pairing find are what it keeps, and runs.
    Room { path: "backend/src/index", may_use: &["source", "runs"], must_not_know: &[] },
    Room { path: "backend/src/chain", may_use: &["source"], must_not_know: &["redb", "std::fs"] },
    Room { path: "backend/src/undo", may_use: &["source", "chain"], must_not_know: &["redb", "std::fs"] },
    Room {
        path: "backend/src/check",
        may_use: &["source", "chain", "index", "query"],
        must_not_know: &["redb", "std::fs", "std::net"],
    },
    Room {
        path: "backend/src/ingest",
        may_use: &["source", "chain", "undo", "runs", "index"],
        must_not_know: &["redb"],
    },
    Room {
        path: "backend/src/query",
        may_use: &["source", "chain", "undo", "runs", "index", "ingest"],
        must_not_know: &["redb", "std::fs"],
    },
    Room { path: "backend/src/http", may_use: &["query"], must_not_know: &["redb", "std::fs"] },
    Room { path: "frontend/src/format", may_use: &["number"], must_not_know: WEB },
    Room {
        path: "frontend/src/charts/",
        may_use: &["format", "live", "model", "number", "browser"],
        must_not_know: &["leptos_router", "gloo_net"],
    },
    Room {
        path: "frontend/src/components/",
        may_use: &[
            "blocks",
            "browser",
            "chain",
            "charts",
            "format",
            "live",
            "model",
            "navigation",
            "number",
            "route",
            "settings",
            // Its error is a plain value: see `components_show_and_pages_fetch`.
            "api",
        ],
        must_not_know: &["leptos_router", "gloo_net"],
    },
    Room { path: "frontend/src/pages/", may_use: &["*"], must_not_know: &["gloo_net"] },
    Room { path: "tests/src/", may_use: &["*"], must_not_know: &["redb", "axum"] },
];

/// Whether a file belongs to a room: `backend/src/http` is `http.rs` and everything in `http/`.
fn belongs(source: &Source, room: &Room) -> bool {
    let rest = source.path.strip_prefix(room.path);
    rest.is_some_and(|rest| room.path.ends_with('/') || rest == ".rs" || rest.starts_with('/'))
}

/// Whether a line of code names something of a crate or module.
fn names(line: &str, what: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let named = |prefix: &str| {
        code.match_indices(&format!("{prefix}{what}")).any(|(at, found)| {
            let before = code[..at].chars().next_back();
            let after = code[at + found.len()..].chars().next();
            !before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '_' | ':' | '.'))
                && matches!(after, Some(':' | ';' | ',' | '}'))
                && (after == Some(':') || code.trim_start().starts_with("use "))
        })
    };
    named("") || named("::")
}

/// The modules of its own crate that a line names.
fn modules(line: &str) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or_default();
    let ends = |rest: &str| rest.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(rest.len());
    code.match_indices("crate::")
        .map(|(at, found)| &code[at + found.len()..])
        .map(|rest| &rest[..ends(rest)])
        .filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect()
}

#[test]
fn rooms_know_only_what_lies_before_them() {
    let sources = sources(&[".rs"]);
    let mut wrong = Vec::new();
    for room in ROOMS {
        let own = room.path.trim_end_matches('/').rsplit('/').next().unwrap();
        let files: Vec<_> = sources.iter().filter(|source| belongs(source, room)).collect();
        assert!(!files.is_empty(), "the room {} is empty", room.path);
        let serving = room.path.starts_with("backend") && !room.path.ends_with("http");
        let serving = if serving { SERVING } else { &[] };
        let web = if room.path.starts_with("frontend") { &[] } else { WEB };
        for source in files {
            for (number, line) in source.code().lines().enumerate() {
                let mut say = |what: &str| wrong.push(format!("{}:{} knows {what}", source.path, number + 1));
                let unknown = room.must_not_know.iter().chain(serving).chain(web);
                unknown.filter(|what| names(line, what)).for_each(|what| say(what));
                let modules =
                    modules(line).into_iter().filter(|module| *module != own && !room.may_use.contains(module));
                modules.filter(|_| room.may_use != ["*"]).for_each(say);
            }
        }
    }
    nothing_is_wrong(wrong);
}

#[test]
fn only_the_index_names_redb() {
    let wrong = sources(&[".rs"]).into_iter().filter(|source| source.path.starts_with("backend/src"));
    let wrong = wrong.filter(|source| !source.path.starts_with("backend/src/index"));
    let wrong = wrong.filter(|source| source.code().lines().any(|line| names(line, "redb")));
    nothing_is_wrong(wrong.map(|source| source.path).collect());
}

/// A server asks nobody: only who compares two of them does.
#[test]
fn only_the_check_asks_other_servers() {
    let wrong = sources(&[".rs"]).into_iter().filter(|source| source.path.starts_with("backend/src"));
    let wrong = wrong.filter(|source| source.path != "backend/src/check/remote.rs");
    let wrong = wrong.filter(|source| source.code().lines().any(|line| names(line, "ureq")));
    nothing_is_wrong(wrong.map(|source| source.path).collect());
}

#[test]
fn components_show_and_pages_fetch() {
    let mut wrong = Vec::new();
    for source in sources(&[".rs"]).iter().filter(|source| source.path.starts_with("frontend/src/components/")) {
        let lines = source.code().lines().filter(|line| line.contains("crate::api") && !line.contains("api::ApiError"));
        wrong.extend(lines.map(|line| format!("{}: {}", source.path, line.trim())));
    }
    nothing_is_wrong(wrong);
}

#[test]
fn the_rule_itself() {
    assert!(names("use redb::Database;", "redb"));
    assert!(names("    let db = redb::Builder::new();", "redb"));
    assert!(names("use std::fs;", "std::fs"));
    assert!(names("    std::fs::read(path)", "std::fs"));
    assert!(!names("// like redb::Database", "redb"));
    assert!(!names("use crate::hindsight::x;", "hindsight"));
    assert!(!names("use hindsight_shared::x;", "hindsight"));
    assert_eq!(modules("use crate::source::{A, B};"), ["source"]);
    assert_eq!(modules("fn f(x: crate::index::Y) -> crate::query::Z {"), ["index", "query"]);
    assert!(modules("use crate::Height;").is_empty());
}
