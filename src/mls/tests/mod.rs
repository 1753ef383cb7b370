//! The facade between two and more parties. Every party writes its changes to rows and starts from
//! them again after each operation.

mod commits;
mod joining;
mod messages;
mod proposals;
mod receiving;
mod refusals;
mod scratch;

use crate::base::Map;

use super::facts::{AppDataOp, CommitFacts, LeafFacts, RawDictionary};
use super::*;
use crate::base::{GroupId, InboxId, Nanos};

pub(super) const GROUP: GroupId = GroupId([0xab; 16]);
pub(super) const NOW: Nanos = Nanos(1_800_000_000_000_000_000);

/// An installation and its rows.
pub(super) struct Party {
    pub(super) keys: InstallationKeys,
    pub(super) inbox: InboxId,
    pub(super) scratch: Scratch,
    pages: Map<(GroupId, u8, u16), Vec<u8>>,
    globals: Map<Vec<u8>, Vec<u8>>,
}

impl Party {
    pub(super) fn new(number: u8) -> Self {
        Self {
            keys: InstallationKeys::from_seed([number; 32]),
            inbox: InboxId([number; 32]),
            scratch: Scratch::new(),
            pages: Map::new(),
            globals: Map::new(),
        }
    }

    pub(super) fn leaf(&self, index: u32) -> LeafFacts {
        LeafFacts { index, inbox: Some(self.inbox), installation: self.keys.id() }
    }

    /// Writes what changed and starts again from the rows.
    pub(super) fn reload(&mut self) {
        let changes = self.scratch.take_changes().unwrap();
        for page in changes.pages {
            let key = (page.group, page.part, page.page);
            match page.bytes {
                Some(bytes) => self.pages.insert(key, bytes),
                None => self.pages.remove(&key),
            };
        }
        for row in changes.globals {
            match row.bytes {
                Some(bytes) => self.globals.insert(row.id, bytes),
                None => self.globals.remove(&row.id),
            };
        }
        let mut scratch = Scratch::new();
        scratch.load_globals(self.globals.clone());
        let mut groups: Map<GroupId, Vec<_>> = Map::new();
        for ((group, part, page), bytes) in &self.pages {
            groups.entry(*group).or_default().push((*part, *page, bytes.clone()));
        }
        for (group, pages) in groups {
            assert!(pages == self.scratch.pages(group).unwrap());
            scratch.load(group, pages).unwrap();
        }
        self.scratch = scratch;
    }

    /// One operation on the group, from rows to rows.
    pub(super) fn run<T>(&mut self, f: impl FnOnce(&Scratch, &mut Group, &InstallationKeys) -> T) -> T {
        let mut group = self.group();
        let out = f(&self.scratch, &mut group, &self.keys);
        self.reload();
        out
    }

    pub(super) fn group(&self) -> Group {
        Group::load(&self.scratch, GROUP).unwrap().unwrap()
    }

    pub(super) fn create(&mut self, dictionary: &RawDictionary) {
        create(&self.scratch, &self.keys, self.inbox, GROUP, dictionary).unwrap();
        self.reload();
    }

    pub(super) fn key_package(&mut self) -> MadeKeyPackage {
        let made = make_key_package(&self.scratch, &self.keys, self.inbox, NOW).unwrap();
        self.reload();
        made
    }

    pub(super) fn send(&mut self, text: &[u8]) -> Vec<u8> {
        self.run(|scratch, group, keys| message(scratch, group, keys, text).unwrap())
    }

    pub(super) fn commit(&mut self, plan: CommitPlan) -> SealedCommit {
        self.run(|scratch, group, keys| commit(scratch, group, keys, plan).unwrap())
    }

