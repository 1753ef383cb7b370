//! The one public error: a stable code, a sentence, and whether trying again can help.

use crate::delivery::DeliveryError;
use crate::store::StoreError;

/// What a call can fail with. JavaScript sees it as `DovetailError { code, message, retryable }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// A stable code, `area.reason`; [`CODES`] lists them.
    pub code: &'static str,
    /// What happened and what to do. Never key material, never message text.
    pub message: String,
}

/// Every code with whether a later attempt of the same call can succeed, and its meaning.
pub const CODES: &[(&str, bool, &str)] = &[
    ("archive.altered", false, "An element of the archive was altered."),
    ("archive.key", false, "The key does not open the archive, or does not have 32 bytes."),
    ("archive.malformed", false, "The bytes are not an archive that can be read."),
    ("archive.rule", false, "The archive holds what the rules do not allow."),
    ("archive.truncated", false, "The archive ends too early."),
    ("archive.version", false, "The archive has a newer format."),
    ("bug.internal", false, "An impossible case: please report it."),
    ("client.closed", false, "The client was closed; create it again."),
    ("client.crashed", false, "The module stopped after a bug; reload the page, nothing committed is lost."),
    ("client.insecure_context", false, "No WebCrypto here: use HTTPS or localhost, or pass dbEncryptionKey."),
    ("client.installation_revoked", false, "This installation was revoked; history stays readable."),
    ("client.no_signer", false, "The call needs the wallet's signature."),
    ("client.not_registered", true, "The installation is not registered yet: call register()."),
    ("client.other_account", false, "The database belongs to another account."),
    ("client.signature", true, "The wallet's signature is missing or does not match."),
    ("commit.contended", true, "Other members' changes came first each time."),
    ("commit.rejected", false, "The members' rules refuse the change."),
    ("consent.unknown_entity", false, "The entity is not a group id or inbox id."),
    ("content.reserved_type", false, "Apps cannot send this content type (GMOD-035)."),
    ("conversation.not_found", false, "No conversation with this id is stored here."),
    ("delivery.invalid", true, "The delivery service gave an answer that breaks its contract."),
    ("delivery.refused", false, "The delivery service refused the request."),
    ("delivery.unavailable", true, "The delivery service cannot be reached."),
    ("dm.no_installation", true, "The other inbox has no device that can be added now."),
    ("dm.self", false, "A DM needs another inbox than one's own (DMS-002)."),
    ("dm.unknown_inbox", false, "The other inbox does not exist."),
    ("group.dm", false, "The two inboxes of a DM are fixed."),
    ("group.held", true, "The group waits for something and cannot be written to."),
    ("group.leave_alone", false, "The last member cannot leave (GMOD-031)."),
    ("group.leave_dm", false, "A DM cannot be left (GMOD-031)."),
    ("group.leave_super_admin", false, "A super admin cannot leave (GMOD-031)."),
    ("group.limit", false, "The group would have more members or installations than it can hold."),
    ("group.no_installation", true, "None of the inboxes has a device that can be added now."),
    ("group.not_a_member", false, "This installation is not in the group."),
    ("group.paused", false, "The group requires a newer version of the app."),
    ("group.permission_denied", false, "The group's policies do not allow this member to do that."),
    ("group.self", false, "A member cannot remove its own inbox."),
    ("group.unknown_inbox", false, "An inbox to add does not exist."),
    ("group.unknown_member", false, "The inbox is not a member of the group."),
    ("identity.invalid", false, "An identity update breaks the rules."),
    ("identity.limit", false, "The inbox has its greatest number of installations."),
    ("input.id", false, "A malformed id."),
    ("input.identifier", false, "A malformed account identifier."),
    ("input.value", false, "A malformed argument."),
    ("message.empty", false, "An empty text."),
    ("message.not_found", false, "No message with this id is stored here."),
    ("message.too_large", false, "A message above the size limit."),
    ("store.blocked", true, "Another tab keeps an older version of the database open."),
    ("store.closed", false, "The browser closed the database; create the client again."),
    ("store.corrupt", false, "Stored data is damaged."),
    ("store.failed", true, "The browser's database failed."),
    ("store.newer", false, "The database was written by a newer version."),
    ("store.quota", true, "The browser's storage is full."),
    ("store.unavailable", false, "The browser does not let this page store data."),
    ("store.wrong_key", false, "The database was sealed with another key."),
    ("stream.foreign_cursor", false, "The cursor is of another database."),
    ("stream.owned", true, "Another reader has the durable stream of this database."),
];

impl Error {
    /// An error of a known code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(CODES.iter().any(|(known, ..)| *known == code), "unlisted code {code}");
        Self { code, message: message.into() }
    }

    /// An impossible case.
    pub fn bug(what: impl std::fmt::Display) -> Self {
        Self::new("bug.internal", format!("internal error ({what}); please report it"))
    }

    /// Whether the same call can succeed later.
    pub fn retryable(&self) -> bool {
        CODES.iter().any(|(code, retryable, _)| *code == self.code && *retryable)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

impl std::error::Error for Error {}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            // A stale or taken row is repeated by the driver; outside it, it is our bug.
            StoreError::Stale | StoreError::Exists => return Self::bug(&error),
            StoreError::Quota => "store.quota",
            StoreError::Closed => "store.closed",
            StoreError::Newer { .. } => "store.newer",
            StoreError::Blocked => "store.blocked",
            StoreError::Unavailable(_) => "store.unavailable",
            StoreError::WrongKey => "store.wrong_key",
            StoreError::Corrupt(_) => "store.corrupt",
            StoreError::Failed(_) => "store.failed",
        };
        Self::new(code, error.to_string())
    }
}

impl From<DeliveryError> for Error {
    fn from(error: DeliveryError) -> Self {
        let code = match &error {
            DeliveryError::Unavailable(_) => "delivery.unavailable",
            DeliveryError::Refused(_) => "delivery.refused",
            DeliveryError::Invalid(_) => "delivery.invalid",
        };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_unique_and_explained() {
        assert!(CODES.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(CODES.iter().all(|(code, _, text)| code.contains('.') && text.ends_with('.')));
    }

    #[test]
    fn every_store_and_delivery_error_has_a_listed_code() {
        let store = [
            StoreError::Stale,
            StoreError::Exists,
            StoreError::Quota,
            StoreError::Closed,
            StoreError::Newer { found: 2, known: 1 },
            StoreError::Blocked,
            StoreError::Unavailable("x".into()),
            StoreError::WrongKey,
            StoreError::Corrupt("x".into()),
            StoreError::Failed("x".into()),
        ];
        let delivery = [
            DeliveryError::Unavailable("x".into()),
            DeliveryError::Refused("x".into()),
            DeliveryError::Invalid("x".into()),
        ];
        let errors = store.into_iter().map(Error::from).chain(delivery.into_iter().map(Error::from));
        for error in errors {
            assert!(CODES.iter().any(|(code, ..)| *code == error.code), "{}", error.code);
        }
    }
}
