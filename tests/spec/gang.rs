//! A group of two honest clients and of forgers in every role, and what it means that a commit is
//! refused, held or applied: the verdict with its requirement, and everything else as it was.

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{GroupId, InboxId, SequenceId, Topic};
use dovetail::delivery::Receipt;
use dovetail::mls::facts::{AppDataOp, RawDictionary};
use dovetail::mls::{self, Opened};
use dovetail::policy::{ALL_MEMBERS, Row};
use dovetail::store::Table;
use dovetail::store::rows::{GroupRow, Hold, MlsPageRow};
use dovetail::wire::ClientEnvelope;

use crate::common::dump::{self, Dump};
use crate::common::forge::{self, Forger, Raw};
use crate::common::{User, World};

/// Its creator and only super admin.
pub const ROOT: usize = 0;
/// An admin.
pub const ADMIN: usize = 1;
/// A member.
pub const MALLORY: usize = 2;
/// Another device of the member's inbox; so is every forger behind it.
pub const HAND: usize = 3;

/// alice and bo, and who forges.
pub struct Gang {
    pub world: Rc<World>,
    pub alice: User,
    pub bo: User,
    pub forgers: Vec<Forger>,
    pub group: GroupId,
    /// A conversation of alice and bo that nobody disturbs.
    pub apart: GroupId,
    count: RefCell<u32>,
}

/// A gang in a group with these policies; `hands` more devices of the plain member.
pub fn gang(rows: &[Row], hands: usize) -> Gang {
    let world = World::new(40);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let names = ["root", "admin", "mallory"].into_iter().chain(std::iter::repeat_n("mallory", hands));
    let users: Vec<User> = names.map(|name| world.user(name)).collect();
    let root = Forger::of(&users[ROOT]);
    let everyone = [&alice, &bo, &users[ROOT], &users[ADMIN], users.last().unwrap()];
    let entries: Vec<_> = everyone.iter().map(|user| (user.inbox(), forge::newest_update(user))).collect();
    let mut dictionary = forge::group_dictionary(root.inbox, rows, &entries);
    let admins = dovetail::meta::encode_inbox_set([&users[ADMIN].inbox()]);
    dictionary.insert(dovetail::meta::component::ADMIN_LIST, admins);
    let group = GroupId([0x77; 16]);
    let to: Vec<_> =
        [&alice, &bo].into_iter().chain(&users[1..]).map(|user| user.client.installation()).collect();
    root.offer(group, &dictionary, &to);
    let forgers = users.iter().enumerate().map(|(at, user)| {
        user.sync();
        user.client.abandon();
        if at == ROOT { None } else { Some(Forger::of(user)) }
    });
    let mut forgers: Vec<Option<Forger>> = forgers.collect();
    forgers[ROOT] = Some(root);
    let forgers = forgers.into_iter().flatten().collect();
    let apart = alice.dm(&bo);
    let gang = Gang { world, alice, bo, forgers, group, apart, count: RefCell::new(0) };
    gang.sync();
    assert_eq!(gang.row(&gang.alice).epoch, 1);
    gang
}

/// A gang with everything open to members.
pub fn open_gang(hands: usize) -> Gang {
    gang(ALL_MEMBERS, hands)
}

impl Gang {
    pub fn by(&self, who: usize) -> &Forger {
        &self.forgers[who]
    }

    pub fn honest(&self) -> [&User; 2] {
        [&self.alice, &self.bo]
    }

    pub fn sync(&self) {
        for _ in 0..2 {
            for user in self.honest() {
                user.sync();
                dump::check(&user.store);
            }
        }
    }

    pub fn row(&self, user: &User) -> GroupRow {
        Dump::of(&user.store).groups().remove(&self.group).expect("the group")
    }

    pub fn dictionary(&self) -> RawDictionary {
        self.by(ROOT).group(self.group).facts().dictionary
    }

