//! A cursor over a slice: every length is checked against what is really there, so that a claimed size never
//! allocates and never panics.

use crate::DecodeError;

/// Reads consensus-encoded values from a slice, front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A reader of `bytes` that starts at `at` (at the end where `at` lies beyond it).
    pub fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    /// Offset from the start of the slice.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Everything between an earlier position and here.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let slice = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(DecodeError::UnexpectedEnd {
            at: self.at,
            wanted: count,
            left: self.left(),
        })?;
        self.at += slice.len();
        Ok(slice)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let error = DecodeError::UnexpectedEnd { at: self.at, wanted: N as u64, left: self.left() };
        let array = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()).ok_or(error)?;
        self.at += N;
        Ok(array)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|&[byte]| byte)
    }

    /// Two bytes, little endian.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// Four bytes, little endian.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Eight bytes, little endian.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// A compact size in its shortest form (Core `src/serialize.h`, `ReadCompactSize`).
    pub fn compact_size(&mut self) -> Result<u64, DecodeError> {
        let at = self.at;
        let (value, least) = match self.u8()? {
            0xfd => (u64::from(self.u16()?), 0xfd),
            0xfe => (u64::from(self.u32()?), 0x1_0000),
            0xff => (self.u64()?, 0x1_0000_0000),
            small => (u64::from(small), 0),
        };
        if value < least { Err(DecodeError::NonCanonical { at }) } else { Ok(value) }
    }

    /// A compact size and as many bytes.
    pub fn sized(&mut self) -> Result<&'a [u8], DecodeError> {
        let size = self.compact_size()?;
        self.take(size)
    }

    /// Core's VARINT: base 128, most significant digit first, minus one per continued digit (`src/serialize.h`).
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let at = self.at;
        let mut value: u64 = 0;
        loop {
            let byte = self.u8()?;
            if value > u64::MAX >> 7 {
                return Err(DecodeError::VarintOverflow { at });
            }
            value = (value << 7) | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            value = value.checked_add(1).ok_or(DecodeError::VarintOverflow { at })?;
        }
    }

    /// Refuses bytes that nobody read.
    pub const fn finish(self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            count => Err(DecodeError::Leftover { count }),
        }
    }
}

/// Appends a compact size.
pub fn push_compact_size(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&bitcoin::consensus::serialize(&bitcoin::VarInt(value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check_varint(bytes: &[u8], expect: u64) {
        let mut reader = Reader::new(bytes);
        assert_eq!(reader.varint(), Ok(expect));
        assert_eq!(reader.finish(), Ok(()));
    }

    /// The values of Core's own test (`src/test/serialize_tests.cpp`, `varints_bitpatterns`) and of its comment.
    #[test]
    fn varints_are_cores() {
        check_varint(&[0x00], 0);
        check_varint(&[0x7f], 0x7f);
        check_varint(&[0x80, 0x00], 0x80);
        check_varint(&[0x80, 0x7f], 255);
        check_varint(&[0x81, 0x00], 256);
        check_varint(&[0xa3, 0x34], 0x1234);
        check_varint(&[0x82, 0xfe, 0x7f], 0xffff);
        check_varint(&[0xc7, 0xe7, 0x56], 0x12_3456);
        check_varint(&[0x8e, 0xfe, 0xfe, 0xff, 0x00], 1 << 32);
        check_varint(&[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0x7f], u64::MAX);
    }

    #[test]
    fn a_varint_beyond_64_bits_is_refused() {
        let bytes = [0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0x00];
        assert_eq!(Reader::new(&bytes).varint(), Err(DecodeError::VarintOverflow { at: 0 }));
    }

    #[test]
    fn long_forms_of_short_sizes_are_refused() {
        for bytes in [&[0xfd, 0xfc, 0][..], &[0xfe, 0xff, 0xff, 0, 0], &[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]] {
            assert_eq!(Reader::new(bytes).compact_size(), Err(DecodeError::NonCanonical { at: 0 }));
        }
    }

    #[test]
    fn a_claimed_size_beyond_the_end_is_an_error() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(reader.sized(), Err(DecodeError::UnexpectedEnd { at: 9, wanted: u64::MAX, left: 0 }));
    }

    proptest! {
        #[test]
        fn compact_sizes_return(value: u64) {
            let mut bytes = Vec::new();
            push_compact_size(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.compact_size(), Ok(value));
            prop_assert_eq!(reader.left(), 0);
        }
    }
}
