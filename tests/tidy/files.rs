//! How files begin, how long they are, and what they never contain.

use super::{nothing_is_wrong, sources};

/// Lines of a file without its tests. What is longer has more than one idea in it.
const MOST_LINES: usize = 400;

/// Lines of a file with its tests, or of tests alone.
const MOST_LINES_WITH_TESTS: usize = 600;

#[test]
fn every_module_says_what_it_is() {
    let begins = |text: &str| text.starts_with("//!") || text.starts_with("#![doc = include_str!");
    let wrong = sources(&[".rs"]).into_iter().filter(|source| !begins(&source.text));
    nothing_is_wrong(wrong.map(|source| format!("{} does not begin with //!", source.path)).collect());
}

#[test]
fn files_are_short() {
    let mut wrong = Vec::new();
    for source in sources(&[".rs"]) {
        let (code, all) = (source.code().lines().count(), source.text.lines().count());
        if code > MOST_LINES || all > MOST_LINES_WITH_TESTS {
            wrong.push(format!("{} has {all} lines, {code} of them before its tests", source.path));
        }
    }
    nothing_is_wrong(wrong);
}

#[test]
fn nothing_is_left_undone_in_comments() {
    // Spelled apart, so that this file does not contain them itself.
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["db", "g!("]].map(|word| word.concat());
    let mut wrong = Vec::new();
    for source in sources(&[".rs", ".toml", ".css", ".html", ".js"]) {
        for (number, line) in source.text.lines().enumerate() {
            let found = words.iter().filter(|word| line.contains(word.as_str()));
            wrong.extend(found.map(|word| format!("{}:{} has a {word}", source.path, number + 1)));
        }
    }
    nothing_is_wrong(wrong);
}

#[test]
fn no_path_of_anybody_s_machine() {
    let folders = ["work", "root", "tmp", "Users"].map(|folder| format!("/{folder}/"));
    let mut wrong = Vec::new();
    for source in sources(&[".rs", ".toml", ".css", ".html", ".js"]) {
        let text = if source.path.ends_with(".rs") { source.code() } else { &source.text };
        for (number, line) in text.lines().enumerate() {
            let found = folders.iter().filter(|folder| line.contains(&format!("\"{folder}")));
            wrong.extend(found.map(|folder| format!("{}:{} names {folder}", source.path, number + 1)));
        }
    }
    nothing_is_wrong(wrong);
}
