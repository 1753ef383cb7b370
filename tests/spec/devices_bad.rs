//! What a device of the own inbox should never tell, and how much it can tell: no decision changes
//! that should not, and nothing stops.

use dovetail::base::{GroupId, InboxId, Nanos, Topic};
use dovetail::consent::{Entity, Record, State};
use dovetail::mls::FrameKind;
use dovetail::store::rows::{ConsentRow, EnvelopeRow, EnvelopeState};
use dovetail::store::{Changes, Store};
use dovetail::wire::{ConsentSave, ContentType, EncodedContent, PlaintextV1, preference_updates};
use futures::FutureExt;

use crate::common::User;
use crate::common::devices::records;
use crate::common::dump::{self, Dump};
use crate::common::forge::Forger;
use crate::common::group::{frames, sync_all};
use crate::devices::{ELSEWHERE, SOMEBODY, told, two};

pub fn save(entity_type: i32, state: i32, entity: &str, at: i64) -> ConsentSave {
    ConsentSave { entity_type, state, entity: entity.into(), consented_at_ns: at }
}

/// A device that speaks in its sync group without its client.
pub struct Rogue(Forger, GroupId);

impl Rogue {
    pub fn of(device: &User) -> Self {
        Self(Forger::of(device), device.sync_group())
    }

    fn say(&self, content: &EncodedContent) {
        let plaintext = PlaintextV1 { content: content.encode(), idempotency_key: "forged".into() }.encode();
        self.0.publish(self.1, self.0.message(self.1, &plaintext));
    }

    pub fn tell(&self, saves: impl IntoIterator<Item = ConsentSave>) {
        self.say(&preference_updates(saves.into_iter()));
    }
}

fn rejected(user: &User) -> usize {
    let refused = |row: &EnvelopeRow| matches!(row.state, EnvelopeState::Rejected(..));
    Dump::of(&user.store).rows::<EnvelopeRow>().iter().filter(|row| refused(row)).count()
}

#[test]
fn cons_003_unusable_records_are_dropped_one_by_one() {
    let (phone, laptop) = two(1);
    phone.set_consent(SOMEBODY, State::Allowed);
    sync_all(&[&phone, &laptop]);
    let before = records(&Dump::of(&phone.store));
    let (inbox, group) = ("ab".repeat(32), "cd".repeat(16));
    let far = i64::MAX;
    let bad = [
        save(0, 3, &inbox, far),
        save(3, 3, "0x00000000000000000000000000000000000000aa", far),
        save(4, 3, &inbox, far),
        save(-1, 3, &inbox, far),
        save(2, 0, &inbox, far),
        save(2, 4, &inbox, far),
        save(2, -3, &inbox, far),
        save(2, 3, &inbox.to_uppercase(), far),
        save(1, 3, &group.to_uppercase(), far),
        save(1, 3, &inbox, far),
        save(2, 3, &group, far),
        save(2, 3, "not hex", far),
        save(2, 3, "", far),
        save(1, 3, &"é".repeat(16), far),
    ];
    let (events, _listening) = told(&phone);
    let rogue = Rogue::of(&laptop);
    rogue.tell(bad.clone());
    phone.sync();
    assert_eq!(records(&Dump::of(&phone.store)), before);
    assert_eq!(*events.borrow(), []);
    // A good one among them counts.
    let at = phone.world.platform.now_ns() + 5;
    let good = bad.iter().take(7).cloned().chain([save(1, 3, &group, at)]).chain(bad.iter().skip(7).cloned());
    rogue.tell(good);
    phone.sync();
    assert_eq!(*events.borrow(), [(ELSEWHERE, State::Denied)]);
    assert_eq!(rejected(&phone), 0);
    dump::check(&phone.store);
}

#[test]
fn cons_010_times_from_before_the_epoch_and_from_the_far_future_are_compared_like_any_other() {
    let (phone, laptop) = two(2);
    phone.set_consent(SOMEBODY, State::Allowed);
    sync_all(&[&phone, &laptop]);
    let (inbox, group) = ("ab".repeat(32), "cd".repeat(16));
    let saves =
        [save(2, 3, &inbox, i64::MIN), save(2, 3, &inbox, -1), save(2, 3, &inbox, 0), save(1, 3, &group, -7)];
    let rogue = Rogue::of(&laptop);
    rogue.tell(saves);
    phone.sync();
    assert_eq!(phone.consent(SOMEBODY), State::Allowed, "a decision is not changed by what is older");
    let stored = Record { entity: ELSEWHERE, state: State::Denied, consented_at_ns: Nanos(-7) };
    assert_eq!(phone.record(ELSEWHERE), Some(stored), "without a record any is stored");
    let other = Entity::Inbox(InboxId([0xef; 32]));
    rogue.tell([save(2, 3, &"ef".repeat(32), i64::MAX)]);
    phone.sync();
    assert_eq!(phone.record(other).unwrap().consented_at_ns, Nanos(i64::MAX));
    // The user decides all the same, here and now.
    phone.set_consent(other, State::Allowed);
    assert_eq!(phone.consent(other), State::Allowed);
    dump::check(&phone.store);
}

