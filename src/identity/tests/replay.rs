//! States by sequence id, whatever the log holds.

use proptest::prelude::*;

use super::*;
use crate::base::SequenceId;

fn at(id: u64) -> SequenceId {
    SequenceId(id)
}

/// Registered at 10, laptop added at 20, a forged update at 30, phone revoked at 40.
fn updates() -> Vec<(SequenceId, Vec<u8>)> {
    let owner = || By::Wallet(OWNER);
    let updates = [
        update(1, &[create(OWNER), add_device(PHONE, owner())]),
        update(2, &[add_device(LAPTOP, owner())]),
        update(3, &[revoke(LAPTOP.member(), STRANGER)]),
        update(4, &[revoke(PHONE.member(), OWNER)]),
    ];
    [10, 20, 30, 40].into_iter().map(at).zip(updates.iter().map(IdentityUpdate::encode)).collect()
}

fn log() -> Log {
    Log::replay(OWNER.inbox(), updates()).unwrap()
}

fn installations(log: &Log, id: u64) -> Vec<InstallationId> {
    log.state_at(at(id)).unwrap().unwrap().installations().into_iter().collect()
}

fn sorted(mut ids: Vec<InstallationId>) -> Vec<InstallationId> {
    ids.sort();
    ids
}

#[test]
fn gmod_013_the_exact_state_at_each_sequence_id() {
    let log = log();
    assert_eq!(installations(&log, 10), [PHONE.id()]);
    assert_eq!(installations(&log, 20), sorted(vec![PHONE.id(), LAPTOP.id()]));
    assert_eq!(installations(&log, 40), [LAPTOP.id()]);
    assert_eq!(log.latest().unwrap(), log.state_at(at(40)).unwrap());
    assert_eq!((log.head(), log.len(), log.is_empty()), (at(40), 4, false));
    assert_eq!(log.inbox(), OWNER.inbox());
}

#[test]
fn gmod_013_what_comes_later_does_not_change_an_earlier_state() {
    let whole = log();
    for (count, (id, _)) in updates().into_iter().enumerate() {
        let part = Log::replay(OWNER.inbox(), updates().into_iter().take(count + 1)).unwrap();
        assert_eq!(part.state_at(id), whole.state_at(id));
        assert_eq!(part.latest(), whole.state_at(id));
    }
}

#[test]
fn gmod_014_no_update_at_exactly_that_id_names_no_state() {
    let log = log();
    for id in [0, 1, 9, 11, 39, 41, u64::MAX] {
        assert_eq!(log.state_at(at(id)), Ok(None), "{id}");
    }
    let empty = Log::new(OWNER.inbox());
    assert_eq!((empty.state_at(at(1)), empty.latest(), empty.head()), (Ok(None), Ok(None), at(0)));
    assert!(empty.is_empty());
}

#[test]
fn ident_002_a_refused_update_holds_its_sequence_id() {
    let mut log = Log::new(OWNER.inbox());
    let verdicts: Vec<Verdict> = updates().iter().map(|(id, bytes)| log.push(*id, bytes).unwrap()).collect();
    let refused = Verdict::Refused(Refusal::NotRecovery);
    assert_eq!(verdicts, [Verdict::Accepted, Verdict::Accepted, refused, Verdict::Accepted]);
    assert_eq!(log.state_at(at(30)), log.state_at(at(20)));
}

#[test]
fn ident_002_garbage_before_the_creation_does_not_stop_it() {
    let mut log = Log::new(OWNER.inbox());
    assert!(matches!(log.push(at(1), b"garbage"), Ok(Verdict::Refused(Refusal::Malformed(_)))));
    assert_eq!(
        log.push(at(2), &[]),
        Ok(Verdict::Refused(Refusal::Malformed("inbox_id is missing or unusable".into())))
    );
    assert_eq!(log.state_at(at(1)), Ok(None));
    assert_eq!(log.push(at(3), &updates()[0].1), Ok(Verdict::Accepted));
}

#[test]
fn ident_003_another_inboxs_update_is_refused_on_this_topic() {
    let mut log = Log::new(OWNER.inbox());
    let foreign = update_of(OTHER.inbox(), 1, &[create(OTHER)]).encode();
    assert_eq!(log.push(at(1), &foreign), Ok(Verdict::Refused(Refusal::WrongInbox)));
}

#[test]
fn ident_004_updates_come_in_ascending_order() {
    let mut log = log();
    for id in [0, 10, 35, 40] {
        assert_eq!(log.push(at(id), b""), Err(IdentityError::OutOfOrder(at(id))));
    }
    assert_eq!(log.len(), 4);
    let mut reversed = updates();
    reversed.reverse();
    assert!(Log::replay(OWNER.inbox(), reversed).is_err());
}

/// The log as a database gives it back: each update with whether it was accepted.
fn kept(updates: &[(SequenceId, Vec<u8>)]) -> Vec<(SequenceId, Vec<u8>, bool)> {
    let mut log = Log::new(OWNER.inbox());
    let judged = |(id, bytes): &(SequenceId, Vec<u8>)| {
        let accepted = log.push(*id, bytes) == Ok(Verdict::Accepted);
        (*id, bytes.clone(), accepted)
    };
    updates.iter().map(judged).collect()
}

fn restored(kept: &[(SequenceId, Vec<u8>, bool)]) -> Log {
    let mut log = Log::new(OWNER.inbox());
    for (id, bytes, accepted) in kept {
        log.restore(*id, bytes, *accepted).unwrap();
    }
    log
}