    /// Index of an inbox's first leaf.
    pub fn leaf(&self, of: InboxId) -> u32 {
        let leaves = self.by(ROOT).group(self.group).facts().leaves;
        leaves.iter().find(|leaf| leaf.inbox == Some(of)).expect("a leaf").index
    }

    /// What each honest member recorded of an envelope.
    pub fn recorded(&self, at: SequenceId) -> Vec<Option<String>> {
        let of = |user: &User| {
            let rejected = user.inspect(self.group).groups.remove(0).rejected;
            rejected.into_iter().find(|(position, ..)| *position == at).map(|(_, id, _)| id)
        };
        self.honest().map(of).into()
    }

    /// Publishes something that both refuse for the same reason. Nothing else of their databases
    /// changes: of the MLS state only the sender's ratchet step may.
    pub fn refuse(&self, data: Vec<u8>, id: &str) -> Receipt {
        let envelope = ClientEnvelope::GroupMessage { data, sender_hmac: Vec::new(), should_push: false };
        self.refuse_payload(envelope.encode(), id)
    }

    /// The same of a whole envelope.
    pub fn refuse_payload(&self, payload: Vec<u8>, id: &str) -> Receipt {
        let before = self.honest().map(|user| standing(user, self.group));
        let receipt = self.by(ROOT).publish_raw(Topic::Group(self.group), payload);
        self.sync();
        let expected = Some(id.to_owned());
        assert_eq!(self.recorded(receipt.sequence_id), [expected.clone(), expected]);
        for (user, before) in self.honest().into_iter().zip(before) {
            let after = standing(user, self.group);
            assert!(before.1 == after.1, "the group's row changed");
            assert_eq!(before.0.differences(&after.0), [], "{id}");
            assert!(user.inspect(self.group).groups[0].processed >= receipt.sequence_id);
        }
        receipt
    }

    /// A forger's commit that both refuse.
    pub fn refuse_commit(&self, by: usize, raw: Raw, id: &str) {
        let sealed = self.by(by).raw_commit(self.group, raw);
        self.by(by).drop_commit(self.group);
        self.refuse(sealed.bytes, id);
    }

    /// Publishes a commit that both apply; the forgers follow it, but for `dead` ones.
    pub fn apply(&self, by: usize, data: Vec<u8>, dead: &[usize]) -> Receipt {
        let before = self.row(&self.alice).epoch;
        let receipt = self.by(by).publish(self.group, data.clone());
        self.sync();
        assert_eq!(self.recorded(receipt.sequence_id), [None, None]);
        for user in self.honest() {
            assert_eq!(self.row(user).hold, None);
            assert_eq!(self.row(user).epoch, before + 1, "not applied");
        }
        for (at, forger) in self.forgers.iter().enumerate() {
            if at == by && !dead.contains(&at) {
                forger.merge(self.group);
            } else if !dead.contains(&at) {
                follow(forger, self.group, &data);
            }
        }
        receipt
    }

    /// A forger's commit that both apply.
    pub fn apply_commit(&self, by: usize, raw: Raw) -> Receipt {
        let sealed = self.by(by).raw_commit(self.group, raw);
        self.apply(by, sealed.bytes, &[])
    }

    /// Keeps a proposal at everyone, its author included.
    pub fn keep(&self, by: usize, data: Vec<u8>) {
        let receipt = self.by(by).publish(self.group, data.clone());
        self.sync();
        assert_eq!(self.recorded(receipt.sequence_id), [None, None]);
        for (at, forger) in self.forgers.iter().enumerate() {
            if at != by {
                follow(forger, self.group, &data);
            }
        }
    }