    pub(super) fn try_open(&mut self, bytes: &[u8]) -> Result<Opened, OpenError> {
        self.run(|scratch, group, _| open(scratch, group, bytes))
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> (LeafFacts, u64, Vec<u8>) {
        match self.try_open(bytes).unwrap() {
            Opened::Application { sender, epoch, plaintext, .. } => (sender, epoch, plaintext),
            _ => panic!("not an application message"),
        }
    }

    /// Receives another member's commit: stage with the right dictionary, merge.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> CommitFacts {
        let facts = self.run(|scratch, group, _| {
            let staged = open_and_stage(scratch, group, bytes).unwrap();
            let facts = staged.facts().clone();
            merge(scratch, group, staged).unwrap();
            facts
        });
        self.check_applied(&facts);
        facts
    }

    /// Reads the own commit back.
    pub(super) fn read_back(&mut self) -> CommitFacts {
        let facts = pending_facts(&self.group()).unwrap();
        self.run(|scratch, group, _| merge_pending(scratch, group).unwrap());
        self.check_applied(&facts);
        facts
    }

    fn check_applied(&self, facts: &CommitFacts) {
        let now = self.group().facts();
        if self.group().is_active() {
            assert_eq!(now.leaves, facts.leaves_after);
        }
        assert_eq!(now.dictionary, facts.dictionary_after);
        assert_eq!(now.epoch, facts.epoch_after);
    }

    /// Takes in a Welcome by way of its wrapping.
    pub(super) fn join(&mut self, welcome: &[u8], package: &MadeKeyPackage) {
        let init_key = check_key_package(&self.scratch, &package.bytes, NOW).unwrap().init_key;
        let wrapped = wrap_welcome(welcome, 7, &init_key).unwrap();
        let (welcome, cursor) = unwrap_welcome(&self.scratch, &wrapped, &init_key).unwrap();
        let join = inspect(&self.scratch, &welcome, cursor).unwrap();
        join.join(&self.scratch, false).unwrap();
        self.reload();
    }
}

pub(super) fn open_and_stage(
    scratch: &Scratch,
    group: &mut Group,
    bytes: &[u8],
) -> Result<Staged, OpenError> {
    let Opened::Commit(opened) = open(scratch, group, bytes)? else { panic!("not a commit") };
    let dictionary = after(&group.facts().dictionary, opened.app_data());
    stage(scratch, group, opened, &dictionary)
}

/// A dictionary whose updates are whole values.
pub(super) fn after(dictionary: &RawDictionary, ops: &[(u16, AppDataOp)]) -> RawDictionary {
    let mut next = dictionary.clone();
    for (component, op) in ops {
        match op {
            AppDataOp::Update(value) => next.insert(*component, value.clone()),
            AppDataOp::Remove => next.remove(component),
        };
    }
    next
}

pub(super) fn update(component: u16, value: &[u8]) -> (u16, AppDataOp) {
    (component, AppDataOp::Update(value.to_vec()))
}

pub(super) fn dictionary() -> RawDictionary {
    RawDictionary::from([(0x8000, b"registry".to_vec()), (0x8004, b"name".to_vec())])
}

/// A group of `count` parties, added by the first in one commit.
pub(super) fn parties(count: u8) -> Vec<Party> {
    let mut all: Vec<Party> = (1..=count).map(Party::new).collect();
    all[0].create(&dictionary());
    let packages: Vec<_> = all[1..].iter_mut().map(Party::key_package).collect();
    if packages.is_empty() {
        return all;
    }
    let adds = packages.iter().map(|package| package.bytes.clone().into()).collect();
    let sealed = all[0].commit(CommitPlan { adds, dictionary_after: dictionary(), ..CommitPlan::default() });
    all[0].read_back();
    let welcome = sealed.welcome.unwrap();
    for (party, package) in all[1..].iter_mut().zip(&packages) {
        party.join(&welcome, package);
    }
    all
}

pub(super) fn assert_together(parties: &[Party]) {
    let groups: Vec<_> = parties.iter().map(Party::group).collect();
    for pair in groups.windows(2) {
        assert_eq!(pair[0].facts(), pair[1].facts());
        assert_eq!(pair[0].authenticator(), pair[1].authenticator());
    }
}
