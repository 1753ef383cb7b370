//! The members of an inbox, and how an update changes them (IDENT-002 to IDENT-050, facts 4.4).

use crate::base::Gather as _;
use crate::base::{Map, Set};

use super::signature::Checked;
use super::{
    Action, Identifier, IdentityError, IdentityUpdate, MemberId, Refusal, Signature, SignatureKind, inbox_id,
};
use crate::base::{InboxId, InstallationId};

/// How someone came to be a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Whose signature added it; `None` for the creator.
    pub added_by: Option<MemberId>,
    /// The clock of the update that added it, nanoseconds since the Unix epoch.
    pub client_timestamp_ns: u64,
}

/// What an inbox's log says up to some sequence id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationState {
    /// The inbox.
    pub inbox: InboxId,
    /// Its members.
    pub members: Map<MemberId, Member>,
    /// Who may revoke members and hand this role on; not always a member.
    pub recovery: Identifier,
    /// Signatures used so far, in canonical form (IDENT-050).
    pub seen_signatures: Set<Vec<u8>>,
}

impl AssociationState {
    /// Installations that speak for the inbox, ascending.
    pub fn installations(&self) -> Set<InstallationId> {
        let installation = |member: &MemberId| match member {
            MemberId::Installation(id) => Some(*id),
            MemberId::Account(_) => None,
        };
        self.members.keys().filter_map(installation).gather()
    }

    /// Accounts the inbox is reached by, ascending.
    pub fn identifiers(&self) -> Set<Identifier> {
        let account = |member: &MemberId| match member {
            MemberId::Account(identifier) => Some(identifier.clone()),
            MemberId::Installation(_) => None,
        };
        self.members.keys().filter_map(account).gather()
    }

    /// Whether an installation is a member.
    pub fn has_installation(&self, installation: InstallationId) -> bool {
        self.members.contains_key(&MemberId::Installation(installation))
    }

    /// Whether an account is a member: a claim about it is true.
    pub fn has_identifier(&self, identifier: &Identifier) -> bool {
        self.members.contains_key(&MemberId::Account(identifier.clone()))
    }

    /// The account that alone can have signed for the inbox, as a member or to recover it; `None`
    /// when there are several.
    fn only_account(&self) -> Option<MemberId> {
        let recovery = MemberId::Account(self.recovery.clone());
        let others = |member: &&MemberId| matches!(member, MemberId::Account(_)) && **member != recovery;
        self.members.keys().find(others).is_none().then_some(recovery)
    }

    fn is_recovery(&self, signer: &MemberId) -> bool {
        *signer == MemberId::Account(self.recovery.clone())
    }
}

/// The state after an update; `state` is `None` before the inbox is created. The state handed in
/// is never changed, so a refused update leaves things as they were (IDENT-002).
///
/// # Errors
/// [`IdentityError::Refused`] when a rule is broken; [`IdentityError::Unsupported`] when none is
/// and a signature is of a kind this version cannot verify.
pub fn apply(
    state: Option<&AssociationState>,
    update: &IdentityUpdate,
) -> Result<AssociationState, IdentityError> {
    run(Pass::new(state, update), update)
}

/// The state after an update that [`apply`] accepted before on this very state: everything is judged
/// again but the signatures, whose verdict is known. Only for updates kept where nobody else writes.
///
/// # Errors
/// As [`apply`]: the update is not the one that was accepted.
pub(super) fn apply_again(
    state: Option<&AssociationState>,
    update: &IdentityUpdate,
) -> Result<AssociationState, IdentityError> {
    run(Pass { accepted: true, ..Pass::new(state, update) }, update)
}

fn run(mut pass: Pass<'_>, update: &IdentityUpdate) -> Result<AssociationState, IdentityError> {
    if update.actions.is_empty() {
        return Err(Refusal::Empty.into());
    }
    for action in &update.actions {
        pass.act(action)?;
    }
    let mut next = pass.state.ok_or(Refusal::NotCreated)?;
    if next.inbox != update.inbox {
        return Err(Refusal::WrongInbox.into());
    }
    if let Some(kind) = pass.unproven {
        return Err(IdentityError::Unsupported(kind));
    }
    next.seen_signatures.append(&mut pass.used);
    Ok(next)
}

/// One update on its way through the rules.
struct Pass<'a> {
    text: String,
    client_timestamp_ns: u64,
    seen: Option<&'a Set<Vec<u8>>>,
    state: Option<AssociationState>,
    used: Set<Vec<u8>>,
    unproven: Option<SignatureKind>,
    /// The update was accepted before.
    accepted: bool,
    // A wallet signs once for several actions.
    checked: Vec<(Signature, Checked)>,
}

