//! The text every signature of an update covers (IDENT-020, facts 4.3).

use std::fmt;

use time::{Duration, OffsetDateTime};

use super::{Change, Identifier, MemberId};
use crate::base::InboxId;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Builds the text from what the update does, never from what it claims was signed.
///
/// `client_timestamp_ns` is nanoseconds since the Unix epoch, read as signed and rounded down to
/// whole seconds.
pub fn signature_text(inbox: InboxId, client_timestamp_ns: u64, changes: &[Change]) -> String {
    let time = Timestamp(client_timestamp_ns.cast_signed());
    let lines: Vec<String> = changes.iter().map(lines_of).collect();
    format!(
        "XMTP : Authenticate to inbox\n\nInbox ID: {inbox}\nCurrent time: {time}\n\n{}\n\n\
         For more info: https://xmtp.org/signatures",
        lines.join("\n"),
    )
}

fn lines_of(change: &Change) -> String {
    let (heading, label, text) = match change {
        Change::CreateInbox { identifier, .. } => ("Create inbox", "Owner", identifier.to_string()),
        Change::Add(member) => {
            let (heading, label) = match member {
                MemberId::Installation(_) => ("Grant messaging access to app", "ID"),
                MemberId::Account(Identifier::Ethereum(_)) => ("Link address to inbox", "Address"),
                MemberId::Account(Identifier::Passkey(_)) => ("Link passkey to inbox", "Passkey"),
            };
            (heading, label, member.to_string())
        }
        Change::Revoke(member) => {
            let (heading, label) = match member {
                MemberId::Installation(_) => ("Revoke messaging access from app", "ID"),
                MemberId::Account(Identifier::Ethereum(_)) => ("Unlink address from inbox", "Address"),
                MemberId::Account(Identifier::Passkey(_)) => ("Unlink passkey from inbox", "Passkey"),
            };
            (heading, label, member.to_string())
        }
        Change::ChangeRecovery(identifier) => {
            ("Change inbox recovery address", "Address", identifier.to_string())
        }
    };
    format!("- {heading}\n  ({label}: {text})")
}

/// RFC 3339 in UTC with whole seconds.
struct Timestamp(i64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An i64 of nanoseconds spans the years 1677 to 2262, so nothing saturates.
        let seconds = Duration::seconds(self.0.div_euclid(NANOS_PER_SECOND));
        let at = OffsetDateTime::UNIX_EPOCH.saturating_add(seconds);
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second) = at.to_hms();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::InstallationId;

    const ADDRESS: &str = "0x1234567890abcdef1234567890abcdef12345678";

    fn account() -> Identifier {
        Identifier::ethereum(ADDRESS).unwrap()
    }

    #[test]
    fn ident_020_registration_text_is_exact() {
        let changes = [
            Change::CreateInbox { identifier: account(), nonce: 7 },
            Change::Add(InstallationId([0xab; 32]).into()),
        ];
        let want = format!(
            "XMTP : Authenticate to inbox\n\
             \n\
             Inbox ID: {}\n\
             Current time: 2024-04-10T12:00:00Z\n\
             \n\
             - Create inbox\n  (Owner: {ADDRESS})\n\
             - Grant messaging access to app\n  (ID: {})\n\
             \n\
             For more info: https://xmtp.org/signatures",
            "cd".repeat(32),
            "ab".repeat(32),
        );
        assert_eq!(signature_text(InboxId([0xcd; 32]), 1_712_750_400_999_999_999, &changes), want);
    }

    #[test]
    fn ident_020_every_change_has_its_words() {
        let passkey = Identifier::Passkey(vec![1, 2]);
        let installation = || MemberId::Installation(InstallationId([0xab; 32]));
        let id = "ab".repeat(32);
        let cases = [
            (Change::Add(account().into()), "Link address to inbox", "Address", ADDRESS),
            (Change::Add(passkey.clone().into()), "Link passkey to inbox", "Passkey", "0102"),
            (Change::Revoke(installation()), "Revoke messaging access from app", "ID", &id),
            (Change::Revoke(account().into()), "Unlink address from inbox", "Address", ADDRESS),
            (Change::Revoke(passkey.into()), "Unlink passkey from inbox", "Passkey", "0102"),
            (Change::ChangeRecovery(account()), "Change inbox recovery address", "Address", ADDRESS),
        ];
        for (change, heading, label, text) in cases {
            assert_eq!(lines_of(&change), format!("- {heading}\n  ({label}: {text})"));
        }
    }

    #[test]
    fn ident_020_times_are_signed_and_round_down() {
        let at = |ns: u64| Timestamp(ns.cast_signed()).to_string();
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(999_999_999), "1970-01-01T00:00:00Z");
        assert_eq!(at(u64::MAX), "1969-12-31T23:59:59Z");
        assert_eq!(at(i64::MAX as u64), "2262-04-11T23:47:16Z");
        assert_eq!(at(1 << 63), "1677-09-21T00:12:43Z");
    }
}
