//! Identity updates, typed, and their wire form (IDENT-001, facts 4.2).

use prost::Message;

use super::inbox_id::lower_hex;
use super::{Identifier, MemberId, Refusal, Signature, signature_text};
use crate::base::{InboxId, InstallationId};
use crate::wire::proto;

/// What an action does, without its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Opens an inbox.
    CreateInbox {
        /// The first member and recovery identifier.
        identifier: Identifier,
        /// Tells inboxes of one identifier apart.
        nonce: u64,
    },
    /// Adds a member.
    Add(MemberId),
    /// Removes a member and the installations it added.
    Revoke(MemberId),
    /// Hands recovery to another identifier.
    ChangeRecovery(Identifier),
}

/// One signed action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens an inbox.
    CreateInbox {
        /// The first member and recovery identifier.
        identifier: Identifier,
        /// Tells inboxes of one identifier apart.
        nonce: u64,
        /// By `identifier`.
        signature: Signature,
    },
    /// Adds a member.
    Add {
        /// The new member.
        member: MemberId,
        /// By a member or the recovery identifier.
        existing: Signature,
        /// By the new member.
        new: Signature,
    },
    /// Removes a member and the installations it added.
    Revoke {
        /// Who loses membership.
        member: MemberId,
        /// By the recovery identifier.
        signature: Signature,
    },
    /// Hands recovery to another identifier.
    ChangeRecovery {
        /// The new recovery identifier.
        identifier: Identifier,
        /// By the recovery identifier until now.
        signature: Signature,
    },
}

impl Action {
    /// What it does.
    pub fn change(&self) -> Change {
        match self {
            Self::CreateInbox { identifier, nonce, .. } => {
                Change::CreateInbox { identifier: identifier.clone(), nonce: *nonce }
            }
            Self::Add { member, .. } => Change::Add(member.clone()),
            Self::Revoke { member, .. } => Change::Revoke(member.clone()),
            Self::ChangeRecovery { identifier, .. } => Change::ChangeRecovery(identifier.clone()),
        }
    }
}

/// Actions signed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityUpdate {
    /// The inbox it is for.
    pub inbox: InboxId,
    /// The sender's clock, nanoseconds since the Unix epoch; checked by nobody.
    pub client_timestamp_ns: u64,
    /// Applied in order, all or none.
    pub actions: Vec<Action>,
}

impl IdentityUpdate {
    /// The text its signatures cover.
    pub fn signature_text(&self) -> String {
        let changes: Vec<Change> = self.actions.iter().map(Action::change).collect();
        signature_text(self.inbox, self.client_timestamp_ns, &changes)
    }

    /// The accounts it makes members, as a hint for a delivery service's index.
    pub fn accounts(&self) -> Vec<Identifier> {
        let account = |action: &Action| match action {
            Action::CreateInbox { identifier, .. } => Some(identifier.clone()),
            Action::Add { member: MemberId::Account(identifier), .. } => Some(identifier.clone()),
            _ => None,
        };
        self.actions.iter().filter_map(account).collect()
    }

    /// The canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        proto::IdentityUpdate {
            actions: self.actions.iter().map(action_to).collect(),
            client_timestamp_ns: self.client_timestamp_ns,
            inbox_id: self.inbox.to_string(),
        }
        .encode_to_vec()
    }

    /// Reads an update.
    ///
    /// # Errors
    /// The reason the update is refused: its bytes, an unset kind or signature, an identifier that
    /// is not in its one form, a key or signature of a wrong length.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let update = proto::IdentityUpdate::decode(bytes).map_err(|e| Refusal::Malformed(e.to_string()))?;
        Ok(Self {
            inbox: update.inbox_id.parse().map_err(|_| malformed("inbox_id"))?,
            client_timestamp_ns: update.client_timestamp_ns,
            actions: update.actions.into_iter().map(action_from).collect::<Result<_, _>>()?,
        })
    }
}

fn malformed(field: &str) -> Refusal {
    Refusal::Malformed(format!("{field} is missing or unusable"))
}