#[test]
fn cons_010_a_block_from_the_far_future_lets_messages_be_written_and_sent() {
    let (phone, laptop) = two(3);
    let bo = phone.world.user("bo");
    let group = phone.dm(&bo);
    sync_all(&[&phone, &laptop, &bo]);
    Rogue::of(&laptop).tell([save(1, 3, &group.to_string(), i64::MAX)]);
    phone.sync();
    assert_eq!(phone.consent(Entity::Conversation(group)), State::Denied);
    phone.text(group, "one");
    phone.text(group, "two");
    sync_all(&[&phone, &bo]);
    assert_eq!(bo.texts(group), ["one", "two"]);
    assert_eq!(phone.texts(group), ["one", "two"]);
    assert_eq!(
        phone.consent(Entity::Conversation(group)),
        State::Allowed,
        "CONS-021: written over the block"
    );
    dump::check(&phone.store);
}

#[test]
fn other_content_in_a_sync_group_is_consumed() {
    let (phone, laptop) = two(4);
    let broken = EncodedContent { content: vec![0x22, 200, 1], ..preference_updates(std::iter::empty()) };
    let later = EncodedContent {
        content_type: ContentType::xmtp("application/x-protobuf", 2, 0),
        ..preference_updates([save(2, 3, &"ab".repeat(32), 9)].into_iter())
    };
    let (rogue, mut said) = (Rogue::of(&laptop), 0);
    for content in [EncodedContent::text("hello"), later, broken] {
        rogue.say(&content);
        phone.sync();
        said += 1;
        assert_eq!(rejected(&phone), usize::from(said == 3), "only what does not decode is refused");
    }
    assert_eq!(phone.record(SOMEBODY), None);
    assert_eq!(Dump::of(&phone.store).messages().len(), 0);
    phone.set_consent(SOMEBODY, State::Denied);
    phone.sync();
    assert_eq!(phone.owed(), [], "the group goes on");
    dump::check(&phone.store);
}

#[test]
fn a_record_about_the_sync_group_itself_is_not_stored() {
    let (phone, laptop) = two(5);
    let group = phone.sync_group();
    Rogue::of(&laptop).tell([save(1, 3, &group.to_string(), 9)]);
    phone.sync();
    assert_eq!(phone.record(Entity::Conversation(group)), None);
}

#[test]
fn many_records_are_told_and_merged_in_small_steps() {
    let (phone, laptop) = two(6);
    let many = 2_000u32;
    let mut changes = Changes::default();
    for n in 0..many {
        let mut id = [0x40; 16];
        id[..4].copy_from_slice(&n.to_be_bytes());
        let entity = Entity::Conversation(GroupId(id));
        changes.put(&ConsentRow(Record {
            entity,
            state: State::Denied,
            consented_at_ns: Nanos(i64::from(n % 2)),
        }));
    }
    phone.store.reopen().apply(changes).now_or_never().unwrap().unwrap();
    let before = frames(&phone.world, phone.sync_group(), FrameKind::Application);
    let tablet = phone.world.user("alice");
    phone.sync();
    let told = frames(&phone.world, phone.sync_group(), FrameKind::Application) - before;
    assert_eq!(told, 9, "of up to 250 records read at a time, half of them defaults");
    let largest = phone.world.delivery.stored(Topic::Group(phone.sync_group()));
    assert!(largest.iter().all(|envelope| envelope.payload.len() < 32 * 1024));
    tablet.store.reset_figures();
    tablet.sync();
    let found = records(&Dump::of(&tablet.store));
    assert_eq!(found.len(), many as usize / 2 + 1, "defaults are not told");
    assert!(tablet.store.figures().applies >= 5, "never all in one step");
    sync_all(&[&phone, &laptop, &tablet]);
    assert_eq!(records(&Dump::of(&laptop.store)), found);
    assert!(Dump::of(&phone.store).intents().is_empty());
}
