use futures::executor::block_on;

use super::*;
use crate::base::SequenceId;
use crate::delivery::memory::Limits;
use crate::delivery::{CheckedDelivery, DeliveryError};

fn ids(receipts: &[super::super::Receipt]) -> Vec<u64> {
    receipts.iter().map(|receipt| receipt.sequence_id.0).collect()
}

#[test]
fn sequence_ids_rise_across_topics_and_time_never_stands_still() {
    let (bench, first) = service();
    let second = first.link();
    bench.now.set(100);
    let one = block_on(first.publish(vec![to(group(1), b"a"), to(group(2), b"b")])).unwrap();
    bench.now.set(50);
    let two = block_on(second.publish(vec![to(group(1), b"c")])).unwrap();
    bench.now.set(1000);
    let three = block_on(second.publish(vec![to(group(1), b"d")])).unwrap();
    let all = [one, two, three].concat();
    assert_eq!(ids(&all), [1, 2, 3, 4]);
    assert_eq!(all.iter().map(|receipt| receipt.server_ns.0).collect::<Vec<_>>(), [100, 101, 102, 1000]);
}

#[test]
fn the_same_bytes_give_the_first_receipts_even_inside_one_batch() {
    let (_, link) = service();
    let first = block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    let again = block_on(link.link().publish(vec![
        to(group(1), b"b"),
        to(group(1), b"a"),
        to(group(1), b"b"),
        to(group(2), b"a"),
    ]))
    .unwrap();
    assert_eq!(ids(&first), [1]);
    assert_eq!(ids(&again), [2, 1, 2, 3]);
    assert_eq!(link.stored(group(1)).len(), 2);
}

#[test]
fn a_query_gives_what_is_behind_a_position_up_to_its_limit() {
    let (_, link) = service();
    for payload in [b"a", b"b", b"c", b"d"] {
        block_on(link.publish(vec![to(group(1), payload), to(group(2), payload)])).unwrap();
    }
    let checked = CheckedDelivery::new(Rc::new(link));
    let answer =
        block_on(checked.query(vec![(group(1), SequenceId(1)), (group(2), SequenceId(6))], 2)).unwrap();
    assert_eq!(answer.iter().map(|envelope| envelope.sequence_id.0).collect::<Vec<_>>(), [3, 5, 8]);
    assert_eq!(block_on(checked.query(vec![(group(3), SequenceId(0))], 2)), Ok(Vec::new()));
    let newest = block_on(checked.newest(vec![group(3), group(1)])).unwrap();
    assert_eq!(
        newest.iter().map(|one| one.as_ref().map(|e| e.sequence_id.0)).collect::<Vec<_>>(),
        [None, Some(7)]
    );
}

#[test]
fn a_batch_above_a_size_limit_is_refused_whole() {
    let (_, link) = service();
    link.limit(Limits { envelope: 3, batch: 4 });
    for batch in
        [vec![to(group(1), b"ok"), to(group(1), b"long")], vec![to(group(1), b"aaa"), to(group(1), b"bb")]]
    {
        assert!(matches!(block_on(link.publish(batch)), Err(DeliveryError::Refused(_))));
    }
    assert_eq!(link.topics(), Vec::new());
    assert!(block_on(link.publish(vec![to(group(1), b"aaa"), to(group(1), b"b")])).is_ok());
}

#[test]
fn lookup_gives_the_newest_claim_first() {
    let (_, link) = service();
    let claim = |n: u8, bytes: &[u8]| Outgoing {
        topic: Topic::Identity(inbox(n)),
        payload: bytes.to_vec(),
        identifiers: vec!["eth:0xa".to_owned()],
    };
    for envelope in [claim(1, b"1"), claim(2, b"2"), claim(1, b"3")] {
        block_on(link.publish(vec![envelope])).unwrap();
    }
    // A hint on a topic that is no identity log claims nothing.
    block_on(link.publish(vec![Outgoing { topic: group(9), ..claim(3, b"4") }])).unwrap();
    let found = block_on(link.lookup(vec!["eth:0xb".to_owned(), "eth:0xa".to_owned()])).unwrap();
    assert_eq!(found, [vec![], vec![inbox(1), inbox(2)]]);
}

#[test]
fn subscribers_are_woken_for_their_topics_until_they_end() {
    let (bench, link) = service();
    let (told, subscription) = listen(&link.link(), vec![group(1), group(2)]);
    block_on(link.publish(vec![to(group(1), b"a"), to(group(3), b"a")])).unwrap();
    assert_eq!(*told.borrow(), []);
    bench.run();
    assert_eq!(*told.borrow(), [group(1)]);
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    bench.run();
    assert_eq!(told.borrow().len(), 1, "nothing new was stored");
    block_on(link.publish(vec![to(group(2), b"b")])).unwrap();
    drop(subscription);
    bench.run();
    assert_eq!(told.borrow().len(), 1);
}
