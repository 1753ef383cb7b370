//! Hexadecimal digits of many ids: a page of messages has sixteen thousand.

/// Appends the lowercase digits of `bytes`.
pub fn push_digits(text: &mut Vec<u8>, bytes: &[u8]) {
    let (fours, rest) = bytes.as_chunks();
    for four in fours {
        text.extend_from_slice(&digits(*four));
    }
    for byte in rest {
        text.extend_from_slice(&digits([0, 0, 0, *byte])[6..]);
    }
}

/// Eight digits, worked out side by side.
fn digits(four: [u8; 4]) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const LETTER: u64 = (b'a' - b'0' - 10) as u64;
    let mut halves = u64::from(u32::from_be_bytes(four));
    halves = (halves | halves << 16) & 0x0000_ffff_0000_ffff;
    halves = (halves | halves << 8) & 0x00ff_00ff_00ff_00ff;
    halves = (halves | halves << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 in each half that is a letter.
    let letters = (halves + 6 * EACH) >> 4 & EACH;
    (halves + u64::from(b'0') * EACH + letters * LETTER).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_hex() {
        for byte in 0..=u8::MAX {
            let bytes = [byte, byte.reverse_bits(), !byte, byte.wrapping_mul(7), byte];
            for length in 0..=bytes.len() {
                let mut text = vec![b'"'];
                push_digits(&mut text, &bytes[..length]);
                assert_eq!(text, [b"\"", hex::encode(&bytes[..length]).as_bytes()].concat());
            }
        }
    }
}