/// Every kind of action, by one account, by several, by devices and by the one that recovers.
fn eventful() -> Vec<(SequenceId, Vec<u8>)> {
    let by = |wallet| By::Wallet(wallet);
    let mut all = updates();
    let later = [
        update(5, &[add_wallet(OTHER, by(OWNER)), add_device(TABLET, by(OTHER))]),
        update(6, &[add_device(PHONE, by(OWNER))]),
        update(7, &[recover(STRANGER.identifier(), OWNER), revoke(OTHER.member(), STRANGER)]),
        update(8, &[revoke(LAPTOP.member(), OWNER)]),
        update(9, &[add_wallet(OTHER, By::Device(PHONE))]),
    ];
    all.extend([50, 60, 70, 80, 90].into_iter().map(at).zip(later.iter().map(IdentityUpdate::encode)));
    all
}

#[test]
fn gmod_013_a_log_read_back_means_what_it_meant() {
    let (updates, replayed) = (eventful(), Log::replay(OWNER.inbox(), eventful()).unwrap());
    let restored = restored(&kept(&updates));
    for (id, _) in &updates {
        assert_eq!(restored.state_at(*id), replayed.state_at(*id), "{id:?}");
    }
    assert_eq!(restored.len(), replayed.len());
    assert!(replayed.latest().unwrap().unwrap().identifiers().contains(&OTHER.identifier()));
    let mut log = Log::new(OWNER.inbox());
    log.restore(at(2), &updates[0].1, true).unwrap();
    assert_eq!(log.restore(at(2), &updates[1].1, true), Err(IdentityError::OutOfOrder(at(2))));
}

#[test]
fn ident_030_only_what_was_accepted_is_not_verified_again() {
    // Signed by nobody.
    let mut forged = update(1, &[create(OWNER), add_device(PHONE, By::Wallet(OWNER))]);
    for action in &mut forged.actions {
        if let Action::Add { new: Signature::Installation { signature, .. }, .. } = action {
            signature[0] ^= 1;
        }
    }
    let bytes = forged.encode();
    let mut log = Log::new(OWNER.inbox());
    assert_eq!(log.push(at(1), &bytes), Ok(Verdict::Refused(Refusal::BadSignature)));
    assert_eq!(restored(&[(at(1), bytes.clone(), false)]).latest(), Ok(None));
    // Nobody but us can have noted that it was accepted: what it says is taken.
    assert_eq!(installations(&restored(&[(at(1), bytes, true)]), 1), [PHONE.id()]);
    // The rules still stand.
    let stranger = update(1, &[create(OWNER), add_device(PHONE, By::Device(TABLET))]).encode();
    assert_eq!(restored(&[(at(1), stranger, true)]).latest(), Ok(None));
}

#[test]
fn ident_061_states_behind_an_unverifiable_update_are_unknown() {
    let mut log = log();
    let passkey = Signature::Passkey {
        public_key: vec![4],
        signature: vec![1],
        authenticator_data: vec![],
        client_data_json: vec![],
    };
    let member = MemberId::Account(Identifier::Passkey(vec![4]));
    let added = (Change::Add(member), By::Wallet(OWNER), Some(By::Given(passkey)));
    let unknown = Ok(Verdict::Unknown(SignatureKind::Passkey));
    assert_eq!(log.push(at(50), &update(5, &[added]).encode()), unknown);
    assert_eq!(log.push(at(60), &update(6, &[revoke(LAPTOP.member(), OWNER)]).encode()), unknown);
    let unsupported = Err(IdentityError::Unsupported(SignatureKind::Passkey));
    assert_eq!(log.state_at(at(60)), unsupported);
    assert_eq!(log.latest(), unsupported);
    assert_eq!(installations(&log, 40), [LAPTOP.id()]);
    assert_eq!(log.state_at(at(55)), Ok(None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ident_002_refused_updates_change_nothing_wherever_they_stand(
        junk in proptest::collection::vec((0usize..5, proptest::collection::vec(any::<u8>(), 0..60)), 0..6),
    ) {
        let good = updates();
        let mut log = Log::new(OWNER.inbox());
        let mut next = 1;
        for place in 0..=good.len() {
            for (_, bytes) in junk.iter().filter(|(at, _)| *at == place) {
                prop_assert!(matches!(log.push(at(next), bytes), Ok(Verdict::Refused(_))));
                next += 1;
            }
            if let Some((_, bytes)) = good.get(place) {
                log.push(at(next), bytes).unwrap();
                next += 1;
            }
        }
        let clean = self::log();
        prop_assert_eq!(log.latest(), clean.latest());
    }
}

#[test]
fn ident_043_a_member_is_lost_once_the_newest_state_is_without_it() {
    let lost = |count: usize| {
        let log = Log::replay(OWNER.inbox(), updates().into_iter().take(count)).unwrap();
        [PHONE, LAPTOP, Device([9; 32])].map(|device| log.has_lost(&device.member()))
    };
    assert_eq!(lost(0), [false; 3]);
    assert_eq!(lost(3), [false; 3], "a refused revocation takes nobody");
    assert_eq!(lost(4), [true, false, false], "nor is one lost that never was a member");
    let mut log = log();
    let back = update(5, &[add_device(PHONE, By::Wallet(OWNER))]);
    log.push(at(50), &back.encode()).unwrap();
    assert!(!log.has_lost(&PHONE.member()), "added again");
    let all = update(6, &[revoke(OWNER.member(), OWNER)]);
    log.push(at(60), &all.encode()).unwrap();
    assert!(log.has_lost(&PHONE.member()) && log.has_lost(&OWNER.member()), "with the account that added it");
}
