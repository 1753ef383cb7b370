//! Reading the conversation list. No MLS state is loaded.

use crate::base::{GroupId, InboxId};
use crate::client::{Client, Inner, load};
use crate::consent::State;
use crate::engine::list::ListOptions;
use crate::error::Error;
use crate::store::rows::{GroupRow, ThreadRow};
use crate::store::{Read, Table};

/// Lists whose groups are guessed the next time.
const GUESSES: usize = 4;

/// A conversation as an app reads it.
#[derive(Clone)]
pub struct Conversation {
    /// The group: the winner of its set, unless duplicates were asked for.
    pub group: GroupRow,
    /// Consent of its thread, for every group of it.
    pub consent: State,
    /// The other member of a DM; `None` for a group and for a foreign restored DM (DMS-017).
    pub peer: Option<InboxId>,
}

impl Client {
    /// Lists conversations, newest first, one a thread (DMS-007, CONS-030, CONS-031).
    pub async fn list(&self, options: &ListOptions) -> Result<Vec<Conversation>, Error> {
        self.0.open()?;
        if options.include_duplicates { self.0.duplicates(options).await } else { self.0.list(options).await }
    }

    /// The conversation a group belongs to: the winner for any group of a stitched DM (DMS-007).
    pub async fn conversation(&self, group: GroupId) -> Result<Option<Conversation>, Error> {
        self.0.open()?;
        let Some(thread) = self.0.known_thread(group).await? else { return Ok(None) };
        // Mostly it is the winner that is asked for.
        let [thread, decided] = load::consents(thread, group);
        let answers = self.0.store.read(vec![thread, decided, load::group(group)]).await?;
        let [thread, decided, own] = answers.as_slice() else { return Err(Error::bug("no answer")) };
        let consent = load::consent(thread, decided)?;
        let listed = load::rows::<ThreadRow>(thread)?.pop();
        let rows = match listed.filter(|row| row.winner != group) {
            Some(row) => self.0.group_rows(&[row.winner]).await?,
            None => load::rows(own)?,
        };
        Ok(rows.into_iter().next().map(|row| self.0.conversation(row, consent)))
    }

    /// Groups, each described as itself, with the consent of its thread (DMS-017).
    pub async fn describe_groups(&self, groups: &[GroupId]) -> Result<Vec<Conversation>, Error> {
        self.0.open()?;
        let rows = self.0.group_rows(groups).await?;
        let reads = rows.iter().flat_map(|row| load::consents(row.thread(), row.id)).collect();
        let answers = self.0.store.read(reads).await?;
        let mut described = Vec::with_capacity(rows.len());
        for (row, pair) in rows.into_iter().zip(answers.chunks_exact(2)) {
            described.push(self.0.conversation(row, load::consent(&pair[0], &pair[1])?));
        }
        Ok(described)
    }
}

impl Inner {
    pub(super) async fn group_rows(&self, groups: &[GroupId]) -> Result<Vec<GroupRow>, Error> {
        Ok(load::all(&self.store.read(groups.iter().map(|id| load::group(*id)).collect()).await?)?)
    }

    /// One conversation a line. Which groups the lines name is guessed from the last such list and
    /// read along with them; what was not guessed is read afterwards.
    async fn list(&self, options: &ListOptions) -> Result<Vec<Conversation>, Error> {
        let mut groups = self.guess(options);
        let mut reads = options.reads();
        let ranges = reads.len();
        reads.extend(groups.iter().map(|id| load::group(*id)));
        let mut answers = self.store.read(reads).await?;
        let mut rows = answers.split_off(ranges);
        let lines = options.merge(answers)?;
        let winners: Vec<GroupId> = lines.iter().map(|line| line.winner).collect();
        let mut places = places(&groups, &winners);
        if places.is_none() {
            groups = winners.clone();
            rows = self.store.read(groups.iter().map(|id| load::group(*id)).collect()).await?;
            places = self::places(&groups, &winners);
        }
        self.remember(options, winners);
        let mut listed = Vec::with_capacity(lines.len());
        for (line, at) in lines.iter().zip(places.unwrap_or_default()) {
            let row = load::rows::<GroupRow>(rows.get(at).map_or(&[], Vec::as_slice))?.pop();
            listed.extend(row.map(|row| self.conversation(row, line.consent)));
        }
        Ok(options.finish(listed, |one| &one.group))
    }

    /// Every group of each listed thread, the winner first (DMS-017).
    async fn duplicates(&self, options: &ListOptions) -> Result<Vec<Conversation>, Error> {
        let lines = options.merge(self.store.read(options.reads()).await?)?;
        let reads = lines.iter().map(|line| Read::Key(Table::Threads, line.thread.to_key())).collect();
        let mut ids = Vec::new();
        for thread in load::all::<ThreadRow>(&self.store.read(reads).await?)? {
            ids.push((thread.winner, thread.consent));
            let others = thread.groups.iter().map(|g| g.group).filter(|id| *id != thread.winner);
            ids.extend(others.map(|id| (id, thread.consent)));
        }
        let answers = self.store.read(ids.iter().map(|(id, _)| load::group(*id)).collect()).await?;
        let mut listed = Vec::with_capacity(ids.len());
        for ((_, consent), found) in ids.iter().zip(&answers) {
            listed.extend(load::rows(found)?.into_iter().map(|row| self.conversation(row, *consent)));
        }
        let mut listed = options.finish(listed, |one| &one.group);
        let mut threads = Vec::new();
        listed.retain(|one| options.wants(one.group.thread(), one.consent, &mut threads));
        Ok(listed)
    }

    fn conversation(&self, group: GroupRow, consent: State) -> Conversation {
        self.thread_ids.borrow_mut().insert(group.id, group.thread());
        let peer = group.dm.and_then(|dm| dm.peer_of(self.me.inbox));
        Conversation { group, consent, peer }
    }

    fn guess(&self, options: &ListOptions) -> Vec<GroupId> {
        let guesses = self.guesses.borrow();
        guesses.iter().find(|(of, _)| of == options).map(|(_, ids)| ids.clone()).unwrap_or_default()
    }

    fn remember(&self, options: &ListOptions, winners: Vec<GroupId>) {
        let mut guesses = self.guesses.borrow_mut();
        guesses.retain(|(of, _)| of != options);
        guesses.insert(0, (options.clone(), winners));
        guesses.truncate(GUESSES);
    }
}

/// Where each of `wanted` is in `groups`; `None` when one is not. Both are in nearly the same
/// order, so each is looked for from where the one before it was.
fn places(groups: &[GroupId], wanted: &[GroupId]) -> Option<Vec<usize>> {
    let mut next = 0;
    let place = |id: &GroupId| {
        let (before, behind) = groups.split_at(next);
        let at = match behind.iter().position(|group| group == id) {
            Some(at) => next + at,
            None => before.iter().position(|group| group == id)?,
        };
        next = at + 1;
        Some(at)
    };
    wanted.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_any_order_or_not_at_all() {
        let id = |n: u8| GroupId([n; 16]);
        let groups = [1, 2, 3, 4].map(id);
        assert_eq!(places(&groups, &[4, 1, 2, 3].map(id)), Some(vec![3, 0, 1, 2]));
        assert_eq!(places(&groups, &[2, 2, 1].map(id)), Some(vec![1, 1, 0]));
        assert_eq!(places(&groups, &[]), Some(vec![]));
        assert_eq!(places(&groups, &[1, 5].map(id)), None);
        assert_eq!(places(&[], &[id(1)]), None);
    }
}
