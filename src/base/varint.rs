//! Variable-length integers of RFC 9000 section 16, minimal form only (MLS, RFC 9420 section 2.1.2).

/// Why bytes are not a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The input ended inside the integer.
    #[error("the input ends inside a variable-length integer")]
    Truncated,
    /// A longer form than needed, or the 8-byte form MLS excludes.
    #[error("a variable-length integer is not in its shortest form")]
    NotMinimal,
}

/// Appends `value` (below 2^30) in its shortest form.
///
/// Values of 2^30 and more have no MLS form and are written in 8 bytes, which readers refuse;
/// no length of ours comes near.
pub fn write_varint(value: u64, out: &mut Vec<u8>) {
    match value {
        0..=0x3f => out.push(value as u8),
        0x40..=0x3fff => out.extend(((value as u16) | 0x4000).to_be_bytes()),
        0x4000..=0x3fff_ffff => out.extend(((value as u32) | 0x8000_0000).to_be_bytes()),
        _ => out.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Reads one integer, returns it with the rest of the input.
pub fn read_varint(input: &[u8]) -> Result<(u64, &[u8]), VarintError> {
    let first = *input.first().ok_or(VarintError::Truncated)?;
    let len = 1usize << (first >> 6);
    if len == 8 {
        return Err(VarintError::NotMinimal);
    }
    if input.len() < len {
        return Err(VarintError::Truncated);
    }
    let (head, rest) = input.split_at(len);
    let value = head[1..].iter().fold(u64::from(first & 0x3f), |acc, b| (acc << 8) | u64::from(*b));
    let minimal = match len {
        1 => true,
        2 => value > 0x3f,
        _ => value > 0x3fff,
    };
    if minimal { Ok((value, rest)) } else { Err(VarintError::NotMinimal) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses_long_forms() {
        for value in [0, 63, 64, 16383, 16384, (1 << 30) - 1] {
            let mut out = Vec::new();
            write_varint(value, &mut out);
            assert_eq!(read_varint(&out), Ok((value, &[][..])));
        }
        assert_eq!(read_varint(&[0x40, 0x01]), Err(VarintError::NotMinimal));
        assert_eq!(read_varint(&[0x80, 0, 0, 1]), Err(VarintError::NotMinimal));
        assert_eq!(read_varint(&[0xc0; 8]), Err(VarintError::NotMinimal));
        assert_eq!(read_varint(&[0x40]), Err(VarintError::Truncated));
    }
}
