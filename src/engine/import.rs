//! How archived rows meet those that are here (ARCH-013 to 016, DMS-013, DMS-015, CONS-010).
//!
//! A known group or message stays as it is, but for a group's retained activity, which is raised.
//! An unknown group becomes a restored placeholder as archived. What an import stores is announced
//! by one event at its end, and nothing of it is told to the inbox's other devices.
//!
//! Choices where the texts are silent: the sender of an archived message must be of the pair in
//! every DM, restored or not; who was a super admin when a message was sent is not archived, so the
//! group's list as it is here decides what a deletion may take back; a placeholder brings no consent
//! record of its own, and begins with the newest decision about its DM or about itself that is here
//! (DMS-010); an add that the thread has shown already stays hidden (DMS-011).

use crate::base::{GroupId, MessageId, ThreadId};
use crate::consent::{Entity, Record, inherit, merge};
use crate::engine::consent::siblings;
use crate::engine::state::ThreadCtx;
use crate::engine::unit::Unit;
use crate::engine::{annotations, threads, transcripts};
use crate::error::Error;
use crate::store::Table;
use crate::store::rows::{ConsentRow, GroupKind, GroupRow, GroupState, MessageKind, MessageRow, Packed};
use crate::wire::{EncodedContent, GroupUpdated};

/// What is stored of everything a batch names, and what the batch makes of it. Revisions are those
/// that were loaded.
#[derive(Default)]
pub struct Held {
    /// Groups.
    pub groups: Vec<(GroupRow, u64)>,
    /// Messages.
    pub messages: Vec<MessageRow>,
    /// Consent records.
    pub consents: Vec<(Record, u64)>,
    /// The threads of [`Held::needed`].
    pub threads: Vec<ThreadCtx>,
}

impl Held {
    /// The threads that decide about a batch, or are changed by it.
    pub fn needed(&self, rows: &[Packed]) -> Vec<ThreadId> {
        let mut threads = Vec::new();
        for row in rows {
            let named = match row {
                Packed::Group(row) => Some(self.group(row.id).map_or(row.thread(), GroupRow::thread)),
                Packed::Message(row) => self.thread_of(row.group),
                Packed::Consent(record) => conversation(record).and_then(|id| self.thread_of(id)),
            };
            if let Some(thread) = named
                && !threads.contains(&thread)
            {
                threads.push(thread);
            }
        }
        threads
    }

    fn group(&self, id: GroupId) -> Option<&GroupRow> {
        self.groups.iter().map(|(row, _)| row).find(|row| row.id == id)
    }

    fn thread_of(&self, group: GroupId) -> Option<ThreadId> {
        self.group(group).map(GroupRow::thread)
    }

    fn message(&self, id: MessageId) -> Option<&MessageRow> {
        self.messages.iter().find(|row| row.id == id)
    }

    fn consent(&self, entity: Entity) -> Option<(Record, u64)> {
        self.consents.iter().find(|(record, _)| record.entity == entity).copied()
    }

    fn thread(&mut self, id: ThreadId) -> Result<&mut ThreadCtx, Error> {
        let found = self.threads.iter_mut().find(|thread| thread.id == id);
        found.ok_or_else(|| Error::bug("a thread that was not loaded"))
    }

    /// Applies rows in order, up to the first that is refused.
    ///
    /// # Errors
    /// `archive.malformed` for a message of an unknown group; `archive.rule`, naming the rule.
    pub fn apply(&mut self, rows: &[Packed], unit: &mut Unit) -> Result<(), Error> {
        unit.changes.strict();
        for row in rows {
            match row {
                Packed::Group(row) => self.apply_group(row, unit)?,
                Packed::Message(row) => self.apply_message(row, unit)?,
                Packed::Consent(record) => self.apply_consent(record, unit)?,
            }
        }
        Ok(())
    }

    fn apply_group(&mut self, archived: &GroupRow, unit: &mut Unit) -> Result<(), Error> {
        let known = self.groups.iter_mut().find(|(row, _)| row.id == archived.id);
        if let Some((row, revision)) = known {
            if archived.last_message_ns > row.last_message_ns && is_shown(row) {
                row.last_message_ns = archived.last_message_ns;
                unit.changes.put_checked(row, *revision);
                let row = row.clone();
                threads::refresh(self.thread(row.thread())?, &row, unit);
            }
            return Ok(());
        }
        let entity = Entity::Conversation(archived.id);
        let decided = self.consent(entity);
        // Another tab may decide about it at this moment, and has no thread yet to do it with.
        unit.changes.check(Table::Consent, entity.to_key(), decided.map_or(0, |(_, revision)| revision));
        unit.changes.put_checked(archived, 0);
        self.groups.push((archived.clone(), 0));
        let decided = decided.map(|(record, _)| record);
        let thread = self.thread(archived.thread())?;
        if let Some(record) = inherit(archived.id, decided.as_ref(), &siblings(thread, archived.id)) {
            thread.consents.insert(archived.id, record);
            if decided != Some(record) {
                unit.changes.put(&ConsentRow(record));
            }
        }
        threads::refresh(thread, archived, unit);
        Ok(())
    }