impl<'a> Pass<'a> {
    fn new(state: Option<&'a AssociationState>, update: &IdentityUpdate) -> Self {
        Self {
            text: update.signature_text(),
            client_timestamp_ns: update.client_timestamp_ns,
            seen: state.map(|s| &s.seen_signatures),
            state: state.cloned(),
            used: Set::new(),
            unproven: None,
            accepted: false,
            checked: Vec::new(),
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), Refusal> {
        match action {
            Action::CreateInbox { identifier, nonce, signature } => {
                self.create(identifier, *nonce, signature)
            }
            Action::Add { member, existing, new } => self.add(member, existing, new),
            Action::Revoke { member, signature } => self.revoke(member, signature),
            Action::ChangeRecovery { identifier, signature } => {
                let state = self.by_recovery(signature)?;
                state.recovery = identifier.clone();
                Ok(())
            }
        }
    }

    fn create(&mut self, identifier: &Identifier, nonce: u64, signature: &Signature) -> Result<(), Refusal> {
        if self.state.is_some() {
            return Err(Refusal::AlreadyCreated);
        }
        let first = MemberId::Account(identifier.clone());
        if self.check(signature, Some(&first))?.signer != first {
            return Err(Refusal::WrongSigner);
        }
        let member = Member { added_by: None, client_timestamp_ns: self.client_timestamp_ns };
        self.state = Some(AssociationState {
            inbox: inbox_id(identifier, nonce),
            members: Map::from([(first, member)]),
            recovery: identifier.clone(),
            seen_signatures: Set::new(),
        });
        Ok(())
    }

    fn add(&mut self, member: &MemberId, existing: &Signature, new: &Signature) -> Result<(), Refusal> {
        let only = self.state.as_ref().and_then(AssociationState::only_account);
        let (adder, added) = (self.check(existing, only.as_ref())?, self.check(new, Some(member))?);
        let client_timestamp_ns = self.client_timestamp_ns;
        let state = self.state.as_mut().ok_or(Refusal::NotCreated)?;
        if added.signer != *member {
            return Err(Refusal::WrongSigner);
        }
        if adder.signer == added.signer {
            return Err(Refusal::AddsItself);
        }
        if !state.members.contains_key(&adder.signer) && !state.is_recovery(&adder.signer) {
            return Err(Refusal::NotMember);
        }
        same_chain(&adder)?;
        if state.members.contains_key(member) {
            return Err(Refusal::AlreadyMember);
        }
        if matches!((&adder.signer, member), (MemberId::Installation(_), MemberId::Installation(_))) {
            return Err(Refusal::InstallationAddsInstallation);
        }
        let entry = Member { added_by: Some(adder.signer), client_timestamp_ns };
        state.members.insert(member.clone(), entry);
        Ok(())
    }

    /// Also of someone who is not a member: installations it added go (IDENT-044).
    fn revoke(&mut self, member: &MemberId, signature: &Signature) -> Result<(), Refusal> {
        let state = self.by_recovery(signature)?;
        state.members.remove(member);
        state.members.retain(|id, entry| {
            !matches!(id, MemberId::Installation(_)) || entry.added_by.as_ref() != Some(member)
        });
        Ok(())
    }

    fn by_recovery(&mut self, signature: &Signature) -> Result<&mut AssociationState, Refusal> {
        let recovery = self.state.as_ref().map(|state| MemberId::Account(state.recovery.clone()));
        let checked = self.check(signature, recovery.as_ref())?;
        let state = self.state.as_mut().ok_or(Refusal::NotCreated)?;
        if !state.is_recovery(&checked.signer) {
            return Err(Refusal::NotRecovery);
        }
        same_chain(&checked)?;
        Ok(state)
    }

    /// Whose signature it is; of one accepted before, it was `signer`'s if an account's at all.
    fn check(&mut self, signature: &Signature, signer: Option<&MemberId>) -> Result<Checked, Refusal> {
        if let Some((_, checked)) = self.checked.iter().find(|(known, _)| known == signature) {
            return Ok(checked.clone());
        }
        let recalled = if self.accepted { signature.recall(signer) } else { None };
        let checked = recalled.map_or_else(|| signature.check(&self.text), Ok)?;
        if let Some(key) = &checked.replay_key {
            if self.seen.is_some_and(|seen| seen.contains(key)) {
                return Err(Refusal::Replayed);
            }
            self.used.insert(key.clone());
        }
        self.unproven = self.unproven.or(checked.unproven);
        self.checked.push((signature.clone(), checked.clone()));
        Ok(checked)
    }
}

/// Every member and recovery identifier this version knows was recorded without a chain, so a
/// smart contract wallet at the same address is someone else (IDENT-046).
fn same_chain(signer: &Checked) -> Result<(), Refusal> {
    match signer.unproven {
        Some(SignatureKind::SmartContractWallet) => Err(Refusal::OtherChain),
        _ => Ok(()),
    }
}
