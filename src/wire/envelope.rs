//! The envelope published to a delivery service (facts 12.8).

use prost::Message;

use super::error::decode;
use super::{WelcomeInput, WireError, proto};

const NAME: &str = "ClientEnvelope";

/// What one envelope carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEnvelope {
    /// A message, proposal or commit of a group.
    GroupMessage {
        /// A TLS-encoded MLSMessage.
        data: Vec<u8>,
        /// Lets a push service skip the sender's own devices; empty when unused.
        sender_hmac: Vec<u8>,
        /// Whether a push service should wake the receivers.
        should_push: bool,
    },
    /// A sealed Welcome or a pointer to one.
    Welcome(WelcomeInput),
    /// A TLS-encoded MLS KeyPackage.
    KeyPackage(Vec<u8>),
    /// An encoded identity update, read by `identity`.
    IdentityUpdate(Vec<u8>),
}

impl ClientEnvelope {
    /// The canonical bytes; their SHA-256 names the envelope in its topic.
    pub fn encode(&self) -> Vec<u8> {
        use proto::client_envelope::Payload;
        let payload = match self {
            Self::GroupMessage { data, sender_hmac, should_push } => {
                Payload::GroupMessage(proto::GroupMessage {
                    data: data.clone(),
                    sender_hmac: sender_hmac.clone(),
                    should_push: *should_push,
                })
            }
            Self::Welcome(welcome) => Payload::WelcomeMessage(welcome.to_proto()),
            Self::KeyPackage(bytes) => {
                Payload::KeyPackage(proto::KeyPackage { key_package_tls_serialized: bytes.clone() })
            }
            Self::IdentityUpdate(bytes) => Payload::IdentityUpdate(bytes.clone()),
        };
        proto::ClientEnvelope { payload: Some(payload) }.encode_to_vec()
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// [`WireError::UnknownEnvelope`] for a payload kind of another version, the other variants
    /// for bytes that are not an envelope.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        use proto::client_envelope::Payload;
        match decode::<proto::ClientEnvelope>(NAME, bytes)?.payload {
            Some(Payload::GroupMessage(m)) => Ok(Self::GroupMessage {
                data: m.data,
                sender_hmac: m.sender_hmac,
                should_push: m.should_push,
            }),
            Some(Payload::WelcomeMessage(welcome)) => WelcomeInput::from_proto(welcome).map(Self::Welcome),
            Some(Payload::KeyPackage(m)) => Ok(Self::KeyPackage(m.key_package_tls_serialized)),
            Some(Payload::IdentityUpdate(bytes)) => Ok(Self::IdentityUpdate(bytes)),
            None => Err(WireError::UnknownEnvelope { field: first_field(bytes) }),
        }
    }
}

fn first_field(mut bytes: &[u8]) -> Option<u32> {
    prost::encoding::decode_key(&mut bytes).ok().map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::WelcomeAlgorithm;
    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..40)
    }

    fn welcome() -> impl Strategy<Value = WelcomeInput> {
        let algorithm = (0i32..6).prop_map(WelcomeAlgorithm::from);
        let key = any::<[u8; 32]>();
        (key, bytes(), bytes(), algorithm, bytes(), any::<bool>()).prop_map(
            |(installation_key, data, hpke_public_key, algorithm, metadata, inline)| match inline {
                true => WelcomeInput::V1 { installation_key, data, hpke_public_key, algorithm, metadata },
                false => {
                    WelcomeInput::Pointer { installation_key, pointer: data, hpke_public_key, algorithm }
                }
            },
        )
    }

    fn envelope() -> impl Strategy<Value = ClientEnvelope> {
        prop_oneof![
            (bytes(), bytes(), any::<bool>()).prop_map(|(data, sender_hmac, should_push)| {
                ClientEnvelope::GroupMessage { data, sender_hmac, should_push }
            }),
            welcome().prop_map(ClientEnvelope::Welcome),
            bytes().prop_map(ClientEnvelope::KeyPackage),
            bytes().prop_map(ClientEnvelope::IdentityUpdate),
        ]
    }

    proptest! {
        #[test]
        fn envelopes_round_trip(envelope in envelope()) {
            prop_assert_eq!(ClientEnvelope::decode(&envelope.encode()), Ok(envelope));
        }

        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ClientEnvelope::decode(&bytes);
        }

        #[test]
        fn a_cut_envelope_is_an_error_or_another_envelope(envelope in envelope(), cut in 0usize..80) {
            let bytes = envelope.encode();
            let cut = cut.min(bytes.len().saturating_sub(1));
            prop_assert_ne!(ClientEnvelope::decode(&bytes[..cut]), Ok(envelope));
        }
    }

    #[test]
    fn payload_numbers_are_those_of_the_service() {
        let message = ClientEnvelope::GroupMessage { data: vec![7], sender_hmac: vec![8], should_push: true };
        assert_eq!(message.encode(), [0x0a, 8, 0x0a, 1, 7, 0x12, 1, 8, 0x18, 1]);
        assert_eq!(ClientEnvelope::KeyPackage(vec![7]).encode(), [0x1a, 3, 0x0a, 1, 7]);
        assert_eq!(ClientEnvelope::IdentityUpdate(vec![7]).encode(), [0x22, 1, 7]);
        let pointer = WelcomeInput::Pointer {
            installation_key: [9; 32],
            pointer: vec![7],
            hpke_public_key: vec![8],
            algorithm: WelcomeAlgorithm::Curve25519,
        };
        let encoded = ClientEnvelope::Welcome(pointer).encode();
        assert_eq!(encoded[..6], [0x12, 44, 0x12, 42, 0x0a, 32]);
        assert_eq!(encoded[38..], [0x12, 1, 7, 0x1a, 1, 8, 0x20, 1]);
    }

    #[test]
    fn an_unknown_kind_says_so_and_keeps_nothing() {
        let unknown = |field| Err(WireError::UnknownEnvelope { field });
        assert_eq!(ClientEnvelope::decode(&[0x2a, 1, 7]), unknown(Some(5)));
        assert_eq!(ClientEnvelope::decode(&[]), unknown(None));
    }

    #[test]
    fn unknown_fields_beside_a_payload_are_tolerated() {
        let bytes = [0x22, 1, 7, 0x52, 1, 9];
        assert_eq!(ClientEnvelope::decode(&bytes), Ok(ClientEnvelope::IdentityUpdate(vec![7])));
    }
}
