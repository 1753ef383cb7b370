//! Requests for updates: what a wallet is asked to sign, and the signed update made of its answer.
//!
//! Nothing is published here, and time and keys are handed in. A finished update has passed the
//! same rules a reader applies, so a wallet that signed with another account is noticed at once.

use super::{
    Action, AssociationState, Change, Identifier, IdentityError, IdentityUpdate, MemberId, Signature,
    SigningContext, apply, inbox_id, sign_installation, signature_text,
};
use crate::base::{InboxId, InstallationId, Nanos};

/// Installations an inbox may have; a client does not register above it.
pub const MAX_INSTALLATIONS: usize = 10;

/// An update that waits for an account's signature.
#[derive(Clone, Debug)]
pub struct Request {
    inbox: InboxId,
    client_timestamp_ns: u64,
    changes: Vec<Change>,
    signer: Identifier,
    before: Option<AssociationState>,
}

impl Request {
    /// Creates the inbox of `identifier` and `nonce` with its first installation. `at` is the
    /// local clock.
    pub fn register(identifier: Identifier, nonce: u64, installation: InstallationId, at: Nanos) -> Self {
        Self {
            inbox: inbox_id(&identifier, nonce),
            client_timestamp_ns: at.0.cast_unsigned(),
            changes: vec![
                Change::CreateInbox { identifier: identifier.clone(), nonce },
                Change::Add(installation.into()),
            ],
            signer: identifier,
            before: None,
        }
    }

    /// Adds an installation to an inbox, approved by one of its accounts or by recovery.
    ///
    /// # Errors
    /// [`IdentityError::NotAuthorised`], [`IdentityError::AlreadyRegistered`],
    /// [`IdentityError::TooManyInstallations`].
    pub fn add_installation(
        state: &AssociationState,
        by: Identifier,
        installation: InstallationId,
        at: Nanos,
    ) -> Result<Self, IdentityError> {
        if !state.has_identifier(&by) && state.recovery != by {
            return Err(IdentityError::NotAuthorised);
        }
        if state.has_installation(installation) {
            return Err(IdentityError::AlreadyRegistered);
        }
        if state.installations().len() >= MAX_INSTALLATIONS {
            return Err(IdentityError::TooManyInstallations(state.inbox));
        }
        Ok(Self::changing(state, vec![Change::Add(installation.into())], by, at))
    }

    /// Revokes installations, or an account with the installations it added. The recovery
    /// identifier has to sign.
    ///
    /// # Errors
    /// [`IdentityError::NothingToRevoke`] when none is named or one is not a member.
    pub fn revoke(state: &AssociationState, members: &[MemberId], at: Nanos) -> Result<Self, IdentityError> {
        if members.is_empty() || members.iter().any(|member| !state.members.contains_key(member)) {
            return Err(IdentityError::NothingToRevoke);
        }
        let changes = members.iter().cloned().map(Change::Revoke).collect();
        Ok(Self::changing(state, changes, state.recovery.clone(), at))
    }

    /// Hands recovery to another account. The recovery identifier until now has to sign; the new
    /// one does not, and need not be a member.
    pub fn change_recovery(state: &AssociationState, to: Identifier, at: Nanos) -> Self {
        Self::changing(state, vec![Change::ChangeRecovery(to)], state.recovery.clone(), at)
    }

    /// The inbox it is for.
    pub fn inbox(&self) -> InboxId {
        self.inbox
    }

    /// The account that has to sign [`Self::text`].
    pub fn signer(&self) -> &Identifier {
        &self.signer
    }

    /// What the account signs, exactly these characters.
    pub fn text(&self) -> String {
        signature_text(self.inbox, self.client_timestamp_ns, &self.changes)
    }

    /// Finishes the update with the wallet's answer. `seed` is the Ed25519 seed of the own
    /// installation key; it signs where the installation is added, and only there it is needed.
    ///
    /// # Errors
    /// [`IdentityError::NotAWalletSignature`]; [`IdentityError::WrongAccount`] when another
    /// account signed; [`IdentityError::Refused`] when the update would be refused, for one because
    /// `seed` is not that of the installation.
    pub fn sign(&self, wallet: &[u8], seed: Option<&[u8; 32]>) -> Result<IdentityUpdate, IdentityError> {
        let text = self.text();
        let wallet = Signature::from_wallet(wallet)?;
        let signed_by_other = || IdentityError::WrongAccount(self.signer.clone());
        let signer = wallet.check(&text).map_err(|_| signed_by_other())?.signer;
        if signer != MemberId::Account(self.signer.clone()) {
            return Err(signed_by_other());
        }
        let mut actions = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            actions.push(signed(change, &wallet, seed, &text)?);
        }
        let update =
            IdentityUpdate { inbox: self.inbox, client_timestamp_ns: self.client_timestamp_ns, actions };
        apply(self.before.as_ref(), &update)?;
        Ok(update)
    }

    fn changing(state: &AssociationState, changes: Vec<Change>, signer: Identifier, at: Nanos) -> Self {
        Self {
            inbox: state.inbox,
            client_timestamp_ns: at.0.cast_unsigned(),
            changes,
            signer,
            before: Some(state.clone()),
        }
    }
}

fn signed(
    change: &Change,
    wallet: &Signature,
    seed: Option<&[u8; 32]>,
    text: &str,
) -> Result<Action, IdentityError> {
    let signature = wallet.clone();
    match change.clone() {
        Change::CreateInbox { identifier, nonce } => Ok(Action::CreateInbox { identifier, nonce, signature }),
        Change::Add(MemberId::Installation(installation)) => {
            let seed = seed.ok_or(IdentityError::Bug("no key for an installation to add"))?;
            let own = sign_installation(seed, SigningContext::IdentityUpdate, text)?;
            let new = Signature::Installation { installation, signature: own };
            Ok(Action::Add { member: installation.into(), existing: signature, new })
        }
        Change::Add(MemberId::Account(_)) => Err(IdentityError::Bug("a request adds an account")),
        Change::Revoke(member) => Ok(Action::Revoke { member, signature }),
        Change::ChangeRecovery(identifier) => Ok(Action::ChangeRecovery { identifier, signature }),
    }
}