    fn apply_message(&mut self, archived: &MessageRow, unit: &mut Unit) -> Result<(), Error> {
        let Some(group) = self.group(archived.group) else {
            return Err(Error::new(
                "archive.malformed",
                "the archive has a message of a conversation that is neither in it before the message nor here",
            ));
        };
        let (thread, dm) = (group.thread(), group.dm);
        let by_super_admin = group.settings.super_admins.contains(&archived.sender_inbox);
        if group.kind == GroupKind::Sync {
            return Err(refused("a message of a sync group (ARCH-010)"));
        }
        if dm.is_some_and(|dm| dm.peer_of(archived.sender_inbox).is_none()) {
            return Err(refused("a message of a DM whose sender is not of its pair (DMS-015)"));
        }
        if let Some(known) = self.message(archived.id) {
            let same = known.group == archived.group && known.sender_inbox == archived.sender_inbox;
            return if same {
                Ok(())
            } else {
                Err(refused("another sender's message under a stored id (PROC-011)"))
            };
        }
        if archived.expires_ns.is_some_and(|at| at <= unit.now) {
            return Ok(());
        }
        let row = MessageRow {
            thread,
            delivery: Some(unit.next_delivery()),
            inserted_ns: unit.tick(),
            ..archived.clone()
        };
        let thread = self.thread(thread)?;
        if dm.is_some() && row.kind == MessageKind::MembershipChange {
            let content = EncodedContent::decode(&row.content);
            let update = content.and_then(|content| GroupUpdated::decode(&content.content));
            if update.is_ok_and(|update| transcripts::repeated(thread, &update, row.id, unit)) {
                return Ok(());
            }
            // What was shown is guarded by the thread's revision.
            threads::refresh_consent(thread, unit);
        }
        // The one place where an archived message becomes a stored one: whatever goes along with
        // every stored message goes along here.
        unit.changes.insert(&row);
        annotations::note(&row, by_super_admin, thread, unit);
        self.messages.push(row);
        Ok(())
    }

    /// The greater record is kept, with its own time (CONS-010).
    fn apply_consent(&mut self, archived: &Record, unit: &mut Unit) -> Result<(), Error> {
        let group = conversation(archived).and_then(|id| self.group(id));
        let (known, shown) =
            (group.is_some(), group.filter(|row| is_shown(row)).map(|row| (row.id, row.thread())));
        if let Some((group, thread)) = shown {
            let thread = self.thread(thread)?;
            if let Some(record) = merge(thread.consent(group), archived) {
                thread.consents.insert(group, record);
                unit.changes.put(&ConsentRow(record));
                threads::refresh_consent(thread, unit);
            }
            return Ok(());
        }
        let stored = self.consent(archived.entity);
        let Some(record) = merge(stored.as_ref().map(|(record, _)| record), archived) else { return Ok(()) };
        if let (Some(group), false) = (conversation(archived), known) {
            // Joined by another tab meanwhile, it would have a thread to keep in step.
            unit.changes.check(Table::Groups, group.as_bytes().to_vec(), 0);
        }
        let revision = stored.map_or(0, |(_, revision)| revision);
        unit.changes.put_checked(&ConsentRow(record), revision);
        self.consents.retain(|(other, _)| other.entity != record.entity);
        self.consents.push((record, revision));
        Ok(())
    }
}

fn conversation(record: &Record) -> Option<GroupId> {
    match record.entity {
        Entity::Conversation(group) => Some(group),
        Entity::Inbox(_) => None,
    }
}

/// One that never came to life belongs to no thread, nor does a sync group.
fn is_shown(row: &GroupRow) -> bool {
    row.kind != GroupKind::Sync && !matches!(row.state, GroupState::Failed(_))
}

fn refused(what: &str) -> Error {
    Error::new("archive.rule", format!("the archive holds {what}; what came before it is imported"))
}
