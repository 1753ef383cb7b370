//! The one encoder of everything stored: postcard into a growing vector.

use postcard::ser_flavors::Flavor;
use serde::Serialize;

/// Takes single bytes at the price of a comparison: byte strings of other crates arrive as such.
struct Out(Vec<u8>);

impl Flavor for Out {
    type Output = Vec<u8>;

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// Serialises behind what `out` already holds.
///
/// # Errors
/// A sentence, for a type that refuses to serialise.
pub fn encode<T: Serialize + ?Sized>(value: &T, out: Vec<u8>) -> Result<Vec<u8>, String> {
    postcard::serialize_with_flavor(value, Out(out)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_postcard_behind_what_is_there() {
        let value = (300u16, "text", [7u8, 8], Some(-1i64));
        let expected = postcard::to_extend(&value, vec![9]).unwrap();
        assert_eq!(encode(&value, vec![9]).unwrap(), expected);
    }
}
