//! Replay from a cursor, and snapshots with what follows them (PROC-033, PROC-034, DMS-016).

use dovetail::base::GroupId;
use dovetail::engine::reader::Selection;
use dovetail::store::rows::{MessageKind, MessageRow};
use futures::FutureExt;

use crate::common::dump::Dump;
use crate::readers::{consume, deliverable, deliverable_of, drain, ids, replay, rest, talk, texts, whole};

#[test]
fn proc_033_034_a_replay_goes_on_behind_its_cursor_and_leaves_the_stream_alone() {
    let talk = talk(2);
    let all = deliverable(&talk.bo);
    let consumer = consume(&talk.bo, whole());
    let rows = drain(&consumer);
    let before = Dump::of(&talk.bo.store);
    let cursor = talk.bo.client.cursor(&rows[6]).expect("a cursor");
    assert_eq!(ids(&rest(&replay(&talk.bo, Some(cursor.clone()), whole()))), all[7..]);
    assert_eq!(ids(&rest(&replay(&talk.bo, None, whole()))), all, "from the oldest on");
    let only = Selection { threads: Some(vec![rows[6].thread]), ..whole() };
    let own: Vec<_> = rows[7..].iter().filter(|row| row.thread == rows[6].thread).map(|row| row.id).collect();
    let on = replay(&talk.bo, Some(cursor.clone()), only);
    assert_eq!(ids(&rest(&on)), own);
    assert!(before == Dump::of(&talk.bo.store), "nothing is written");
    // It goes on with what comes.
    talk.alice.text(talk.dm[0], "news of the DM");
    talk.alice.text(talk.group, "news of the group");
    talk.alice.sync();
    talk.bo.sync();
    let news = texts(&rest(&on));
    let dm = matches!(rows[6].thread, dovetail::base::ThreadId::Dm(_));
    assert_eq!(news, [if dm { "news of the DM" } else { "news of the group" }]);
    // A tab of the same database takes the cursor, another database does not.
    assert!(talk.bo.tab().client.replay(Some(&cursor), whole()).is_ok());
    let refused = |cursor: &str| talk.alice.client.replay(Some(cursor), whole()).err().expect("refused").code;
    assert_eq!(refused(&cursor), "stream.foreign_cursor");
    let own = talk.alice.client.cursor(&rows[6]).unwrap();
    for wrong in ["", "-", "1", "zz-1", &own[..33], &format!("{own}x"), &own.replace('-', "-+"), &own[1..]] {
        assert_eq!(refused(wrong), "input.value", "{wrong}");
    }
    talk.bo.offline(true);
    talk.bo.text(talk.group, "not published");
    let unpublished = talk.bo.history(talk.group, Default::default()).pop().unwrap();
    assert_eq!(talk.bo.client.cursor(&unpublished), None);
}

#[test]
fn dms_016_a_snapshot_is_the_newest_of_the_union_by_delivery() {
    let talk = talk(3);
    let rows: Vec<MessageRow> = Dump::of(&talk.bo.store).messages().into_values().collect();
    for limit in [0, 1, 2, 5, 11, 12, 13, 100] {
        // The model: of both groups together the greatest numbers, ascending.
        let mut union: Vec<MessageRow> = rows
            .iter()
            .filter(|row| talk.dm.contains(&row.group) && row.kind == MessageKind::Application)
            .cloned()
            .collect();
        union.sort_by_key(|row| row.delivery);
        let want = ids(&union[union.len() - limit.min(union.len())..]);
        for named in talk.dm {
            let taken =
                talk.bo.call(move |client| async move { client.snapshot(named, limit).await }).unwrap();
            assert_eq!(ids(&taken), want, "{limit}");
        }
    }
}

#[test]
fn dms_016_what_follows_a_snapshot_is_neither_missed_nor_repeated() {
    let talk = talk(2);
    for (named, count) in [(talk.dm[0], 3), (talk.dm[1], 0), (talk.dm[0], 500)] {
        let on = talk.bo.call(move |client| async move { client.replay_recent(named, count).await }).unwrap();
        let all = deliverable_of(&talk, true);
        let before = all.len() - count.min(all.len());
        // Some are there already, some come while it is read.
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.extend(on.next().now_or_never().into_iter().filter_map(|row| row.unwrap()));
        }
        talk.round(7 + count);
        seen.extend(rest(&on));
        assert_eq!(ids(&seen)[..], deliverable_of(&talk, true)[before..][..seen.len()]);
        let now = deliverable_of(&talk, true);
        assert!(now.ends_with(&ids(&seen)));
    }
    let unknown = GroupId([9; 16]);
    let error = talk.bo.call(move |client| async move { client.replay_recent(unknown, 1).await.err() });
    assert_eq!(error.expect("refused").code, "conversation.not_found");
}
