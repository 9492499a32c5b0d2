//! What a reader asks of a block's table, as one line of text: `rate>=2 rate<5 p2tr sort:-fee 4a5e`.
//!
//! The line is the whole state of the table. It stands in the search field, where it can be typed, and in the page's
//! address, where it can be shared and gone back to; buttons and bars of a chart only edit it.

use std::fmt;

use hindsight_shared::script::{KindSet, ScriptKind};
use hindsight_shared::summary::Flags;

use super::bound::{Bound, Column, Side, parse_value, value_text};

/// What a table is filtered and sorted by.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Query {
    /// Hex digits that the txid starts with, in lower case.
    pub prefix: String,
    /// Bounds, all of which hold.
    pub bounds: Vec<Bound>,
    /// Script kinds, one of which occurs; empty for any.
    pub kinds: KindSet,
    /// Traits that all hold.
    pub with: Flags,
    /// Traits none of which holds.
    pub without: Flags,
    /// The order; block order where absent.
    pub sort: Option<Sort>,
    /// Words that mean nothing here.
    pub unknown: Vec<String>,
}

/// An order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sort {
    /// What is compared.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
}

/// Traits and their words.
pub const FLAGS: [(Flags, &str); 5] = [
    (Flags::SEGWIT, "segwit"),
    (Flags::RBF, "rbf"),
    (Flags::SPENDS_IN_BLOCK, "chained"),
    (Flags::COINBASE, "coinbase"),
    (Flags::OVERSPENT, "overspent"),
];

/// The word for a script kind.
pub const fn kind_word(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::P2pk => "p2pk",
        ScriptKind::P2pkh => "p2pkh",
        ScriptKind::P2sh => "p2sh",
        ScriptKind::Multisig => "multisig",
        ScriptKind::P2wpkh => "p2wpkh",
        ScriptKind::P2wsh => "p2wsh",
        ScriptKind::P2tr => "p2tr",
        ScriptKind::P2a => "p2a",
        ScriptKind::NullData => "op_return",
        ScriptKind::WitnessUnknown => "unknown_witness",
        ScriptKind::Nonstandard => "nonstandard",
    }
}

impl Query {
    /// Reads a line; what it does not understand is kept as such and stops nothing.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for word in text.split_whitespace() {
            if !query.take(&word.to_ascii_lowercase()) {
                query.unknown.push(word.chars().take(40).collect());
            }
        }
        query
    }

    fn take(&mut self, word: &str) -> bool {
        if let Some(sort) = word.strip_prefix("sort:") {
            self.sort = parse_sort(sort);
            return self.sort.is_some();
        }
        let (negated, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
        if let Some((flag, _)) = FLAGS.iter().find(|(_, known)| *known == name) {
            let set = if negated { &mut self.without } else { &mut self.with };
            set.0 |= flag.0;
            return true;
        }
        if let Some(kind) = ScriptKind::ALL.into_iter().find(|&kind| kind_word(kind) == word) {
            self.kinds.insert(kind);
            return true;
        }
        if let Some(bound) = Bound::parse(word) {
            self.bounds.push(bound);
            return true;
        }
        let hex = word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex {
            word.clone_into(&mut self.prefix);
        }
        hex
    }

    /// Whether every row passes.
    pub fn is_open(&self) -> bool {
        let Self { prefix, bounds, kinds, with, without, sort: _, unknown: _ } = self;
        prefix.is_empty() && bounds.is_empty() && kinds.0 == 0 && with.0 == 0 && without.0 == 0
    }

    /// Puts a range in place of a column's bounds: from `from` on, up to but without `below`.
    pub fn set_range(&mut self, column: Column, from: Option<u64>, below: Option<u64>) {
        self.bounds.retain(|bound| bound.column != column);
        self.bounds.extend(from.map(|value| Bound { column, side: Side::From, value }));
        self.bounds.extend(below.map(|value| Bound { column, side: Side::Below, value }));
    }

    /// Puts `bound` in place of the column's bound on the same side.
    pub fn set_bound(&mut self, column: Column, side: Side, value: Option<u64>) {
        self.bounds.retain(|bound| bound.column != column || bound.side != side);
        self.bounds.extend(value.map(|value| Bound { column, side, value }));
    }

    /// The column's bound on a side.
    pub fn bound(&self, column: Column, side: Side) -> Option<u64> {
        self.bounds.iter().find(|bound| bound.column == column && bound.side == side).map(|bound| bound.value)
    }

    /// One end of a column's range, as a field shows it: `5`, or `<5` where the number itself is left out.
    pub fn end_text(&self, column: Column, (with, without): (Side, Side)) -> String {
        let text = |side| self.bound(column, side).map(|value| value_text(column, value));
        text(with).or_else(|| Some([without.sign(), &text(without)?].concat())).unwrap_or_default()
    }

    /// Puts what a field says in place of whatever bounds that end.
    pub fn set_end(&mut self, column: Column, (with, without): (Side, Side), text: &str) {
        let (side, number) = text.strip_prefix(without.sign()).map_or((with, text), |number| (without, number));
        self.set_bound(column, with, None);
        self.set_bound(column, without, None);
        self.set_bound(column, side, parse_value(column, number));
    }

    /// Adds or takes away a kind.
    pub const fn toggle_kind(&mut self, kind: ScriptKind) {
        self.kinds.0 ^= KindSet::one(kind).0;
    }

    /// From any to with, to without, to any again.
    pub const fn turn_flag(&mut self, flag: Flags) {
        if self.with.contains(flag) {
            self.with.0 &= !flag.0;
            self.without.0 |= flag.0;
        } else if self.without.contains(flag) {
            self.without.0 &= !flag.0;
        } else {
            self.with.0 |= flag.0;
        }
    }

    /// A click on a column's head: largest first (position and txid: smallest first), then the other way, then block
    /// order again.
    pub fn turn_sort(&mut self, column: Column) {
        let first = !matches!(column, Column::Index | Column::Txid);
        self.sort = match self.sort {
            Some(sort) if sort.column == column && sort.descending == first => {
                Some(Sort { column, descending: !first })
            }
            Some(sort) if sort.column == column => None,
            _ => Some(Sort { column, descending: first }),
        };
    }
}

