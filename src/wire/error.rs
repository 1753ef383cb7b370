//! Why bytes are not one of our records.

/// Bytes from elsewhere that cannot be read, or content that must not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not protobuf of this schema.
    #[error("a {message} cannot be decoded: {reason}")]
    Malformed {
        /// Which message was expected.
        message: &'static str,
        /// What the decoder said; it names fields, never their content.
        reason: String,
    },
    /// A field a record cannot do without is absent.
    #[error("a {message} lacks its {field}")]
    Missing {
        /// Which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// A field is there and its value is not of the form it must have.
    #[error("a {message} has an unusable {field}")]
    BadField {
        /// Which message.
        message: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// An envelope of a kind this version does not know. Nothing of it was kept.
    #[error("an envelope holds no payload this version knows (field {field:?})")]
    UnknownEnvelope {
        /// The number of its first field; `None` for an empty envelope.
        field: Option<u32>,
    },
    /// Transcripts are written by each client for itself and never sent (GMOD-035).
    #[error("content type {0} is a membership transcript and cannot be sent; send another content type")]
    TranscriptType(String),
}

/// Decodes a generated message, naming it in the error.
pub(super) fn decode<M: prost::Message + Default>(
    message: &'static str,
    bytes: &[u8],
) -> Result<M, WireError> {
    M::decode(bytes).map_err(|e| WireError::Malformed { message, reason: e.to_string() })
}