fn action_to(action: &Action) -> proto::IdentityAction {
    use proto::identity_action::Kind;
    let kind = match action {
        Action::CreateInbox { identifier, nonce, signature } => Kind::CreateInbox(proto::CreateInbox {
            initial_identifier: identifier.to_string(),
            nonce: *nonce,
            initial_identifier_signature: Some(signature.to_proto()),
            initial_identifier_kind: kind_of(identifier).into(),
            relying_party: None,
        }),
        Action::Add { member, existing, new } => Kind::Add(proto::AddAssociation {
            new_member_identifier: Some(member_to(member)),
            existing_member_signature: Some(existing.to_proto()),
            new_member_signature: Some(new.to_proto()),
            relying_party: None,
        }),
        Action::Revoke { member, signature } => Kind::Revoke(proto::RevokeAssociation {
            member_to_revoke: Some(member_to(member)),
            recovery_identifier_signature: Some(signature.to_proto()),
        }),
        Action::ChangeRecovery { identifier, signature } => {
            Kind::ChangeRecoveryAddress(proto::ChangeRecoveryAddress {
                new_recovery_identifier: identifier.to_string(),
                existing_recovery_identifier_signature: Some(signature.to_proto()),
                new_recovery_identifier_kind: kind_of(identifier).into(),
                relying_party: None,
            })
        }
    };
    proto::IdentityAction { kind: Some(kind) }
}

fn action_from(action: proto::IdentityAction) -> Result<Action, Refusal> {
    use proto::identity_action::Kind;
    match action.kind.ok_or_else(|| malformed("action"))? {
        Kind::CreateInbox(create) => Ok(Action::CreateInbox {
            identifier: identifier_from(&create.initial_identifier, create.initial_identifier_kind)?,
            nonce: create.nonce,
            signature: Signature::from_proto(create.initial_identifier_signature)?,
        }),
        Kind::Add(add) => Ok(Action::Add {
            member: member_from(add.new_member_identifier)?,
            existing: Signature::from_proto(add.existing_member_signature)?,
            new: Signature::from_proto(add.new_member_signature)?,
        }),
        Kind::Revoke(revoke) => Ok(Action::Revoke {
            member: member_from(revoke.member_to_revoke)?,
            signature: Signature::from_proto(revoke.recovery_identifier_signature)?,
        }),
        Kind::ChangeRecoveryAddress(change) => Ok(Action::ChangeRecovery {
            identifier: identifier_from(
                &change.new_recovery_identifier,
                change.new_recovery_identifier_kind,
            )?,
            signature: Signature::from_proto(change.existing_recovery_identifier_signature)?,
        }),
    }
}

fn kind_of(identifier: &Identifier) -> proto::IdentifierKind {
    match identifier {
        Identifier::Ethereum(_) => proto::IdentifierKind::Ethereum,
        Identifier::Passkey(_) => proto::IdentifierKind::Passkey,
    }
}

fn identifier_from(text: &str, kind: i32) -> Result<Identifier, Refusal> {
    use proto::IdentifierKind as Kind;
    match Kind::try_from(kind).map_err(|_| malformed("identifier kind"))? {
        Kind::Unspecified | Kind::Ethereum => text.parse().map(Identifier::Ethereum),
        Kind::Passkey => lower_hex(text).map(Identifier::Passkey).ok_or_else(|| malformed("passkey")),
    }
}

fn member_to(member: &MemberId) -> proto::MemberIdentifier {
    use proto::member_identifier::Kind;
    let kind = match member {
        MemberId::Account(Identifier::Ethereum(address)) => Kind::EthereumAddress(address.to_string()),
        MemberId::Account(Identifier::Passkey(key)) => {
            Kind::Passkey(proto::Passkey { key: key.clone(), relying_party: None })
        }
        MemberId::Installation(id) => Kind::InstallationPublicKey(id.as_bytes().to_vec()),
    };
    proto::MemberIdentifier { kind: Some(kind) }
}

fn member_from(member: Option<proto::MemberIdentifier>) -> Result<MemberId, Refusal> {
    use proto::member_identifier::Kind;
    match member.and_then(|m| m.kind).ok_or_else(|| malformed("member"))? {
        Kind::EthereumAddress(text) => Ok(MemberId::Account(Identifier::Ethereum(text.parse()?))),
        Kind::Passkey(passkey) => Ok(MemberId::Account(Identifier::Passkey(passkey.key))),
        Kind::InstallationPublicKey(key) => InstallationId::from_slice(&key)
            .map(MemberId::Installation)
            .map_err(|_| malformed("installation key")),
    }
}