fn parse_sort(word: &str) -> Option<Sort> {
    let (descending, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
    Column::of(name).map(|column| Sort { column, descending })
}

impl fmt::Display for Query {
    /// The shortest line that reads the same, unknown words last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if !self.prefix.is_empty() {
            words.push(self.prefix.clone());
        }
        words.extend(self.bounds.iter().map(Bound::to_string));
        words.extend(self.kinds.iter().map(|kind| kind_word(kind).to_owned()));
        for (flag, word) in FLAGS {
            if self.with.contains(flag) {
                words.push(word.to_owned());
            }
            if self.without.contains(flag) {
                words.push(["-", word].concat());
            }
        }
        if let Some(Sort { column, descending }) = self.sort {
            words.push(["sort:", if descending { "-" } else { "" }, column.word()].concat());
        }
        words.extend(self.unknown.iter().cloned());
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, canonical: &str) {
        let query = Query::parse(text);
        assert_eq!(query.to_string(), canonical);
        assert_eq!(Query::parse(canonical), query);
    }

    #[test]
    fn lines_return() {
        check("", "");
        check("  4A5E  ", "4a5e");
        check("sort:-fee p2tr rate>=2 rate<5 4a5e", "4a5e rate>=2 rate<5 p2tr sort:-fee");
        check("rate>=0.5 rate<1.005", "rate>=0.5 rate<1.005");
        check("value>1.5btc fee<=1,000sat", "value>150000000 fee<=1000");
        check("-segwit rbf OP_RETURN", "op_return -segwit rbf");
        check("#12", "index=12");
        check("in>=2 out=1", "in>=2 out=1");
    }

    #[test]
    fn what_means_nothing_is_said() {
        check("hello rate>x", "hello rate>x");
        for word in ["rate>1.0005", "fee>0.5", "rate>", "txid>1", "sort:age", "-1", "rate>-1", "#x", &"a".repeat(65)] {
            assert_eq!(Query::parse(word).unknown.len(), 1, "{word}");
        }
    }

    #[test]
    fn fields_show_strict_bounds_and_replace_them() {
        use super::super::bound::{FROM, TO};
        let mut query = Query::parse("rate>=2 rate<3 in>4");
        let ends = |query: &Query| {
            [(Column::Rate, FROM), (Column::Rate, TO), (Column::Inputs, FROM)]
                .map(|(column, end)| query.end_text(column, end))
        };
        assert_eq!(ends(&query), ["2", "<3", ">4"]);
        query.set_end(Column::Rate, TO, "5");
        query.set_end(Column::Inputs, FROM, "");
        assert_eq!(query.to_string(), "rate>=2 rate<=5");
        query.set_end(Column::Rate, FROM, ">1.5");
        assert_eq!(query.to_string(), "rate<=5 rate>1.5");
        query.set_end(Column::Rate, FROM, "x");
        assert_eq!(query.to_string(), "rate<=5");
    }

    #[test]
    fn clicks_edit_the_line() {
        let mut query = Query::parse("rate>1 p2tr");
        query.set_range(Column::Rate, Some(2000), Some(3000));
        query.toggle_kind(ScriptKind::P2tr);
        query.turn_flag(Flags::RBF);
        assert_eq!(query.to_string(), "rate>=2 rate<3 rbf");
        query.turn_flag(Flags::RBF);
        assert_eq!(query.to_string(), "rate>=2 rate<3 -rbf");
        query.turn_flag(Flags::RBF);
        query.set_bound(Column::Rate, Side::From, None);
        assert_eq!(query.to_string(), "rate<3");
        let turns: Vec<_> = (0..4)
            .map(|_| {
                query.turn_sort(Column::Fee);
                query.to_string()
            })
            .collect();
        assert_eq!(turns, ["rate<3 sort:-fee", "rate<3 sort:fee", "rate<3", "rate<3 sort:-fee"]);
        query.turn_sort(Column::Index);
        assert_eq!(query.to_string(), "rate<3 sort:index");
    }
}
