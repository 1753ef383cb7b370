//! The floor, across versions of the client: what an older build holds, a newer one goes on with.

use dovetail::base::{Map, Nanos, SequenceId, Set, Topic};
use dovetail::engine::receive::{Known, Outcomes, pause_as_loaded, receive};
use dovetail::engine::state::{GroupCtx, Me, MlsState, ThreadCtx};
use dovetail::engine::unit::Unit;
use dovetail::members::{Reference, Resolution, States};
use dovetail::meta::component::{GROUP_NAME, MIN_SUPPORTED_PROTOCOL_VERSION};
use dovetail::mls::InstallationKeys;
use dovetail::store::rows::{CountersRow, InstallationRow, NotesRow, PositionRow};

use crate::common::User;
use crate::common::dump::Dump;
use crate::common::forge::Raw;
use crate::gang::{Gang, ROOT, open_gang};

/// alice's group as a client of any version loads it.
fn loaded(gang: &Gang) -> GroupCtx {
    let dump = Dump::of(&gang.alice.store);
    let row = dump.groups().remove(&gang.group).expect("the group");
    let (scratch, group) = dump.mls(gang.group).expect("MLS state");
    let topic = Topic::Group(gang.group);
    let position = dump.rows::<PositionRow>().into_iter().find(|row| row.topic == topic);
    GroupCtx::loaded((row, 1), position, Vec::new(), Vec::new(), Some(MlsState { scratch, group }))
}

fn me(user: &User, version: &str) -> Me {
    let own = Dump::of(&user.store).rows::<InstallationRow>().pop().expect("an installation");
    let keys = InstallationKeys::from_seed(own.seed);
    Me { inbox: own.inbox, installation: keys.id(), keys, version: version.parse().expect("a version") }
}

/// Reads on in the group's topic with a client of this version.
fn read_on(gang: &Gang, ctx: &mut GroupCtx, version: &str) -> Vec<Outcomes> {
    let me = me(&gang.alice, version);
    let mut states = States::default();
    for member in &ctx.row.members {
        let reference = Reference { inbox: member.inbox, sequence_id: member.sequence_id };
        states.insert(reference, Resolution::Installations(member.installations.iter().copied().collect()));
    }
    let messages = Map::new();
    let echoes = Default::default();
    let identity = |_: &Set<Reference>| states.clone();
    let known = Known {
        me: &me,
        identity: &identity,
        early: true,
        messages: &messages,
        careful: false,
        lost: &|_| false,
        echoes: &echoes,
    };
    let id = ctx.row.thread();
    let (consents, transcripts) = (Map::new(), Vec::new());
    let (notes, notes_revision) = (NotesRow::empty(id), 0);
    let mut thread = ThreadCtx { id, row: None, revision: 0, consents, transcripts, notes, notes_revision };
    let mut unit = Unit::new(Nanos(1), CountersRow::default(), 0);
    let mut outcomes = Vec::new();
    for envelope in gang.world.delivery.stored(Topic::Group(gang.group)) {
        if envelope.sequence_id > ctx.position.processed {
            outcomes.push(receive(ctx, &mut thread, &known, &envelope, &mut unit));
            if matches!(outcomes.last(), Some(Outcomes::Held(..))) {
                break;
            }
        }
    }
    outcomes
}

/// Commits a floor that no client here satisfies.
pub fn raise(gang: &Gang, floor: &str) -> SequenceId {
    let raw = Raw::write(MIN_SUPPORTED_PROTOCOL_VERSION, floor.as_bytes());
    let sealed = gang.by(ROOT).raw_commit(gang.group, raw);
    let receipt = gang.by(ROOT).publish(gang.group, sealed.bytes);
    gang.by(ROOT).merge(gang.group);
    receipt.sequence_id
}

#[test]
fn gmod_025_a_newer_version_resumes_from_the_first_held_envelope() {
    let gang = open_gang(0);
    let at = raise(&gang, "2.0.0");
    let behind = gang.by(ROOT).raw_commit(gang.group, Raw::write(GROUP_NAME, "behind"));
    gang.by(ROOT).publish(gang.group, behind.bytes);
    gang.by(ROOT).publish(gang.group, vec![0xff]);
    gang.sync();
    assert_eq!(gang.row(&gang.alice).hold.unwrap().sequence_id, at);
    // GMOD-027: a pre-release is below, build metadata does not count.
    for old in ["1.11.0", "1.99.99", "2.0.0-rc.1"] {
        let mut ctx = loaded(&gang);
        assert!(matches!(&read_on(&gang, &mut ctx, old)[..], [Outcomes::Held(code, _)] if code == "floor"));
        assert_eq!((ctx.row.epoch, ctx.row.hold.unwrap().sequence_id), (1, at));
    }
    for new in ["2.0.0", "2.0.0+built.here", "3.0.0-alpha"] {
        let mut ctx = loaded(&gang);
        let outcomes = read_on(&gang, &mut ctx, new);
        assert!(
            matches!(&outcomes[..], [Outcomes::Applied, Outcomes::Applied, Outcomes::Rejected(..)]),
            "{outcomes:?}"
        );
        assert_eq!((ctx.row.epoch, ctx.row.hold.clone()), (3, None));
        assert_eq!(ctx.row.settings.name, "behind");
    }
}

#[test]
fn gmod_025_a_committed_floor_pauses_before_anything_is_judged() {
    let gang = open_gang(0);
    raise(&gang, "2.0.0");
    let mut ctx = loaded(&gang);
    assert_eq!(read_on(&gang, &mut ctx, "2.0.0"), [Outcomes::Applied]);
    // The same database under an older build: nothing is refused for good, be it noise.
    gang.by(ROOT).publish(gang.group, vec![1, 2, 3]);
    let outcomes = read_on(&gang, &mut ctx, "1.11.0");
    assert!(matches!(&outcomes[..], [Outcomes::Held(code, _)] if code == "floor"), "{outcomes:?}");
    let outcomes = read_on(&gang, &mut ctx, "2.0.0");
    assert!(matches!(&outcomes[..], [Outcomes::Rejected(..)]), "{outcomes:?}");
    assert_eq!(ctx.row.hold, None);
}

#[test]
fn gmod_025_an_older_build_is_paused_as_it_loads_the_group_and_a_newer_one_is_not() {
    let gang = open_gang(0);
    raise(&gang, "2.0.0");
    let mut ctx = loaded(&gang);
    read_on(&gang, &mut ctx, "2.0.0");
    let version = |text: &str| text.parse().expect("a version");
    pause_as_loaded(&mut ctx, &version("1.11.0"));
    assert_eq!(ctx.row.hold.as_ref().map(|hold| hold.code.as_str()), Some("floor"));
    assert_eq!(dovetail::engine::send::writable(&ctx).unwrap_err().code, "group.paused");
    pause_as_loaded(&mut ctx, &version("2.0.0"));
    assert_eq!(ctx.row.hold, None);
    assert!(dovetail::engine::send::writable(&ctx).is_ok());
}

#[test]
fn gmod_027_a_malformed_committed_floor_does_not_pause() {
    let gang = open_gang(0);
    for floor in ["", "2", "v99.0.0", "99.0"] {
        let mut ctx = loaded(&gang);
        ctx.row.settings.floor = floor.to_owned();
        pause_as_loaded(&mut ctx, &"1.11.0".parse().expect("a version"));
        assert_eq!(ctx.row.hold, None, "{floor}");
    }
}
