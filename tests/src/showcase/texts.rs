//! What people write into blocks: lines that rhyme a little, pictures as text, small pages, tokens. All of it is made
//! up here.

use crate::rng::Rng;

const WHO: &[&str] = &[
    "the clock",
    "an old node",
    "the miner",
    "a quiet key",
    "the ledger",
    "the lighthouse",
    "my neighbour",
    "the river",
    "a paper boat",
    "the night train",
    "the orchard",
    "a borrowed coin",
    "the watchmaker",
    "a small green bird",
];
const DOES: &[&str] = &[
    "counts",
    "remembers",
    "carries",
    "forgives",
    "outlives",
    "repeats",
    "follows",
    "keeps",
    "weighs",
    "mends",
    "returns",
    "unlocks",
];
const WHAT: &[&str] = &[
    "ten minutes of rain",
    "the longest chain",
    "every spent coin",
    "a promise in hex",
    "the price of salt",
    "what nobody said",
    "the seventh wave",
    "a letter to no one",
    "all the small change",
    "the smell of bread",
    "a block without names",
    "the sum of the fees",
];
const WHEN: &[&str] =
    &["before the dawn", "and is not gone", "from here on", "while we look on", "until the tone", "for one alone"];

/// So many lines of four words' worth each.
pub fn poem(rng: &mut Rng, lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        let verse = format!("{} {} {},\n{}.\n", rng.of(WHO), rng.of(DOES), rng.of(WHAT), rng.of(WHEN));
        text.push_str(&verse);
        if line % 4 == 3 {
            text.push('\n');
        }
    }
    text
}

/// A few words, as people sign what they send with.
pub fn memo(rng: &mut Rng) -> String {
    let number = rng.between(1, 9999);
    match rng.below(6) {
        0 => format!("invoice {number}"),
        1 => format!("thank you, {}", rng.of(WHO)),
        2 => format!("{} {} {}", rng.of(WHO), rng.of(DOES), rng.of(WHAT)),
        3 => format!("order #{number} paid"),
        4 => format!("swap:{number:x}:out"),
        _ => "gm".to_owned(),
    }
}

const COLOURS: &[&str] =
    &["#f7931a", "#1f6feb", "#2da44e", "#d29922", "#8250df", "#cf222e", "#0a3069", "#eac54f", "#57606a"];

/// A picture of discs and bars.
pub fn picture(rng: &mut Rng, shapes: usize) -> String {
    let mut svg = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" fill="#fff"/>"##.to_owned();
    for _ in 0..shapes {
        let (x, y, size, colour) = (rng.below(100), rng.below(100), rng.between(2, 30), rng.of(COLOURS));
        svg.push_str(&match rng.below(2) {
            0 => format!(r#"<circle cx="{x}" cy="{y}" r="{size}" fill="{colour}"/>"#),
            _ => format!(r#"<rect x="{x}" y="{y}" width="{size}" height="4" fill="{colour}"/>"#),
        });
    }
    svg + "</svg>"
}

/// A page with a poem on it.
pub fn page(rng: &mut Rng, lines: usize) -> String {
    let colour = rng.of(COLOURS);
    let poem = poem(rng, lines).replace('\n', "<br>\n");
    format!("<!doctype html><title>nothing lasts</title><body style=\"color:{colour}\"><p>\n{poem}</p></body>\n")
}

/// Names of tokens that do not exist.
const TICKERS: &[&str] = &["demo", "mock", "fake", "test"];

/// A mint of a token.
pub fn token(rng: &mut Rng) -> String {
    format!(r#"{{"p":"brc-20","op":"mint","tick":"{}","amt":"{}"}}"#, rng.of(TICKERS), rng.of(&[100, 500, 1000]))
}

/// What a coinbase calls its miner, and how many in a hundred do: none of these exists.
pub const POOLS: &[(u64, &str)] = &[
    (28, "/Example Pool/"),
    (21, "/Sample Miners/"),
    (14, "/Placeholder/"),
    (12, "/Inventedhash/"),
    (9, "/Imaginary/"),
    (7, "/Lorem Ipsum/"),
    (5, "/Demo Pool #7/"),
    (3, "/solo: nobody/"),
    (1, ""),
];