    /// Publishes something at which both wait, with everything else as it was to the byte; the
    /// conversation and a send say so, and other conversations go on.
    pub fn hold(&self, data: Vec<u8>, code: &str, refused_send: &str) -> Receipt {
        let before = self.honest().map(|user| Dump::of(&user.store));
        let receipt = self.by(ROOT).publish(self.group, data);
        self.sync();
        for (user, before) in self.honest().into_iter().zip(before) {
            let group = user.inspect(self.group).groups.remove(0);
            let hold = group.row.hold.clone().expect("held");
            assert_eq!((hold.code.as_str(), hold.sequence_id), (code, receipt.sequence_id));
            assert!(group.processed < receipt.sequence_id);
            assert_eq!(self.recorded(receipt.sequence_id), [None, None]);
            let listed = user.conversations().into_iter().find(|one| one.group.id == self.group);
            assert_eq!(listed.expect("listed").group.hold, Some(hold.clone()));
            let error = user.try_text(self.group, "hi").unwrap_err();
            assert_eq!((error.code, error.message), (refused_send, hold.detail.clone()));
            let after = Dump::of(&user.store);
            let same = |dump: Dump| dump.without(&[Table::Groups]);
            assert_eq!(same(before.clone()).differences(&same(after.clone())), []);
            let unheld = |dump: &Dump| GroupRow { hold: None::<Hold>, ..dump.groups()[&self.group].clone() };
            assert!(unheld(&before) == unheld(&after));
        }
        self.others_go_on();
        receipt
    }

    /// The conversation of alice and bo works.
    pub fn others_go_on(&self) {
        let n = self.count.replace_with(|n| *n + 1);
        self.alice.text(self.apart, &format!("apart {n}"));
        self.alice.sync();
        self.bo.sync();
        assert_eq!(self.bo.texts(self.apart).last(), Some(&format!("apart {n}")));
    }

    /// Both write, read each other, and hold the same state.
    pub fn assert_alive(&self) {
        let n = self.count.replace_with(|n| *n + 1);
        for user in self.honest() {
            user.text(self.group, &format!("alive {n}"));
            self.sync();
        }
        let (alice, bo) = (self.row(&self.alice), self.row(&self.bo));
        assert_eq!((alice.epoch, alice.hold.clone()), (bo.epoch, None));
        assert_eq!(alice.authenticator, bo.authenticator);
        assert!(alice.members == bo.members && alice.settings == bo.settings);
        // The join itself is told to each in its own words.
        let told = |user: &User| {
            let rows = user.history(self.group, Default::default()).into_iter();
            rows.map(|row| (row.id, row.content)).skip(1).collect::<Vec<_>>()
        };
        assert!(told(&self.alice) == told(&self.bo));
    }
}

/// Everything of a database that a refused envelope leaves as it was, and the group's row. Identity
/// updates that were looked up for it are kept.
fn standing(user: &User, group: GroupId) -> (Dump, GroupRow) {
    let dump = Dump::of(&user.store);
    let row = dump.groups().remove(&group).expect("the group");
    let mut dump = dump.without(&[Table::Envelopes, Table::Positions, Table::Groups, Table::Associations]);
    let hot = [MlsPageRow::group_prefix(group), vec![0]].concat();
    dump.0.retain(|(table, key), _| *table != Table::Mls || !key.starts_with(&hot));
    (dump, row)
}

/// Takes a commit or proposal of others in, whatever it does.
pub fn follow(forger: &Forger, id: GroupId, data: &[u8]) {
    let mut group = forger.group(id);
    match mls::open(&forger.scratch, &mut group, data).expect("opens") {
        Opened::Commit(opened) => {
            let writes: Vec<(u16, AppDataOp)> = opened.app_data().to_vec();
            let after = forge::after(&group.facts().dictionary, &writes);
            let staged = mls::stage(&forger.scratch, &group, opened, &after).expect("stages");
            mls::merge(&forger.scratch, &mut group, staged).expect("merges");
        }
        Opened::Proposal(_, pending) => {
            mls::keep_proposal(&forger.scratch, &mut group, pending).expect("kept");
        }
        Opened::Application { .. } => panic!("a message"),
    }
}

/// A user's latest identity update, as a Topic's reader sees it.
pub fn identity_topic(user: &User) -> Topic {
    Topic::Identity(user.inbox())
}
