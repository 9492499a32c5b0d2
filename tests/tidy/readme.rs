//! The commands that the README shows are there.

use std::fs;

use super::{nothing_is_wrong, root};

/// Words that follow `before` in the README's code.
fn commands(text: &str, before: &str) -> Vec<String> {
    let code = text.split('`').flat_map(str::lines).chain(text.lines().filter(|line| line.starts_with("    ")));
    let follow = code.filter_map(|line| line.trim().strip_prefix(before)?.split_whitespace().next());
    follow.map(str::to_owned).filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase())).collect()
}

#[test]
fn of_xtask_and_of_the_program() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (readme, xtask, cli) = (read("README.md"), read("xtask/src/main.rs"), read("backend/src/cli.rs"));
    let mut wrong = Vec::new();
    let shown = commands(&readme, "cargo xtask ");
    for command in ["run", "test"] {
        assert!(shown.iter().any(|shown| shown == command), "the README does not show cargo xtask {command}");
    }
    for command in shown {
        if !xtask.contains(&format!("[\"{command}\"")) {
            wrong.push(format!("cargo xtask {command}"));
        }
    }
    for command in commands(&readme, "hindsight ") {
        let (first, rest) = command.split_at(1);
        let variant = format!("    {}{rest}(", first.to_uppercase());
        if !cli.contains(&variant) {
            wrong.push(format!("hindsight {command}"));
        }
    }
    nothing_is_wrong(wrong);
}
