//! The one error of every decoder in this crate: where it stopped, and what it found there.

/// Why bytes are not what they claim to be. Offsets count from the start of the decoded slice.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the value does.
    #[error("bytes end at offset {at}: {wanted} more wanted, {left} left")]
    UnexpectedEnd {
        /// Where the value starts.
        at: usize,
        /// How many bytes it takes.
        wanted: u64,
        /// How many there are.
        left: usize,
    },
    /// Bytes follow the end of the value.
    #[error("{count} bytes left over after the end")]
    Leftover {
        /// How many.
        count: usize,
    },
    /// A compact size that is longer than it need be (Core: "non-canonical ReadCompactSize()").
    #[error("compact size at offset {at} is not the shortest form")]
    NonCanonical {
        /// Where it starts.
        at: usize,
    },
    /// A VARINT that does not fit into 64 bits (Core: "ReadVarInt(): size too large").
    #[error("varint at offset {at} does not fit into 64 bits")]
    VarintOverflow {
        /// Where it starts.
        at: usize,
    },
    /// A field holds a value that its format does not know.
    #[error("{field} cannot be {value}")]
    Unknown {
        /// The field's name.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
    /// Two fields that exclude each other.
    #[error("contradiction: {0}")]
    Contradiction(&'static str),
    /// The prevouts do not belong to the block: another number of transactions or inputs.
    #[error("{what} {index}: the block has {block}, the prevouts have {prevouts}")]
    Mismatch {
        /// What was counted.
        what: &'static str,
        /// The transaction's index in the block (0 where the block itself is meant).
        index: usize,
        /// Count in the block.
        block: usize,
        /// Count in the prevouts.
        prevouts: usize,
    },
}
