use futures::executor::block_on;

use super::*;
use crate::base::SequenceId;
use crate::delivery::memory::Lie;
use crate::delivery::{CheckedDelivery, DeliveryError, Incoming};

fn all(link: &dyn Delivery, topics: &[u8]) -> Result<Vec<Incoming>, DeliveryError> {
    block_on(link.query(topics.iter().map(|n| (group(*n), SequenceId(0))).collect(), 100))
}

fn is_unavailable<T>(answer: Result<T, DeliveryError>) -> bool {
    matches!(answer, Err(DeliveryError::Unavailable(_)))
}

#[test]
fn offline_is_a_matter_of_one_link_and_coming_back_wakes_it() {
    let (bench, link) = service();
    let other = link.link();
    let (told, _keep) = listen(&link, vec![group(1)]);
    link.set(|faults| faults.offline = true);
    assert!(is_unavailable(block_on(link.publish(vec![to(group(1), b"a")]))));
    assert!(is_unavailable(block_on(link.newest(vec![group(1)]))));
    assert!(is_unavailable(block_on(link.lookup(Vec::new()))));
    assert!(is_unavailable(all(&link, &[1])));
    block_on(other.publish(vec![to(group(1), b"b")])).unwrap();
    bench.run();
    assert_eq!(*told.borrow(), []);
    link.set(|faults| faults.offline = false);
    bench.run();
    assert_eq!(*told.borrow(), [group(1)]);
    assert_eq!(all(&link, &[1]).unwrap().len(), 1);
}

#[test]
fn a_lost_answer_has_been_stored_and_a_resend_stores_nothing_more() {
    let (_, link) = service();
    link.set(|faults| faults.lose_answers = 1);
    assert!(is_unavailable(block_on(link.publish(vec![to(group(1), b"a")]))));
    let receipts = block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    assert_eq!((receipts[0].sequence_id, link.stored(group(1)).len()), (SequenceId(1), 1));
}

#[test]
fn a_refused_batch_is_not_stored() {
    let (_, link) = service();
    link.set(|faults| faults.refuse = 1);
    let refused = block_on(link.publish(vec![to(group(1), b"a")]));
    assert!(matches!(refused, Err(DeliveryError::Refused(_))));
    assert_eq!(link.topics(), []);
    assert!(block_on(link.publish(vec![to(group(1), b"a")])).is_ok());
}

#[test]
fn a_delay_is_slept_each_way() {
    let (bench, link) = service();
    let (_told, _keep) = listen(&link, vec![group(1)]);
    link.set(|faults| faults.delay_ms = 20);
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    assert_eq!(bench.slept_ms.get(), 40);
    bench.run();
    assert_eq!(bench.slept_ms.get(), 60);
}

#[test]
fn repeated_envelopes_are_dropped_and_replays_are_seen_at_their_own_position() {
    let (_, link) = service();
    link.set(|faults| {
        faults.duplicates = true;
        faults.replays = true;
    });
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    assert_eq!(all(&link, &[1]).unwrap().len(), 4);
    let usable = all(&CheckedDelivery::new(Rc::new(link)), &[1]).unwrap();
    assert_eq!(usable.iter().map(|envelope| envelope.sequence_id.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(usable[0].payload, usable[1].payload);
}

#[test]
fn a_frozen_topic_is_overtaken_and_never_reordered_within() {
    let (bench, link) = service();
    let (told, _keep) = listen(&link, vec![group(1)]);
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    link.freeze(group(1));
    block_on(link.publish(vec![to(group(1), b"b")])).unwrap();
    block_on(link.publish(vec![to(group(2), b"c")])).unwrap();
    bench.run();
    told.borrow_mut().clear();
    let seen = |link: &MemoryDelivery| -> Vec<u64> {
        all(link, &[1, 2]).unwrap().iter().map(|envelope| envelope.sequence_id.0).collect()
    };
    assert_eq!(seen(&link), [1, 3]);
    assert_eq!(
        block_on(link.newest(vec![group(1)])).unwrap()[0].as_ref().unwrap().sequence_id,
        SequenceId(1)
    );
    assert_eq!(seen(&link.link()), [1, 2, 3]);
    link.thaw();
    bench.run();
    assert_eq!(*told.borrow(), [group(1)]);
    assert_eq!(seen(&link), [1, 2, 3]);
}

#[test]
fn a_shuffled_answer_is_a_prefix_of_every_topic() {
    let (_, link) = service();
    for n in 0..12u8 {
        block_on(link.publish(vec![to(group(n % 3), &[n])])).unwrap();
    }
    link.set(|faults| faults.shuffle = true);
    let full: Vec<_> = (0..3).map(|n| link.stored(group(n))).collect();
    let checked = CheckedDelivery::new(Rc::new(link));
    let mut lengths = crate::base::Set::new();
    for _ in 0..50 {
        let answer = all(&checked, &[0, 1, 2]).unwrap();
        lengths.insert(answer.len());
        for (n, stored) in full.iter().enumerate() {
            let of: Vec<_> = answer.iter().filter(|e| e.topic == group(n as u8)).cloned().collect();
            assert_eq!(of, stored[..of.len()]);
        }
    }
    assert!(lengths.len() > 3, "{lengths:?}");
}

#[test]
fn a_client_without_wake_ups_hears_nothing() {
    let (bench, link) = service();
    let (told, _keep) = listen(&link, vec![group(1)]);
    link.set(|faults| faults.no_wakes = true);
    block_on(link.publish(vec![to(group(1), b"a")])).unwrap();
    bench.run();
    assert_eq!(*told.borrow(), []);
}

#[test]
fn every_lie_but_a_forgery_is_found_out() {
    for lie in [Lie::WrongTopic, Lie::FallingIds, Lie::AlteredBytes, Lie::NegativeTime, Lie::MissingReceipt] {
        for count in [1u8, 2] {
            let (_, link) = service();
            let batch: Vec<_> = (0..count).map(|n| to(group(1), &[n])).collect();
            block_on(link.publish(batch.clone())).unwrap();
            link.set(|faults| faults.lie = Some(lie));
            let checked = CheckedDelivery::new(Rc::new(link));
            let answer = match lie {
                Lie::MissingReceipt => block_on(checked.publish(batch)).map(drop),
                _ => all(&checked, &[1]).map(drop),
            };
            assert!(matches!(answer, Err(DeliveryError::Invalid(_))), "{lie:?} {answer:?}");
        }
    }
}

#[test]
fn a_forgery_passes_here_with_other_bytes() {
    let (_, link) = service();
    block_on(link.publish(vec![to(group(1), b"abc")])).unwrap();
    link.set(|faults| faults.lie = Some(Lie::Forged));
    let checked = CheckedDelivery::new(Rc::new(link));
    assert_eq!(all(&checked, &[1]).unwrap()[0].payload, b"acc");
    let newest = block_on(checked.newest(vec![group(1)])).unwrap();
    assert_eq!(newest[0].as_ref().unwrap().payload, b"acc");
}
