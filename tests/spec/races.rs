//! Changes at the same moment: whoever loses builds again, and nothing is done twice (GMOD-036).

use std::cell::RefCell;
use std::rc::Rc;

use dovetail::base::{Platform as _, Topic};
use dovetail::client::Setting;
use dovetail::store::rows::MessageStatus;
use dovetail::wire::EncodedContent;

use crate::common::World;
use crate::common::dump::Dump;
use crate::common::group::{break_key_package, commits, sync_all, together};

#[test]
fn gmod_036_two_members_racing_both_get_their_change() {
    let world = World::new(19);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    alice.client.go_live();
    bo.client.go_live();
    world.settle(1_000);
    let (a, b) = (alice.client.clone(), bo.client.clone());
    let results = world.run(async move {
        let one = a.change_settings(group, vec![Setting::Name("a".into())]);
        let two = b.change_settings(group, vec![Setting::Description("b".into())]);
        futures::join!(one, two)
    });
    assert_eq!(results, (Ok(()), Ok(())));
    sync_all(&[&alice, &bo]);
    together(group, &[&alice, &bo]);
    let settings = bo.row(group).settings;
    assert_eq!((settings.name, settings.description), ("a".to_owned(), "b".to_owned()));
}

/// 100 changes each, from two tabs of each member.
#[test]
fn gmod_036_two_members_racing_a_hundred_changes_each_converge() {
    let world = World::new(20);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let tabs = [alice.tab(), bo.tab()];
    let pages = [&alice, &bo, &tabs[0], &tabs[1]];
    pages.iter().for_each(|page| page.client.go_live());
    world.settle(1_000);
    let changes = (0..200).map(|n| {
        let client = pages[n % 4].client.clone();
        async move {
            let text = format!("{n}");
            let setting = match n % 3 {
                0 => Setting::Name(text),
                1 => Setting::Description(text),
                _ => Setting::AppData(text),
            };
            client.change_settings(group, vec![setting]).await
        }
    });
    let all: Vec<_> = changes.collect();
    let results = world.run(futures::future::join_all(all));
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    world.settle(60_000);
    sync_all(&[&alice, &bo]);
    together(group, &[&alice, &bo]);
    for user in [&alice, &bo] {
        assert!(Dump::of(&user.store).intents().is_empty());
    }
}

#[test]
fn a_message_waits_for_the_change_before_it_and_is_sent_once() {
    let world = World::new(21);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let group = alice.group(&[&bo]);
    let client = alice.client.clone();
    let content = EncodedContent::text("during").encode();
    let sent = world.run(async move {
        let change = client.change_settings(group, vec![Setting::Name("n".into())]);
        let send = client.send(group, content, None);
        futures::join!(change, send)
    });
    assert_eq!(sent.0, Ok(()));
    sync_all(&[&alice, &bo]);
    assert_eq!(bo.texts(group), ["during"]);
    let rows = alice.history(group, Default::default());
    assert!(rows.iter().all(|row| row.status == MessageStatus::Published));
}

/// What the attempt that lost left out is not told again.
#[test]
fn gmod_009_036_a_rebuilt_add_names_whom_it_left_out_once() {
    let world = World::new(23);
    let (alice, bo) = (world.user("alice"), world.user("bo"));
    let (phone, laptop) = (world.user("cy"), world.user("cy"));
    break_key_package(&laptop);
    let group = alice.group(&[&bo]);
    let before = commits(&world, group);
    // Alice builds on an epoch that bo has ended, which she does not see.
    alice.delivery.freeze(Topic::Group(group));
    bo.name(group, "quicker").unwrap();
    let (told, added) = (Rc::new(RefCell::new(None)), phone.inbox());
    let (client, answer) = (alice.client.clone(), told.clone());
    world.platform.spawn(Box::pin(async move {
        answer.replace(Some(client.add_members(group, &[added]).await));
    }));
    world.settle(1_000);
    assert_eq!(commits(&world, group), before + 2, "alice's first attempt is stored, and lost");
    alice.delivery.thaw();
    sync_all(&[&alice, &bo, &phone]);
    world.settle(1_000);
    assert_eq!(commits(&world, group), before + 3);
    let left_out = told.take().expect("an answer").unwrap();
    assert_eq!(left_out.installations, [laptop.client.installation()]);
    together(group, &[&alice, &bo, &phone]);
}
