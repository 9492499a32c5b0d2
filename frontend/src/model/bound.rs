//! Bounds on a table's columns, as words: `rate>=2`, `value>1.5btc`, `#12`.

use std::fmt;

/// A column with a number in it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Column {
    /// Position in the block.
    Index,
    /// Transaction id.
    Txid,
    /// Fee rate; a bound is in thousandths of a satoshi per virtual byte.
    Rate,
    /// Fee in satoshis.
    Fee,
    /// Virtual bytes.
    Size,
    /// Sum of the outputs in satoshis.
    Value,
    /// Number of inputs.
    Inputs,
    /// Number of outputs.
    Outputs,
}

impl Column {
    /// Columns that can be bounded, in the order of the table.
    pub const BOUNDED: [Self; 7] =
        [Self::Index, Self::Rate, Self::Fee, Self::Size, Self::Value, Self::Inputs, Self::Outputs];

    /// The word for it in a query.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Txid => "txid",
            Self::Rate => "rate",
            Self::Fee => "fee",
            Self::Size => "size",
            Self::Value => "value",
            Self::Inputs => "in",
            Self::Outputs => "out",
        }
    }

    /// The column of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::BOUNDED.into_iter().chain([Self::Txid]).find(|column| column.word() == word)
    }
}

/// One side of a range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// What is bounded.
    pub column: Column,
    /// On which side.
    pub side: Side,
    /// The number, in the column's unit.
    pub value: u64,
}

/// Which side of a number is let through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// `>=`
    From,
    /// `>`
    Above,
    /// `<`
    Below,
    /// `<=`
    UpTo,
    /// `=`
    Equal,
}

/// A range's lower end: with its number, and without.
pub const FROM: (Side, Side) = (Side::From, Side::Above);

/// Its upper end likewise.
pub const TO: (Side, Side) = (Side::UpTo, Side::Below);

impl Side {
    /// Longer signs first, so that `>=` is not read as `>`.
    const SIGNS: [(&'static str, Self); 5] =
        [(">=", Self::From), ("<=", Self::UpTo), (">", Self::Above), ("<", Self::Below), ("=", Self::Equal)];

    /// The sign in a query.
    pub fn sign(self) -> &'static str {
        Self::SIGNS.iter().find(|(_, side)| *side == self).map_or("=", |(sign, _)| sign)
    }
}

impl Bound {
    /// Reads `rate>=2`, or `#12` for a position.
    pub fn parse(word: &str) -> Option<Self> {
        if let Some(index) = word.strip_prefix('#') {
            return Some(Self { column: Column::Index, side: Side::Equal, value: index.parse().ok()? });
        }
        let at = word.find(['<', '>', '='])?;
        let (name, rest) = word.split_at(at);
        let (sign, side) = Side::SIGNS.into_iter().find(|(sign, _)| rest.starts_with(sign))?;
        let column = Column::of(name).filter(|&column| column != Column::Txid)?;
        Some(Self { column, side, value: parse_value(column, &rest[sign.len()..])? })
    }
}

/// Reads a number in a column's unit. Fee rates have up to three decimals; amounts are satoshis, or bitcoin with
/// `btc` behind them.
pub fn parse_value(column: Column, text: &str) -> Option<u64> {
    match column {
        Column::Rate => fixed(text, 3),
        Column::Fee | Column::Value => match text.strip_suffix("btc") {
            Some(bitcoin) => fixed(bitcoin, 8),
            None => fixed(text.strip_suffix("sat").unwrap_or(text), 0),
        },
        _ => fixed(text, 0),
    }
}

/// Writes a bound's number as [`parse_value`] reads it.
pub fn value_text(column: Column, value: u64) -> String {
    match column {
        Column::Rate => crate::format::milli_short(value).replace(',', ""),
        _ => value.to_string(),
    }
}

/// A decimal number as an integer with `places` decimals; separators between digits are ignored.
fn fixed(text: &str, places: usize) -> Option<u64> {
    let text = text.replace([',', '_'], "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || fraction.len() > places || !plain(whole) || !plain(fraction) {
        return None;
    }
    let zeros = std::iter::repeat_n('0', places - fraction.len());
    whole.chars().chain(fraction.chars()).chain(zeros).collect::<String>().parse().ok()
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.column.word())?;
        f.write_str(self.side.sign())?;
        f.write_str(&value_text(self.column, self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_return() {
        for word in ["rate>=2", "rate<0.5", "fee=1", "value<=150000000", "in>2", "index=12"] {
            assert_eq!(Bound::parse(word).unwrap().to_string(), word);
        }
        let value = |word| Bound::parse(word).map(|bound| bound.value);
        assert_eq!(value("value>1.5btc"), Some(150_000_000));
        assert_eq!(value("value>0.00000001btc"), Some(1));
        assert_eq!(value("fee>1,000sat"), Some(1000));
        assert_eq!(value("rate>.5"), Some(500));
        assert_eq!(value("#7"), Some(7));
        for word in
            ["rate>1.0005", "fee>0.5", "rate>", "rate>.", "value>1.123456789btc", "txid>1", "in>99999999999999999999"]
        {
            assert_eq!(value(word), None, "{word}");
        }
    }
}
