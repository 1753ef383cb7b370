//! Judges what a service answered, before anything of it is believed.
//!
//! Pure: the request and the answer go in, the usable answer or [`DeliveryError::Invalid`] comes
//! out, and one bad entry spoils the whole answer. An envelope repeated right behind itself is the
//! one harmless fault: services that retry internally do that, and the repetition is dropped.

use crate::base::Gather as _;
use crate::base::{Map, Set};

use sha2::{Digest, Sha256};

use super::{DeliveryError, Incoming, Outgoing, Receipt};
use crate::base::{InboxId, Nanos, SequenceId, Topic};

/// Greatest payload of one envelope in bytes (facts 12.8: 25 MiB a request).
pub const MAX_PAYLOAD: usize = 25 * 1024 * 1024;

/// Greatest sequence id: a JavaScript number that is still exact.
pub const MAX_SEQUENCE_ID: u64 = (1 << 53) - 1;

/// The receipts of a batch: one an envelope, usable positions and times, and no position given to
/// two different envelopes.
pub fn receipts(batch: &[Outgoing], answer: &[Receipt]) -> Result<(), DeliveryError> {
    count("receipts", batch.len(), answer.len())?;
    let mut given: Map<SequenceId, (&Topic, &[u8])> = Map::new();
    for (sent, receipt) in batch.iter().zip(answer) {
        position(receipt.sequence_id, receipt.server_ns)?;
        let own = (&sent.topic, sent.payload.as_slice());
        if given.insert(receipt.sequence_id, own).is_some_and(|other| other != own) {
            return Err(invalid("two envelopes of a batch have one sequence id"));
        }
    }
    Ok(())
}

/// Envelopes behind the positions asked for: only those topics, ids strictly rising within each,
/// at most `limit` each, payloads that match their hashes.
pub fn query(
    asked: &[(Topic, SequenceId)],
    limit: u32,
    answer: Vec<Incoming>,
) -> Result<Vec<Incoming>, DeliveryError> {
    let mut last: Map<Topic, (SequenceId, u32, Option<usize>)> =
        asked.iter().map(|(topic, after)| (*topic, (*after, 0, None))).gather();
    let mut seen = Set::new();
    let mut usable: Vec<Incoming> = Vec::with_capacity(answer.len());
    for envelope in answer {
        let Some((after, taken, previous)) = last.get_mut(&envelope.topic) else {
            return Err(invalid("an envelope of a topic that was not asked for"));
        };
        if previous.and_then(|at| usable.get(at)) == Some(&envelope) {
            continue;
        }
        if envelope.sequence_id <= *after {
            return Err(invalid("sequence ids that do not rise"));
        }
        if *taken == limit {
            return Err(invalid("more envelopes than asked for"));
        }
        if !seen.insert(envelope.sequence_id) {
            return Err(invalid("one sequence id in two topics"));
        }
        one(&envelope)?;
        (*after, *taken, *previous) = (envelope.sequence_id, *taken + 1, Some(usable.len()));
        usable.push(envelope);
    }
    Ok(usable)
}

/// The newest envelope of each topic, in the order asked.
pub fn newest(asked: &[Topic], answer: &[Option<Incoming>]) -> Result<(), DeliveryError> {
    count("envelopes", asked.len(), answer.len())?;
    for (topic, envelope) in asked.iter().zip(answer) {
        let Some(envelope) = envelope else { continue };
        if envelope.topic != *topic {
            return Err(invalid("an envelope of a topic that was not asked for"));
        }
        one(envelope)?;
    }
    Ok(())
}

/// The claims on each identifier, in the order asked.
pub fn lookup(asked: &[String], answer: &[Vec<InboxId>]) -> Result<(), DeliveryError> {
    count("lists of inboxes", asked.len(), answer.len())
}

fn one(envelope: &Incoming) -> Result<(), DeliveryError> {
    position(envelope.sequence_id, envelope.server_ns)?;
    if envelope.payload.len() > MAX_PAYLOAD {
        return Err(invalid("an envelope of more than 25 MiB"));
    }
    if Sha256::digest(&envelope.payload).as_slice() != envelope.hash {
        return Err(invalid("an envelope that does not match its hash"));
    }
    Ok(())
}

fn position(id: SequenceId, time: Nanos) -> Result<(), DeliveryError> {
    if id.0 == 0 || id.0 > MAX_SEQUENCE_ID {
        return Err(invalid("a sequence id out of range"));
    }
    if time.0 < 0 {
        return Err(invalid("a negative time"));
    }
    Ok(())
}

fn count(what: &str, asked: usize, answered: usize) -> Result<(), DeliveryError> {
    if asked == answered {
        return Ok(());
    }
    Err(DeliveryError::Invalid(format!("{answered} {what} instead of {asked}")))
}

fn invalid(what: &str) -> DeliveryError {
    DeliveryError::Invalid(what.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::GroupId;

    fn topic(n: u8) -> Topic {
        Topic::Group(GroupId([n; 16]))
    }

    fn envelope(of: u8, id: u64) -> Incoming {
        let payload = vec![of, id as u8];
        Incoming {
            topic: topic(of),
            sequence_id: SequenceId(id),
            server_ns: Nanos(5),
            hash: Sha256::digest(&payload).into(),
            payload,
        }
    }

    fn asked() -> Vec<(Topic, SequenceId)> {
        vec![(topic(1), SequenceId(3)), (topic(2), SequenceId(0))]
    }

    fn refused(answer: Vec<Incoming>, why: &str) {
        match query(&asked(), 2, answer) {
            Err(DeliveryError::Invalid(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_honest_answer_passes_whatever_the_order_between_topics() {
        let answer = vec![envelope(2, 9), envelope(1, 4), envelope(2, 11), envelope(1, 6)];
        assert_eq!(query(&asked(), 2, answer.clone()), Ok(answer));
        assert_eq!(query(&asked(), 2, Vec::new()), Ok(Vec::new()));
    }

    #[test]
    fn a_repetition_right_behind_itself_is_dropped() {
        let answer = vec![envelope(1, 4), envelope(2, 5), envelope(1, 4), envelope(1, 6), envelope(1, 6)];
        assert_eq!(query(&asked(), 2, answer), Ok(vec![envelope(1, 4), envelope(2, 5), envelope(1, 6)]));
    }

    #[test]
    fn a_lying_answer_is_refused_whole() {
        refused(vec![envelope(1, 4), envelope(3, 5)], "not asked");
        refused(vec![envelope(1, 6), envelope(1, 4)], "rise");
        refused(vec![envelope(1, 3)], "rise");
        refused(vec![envelope(1, 4), envelope(1, 5), envelope(1, 6)], "more envelopes");
        refused(vec![envelope(1, 4), envelope(2, 4)], "two topics");
        refused(vec![Incoming { payload: vec![0], ..envelope(1, 4) }], "hash");
        refused(vec![Incoming { hash: [0; 32], ..envelope(1, 4) }], "hash");
        refused(vec![Incoming { server_ns: Nanos(-1), ..envelope(1, 4) }], "time");
        refused(vec![Incoming { sequence_id: SequenceId(MAX_SEQUENCE_ID + 1), ..envelope(1, 4) }], "range");
        let changed = Incoming { server_ns: Nanos(6), ..envelope(1, 4) };
        refused(vec![envelope(1, 4), changed], "rise");
    }

    #[test]
    fn an_oversized_payload_is_refused() {
        let payload = vec![0; MAX_PAYLOAD + 1];
        let hash = Sha256::digest(&payload).into();
        refused(vec![Incoming { payload, hash, ..envelope(1, 4) }], "25 MiB");
    }

    #[test]
    fn receipts_are_one_an_envelope_and_share_no_position() {
        let send = |of, n| Outgoing { topic: topic(of), payload: vec![n], identifiers: Vec::new() };
        let got = |id, ns| Receipt { sequence_id: SequenceId(id), server_ns: Nanos(ns) };
        let batch = vec![send(1, 1), send(1, 2), send(1, 1)];
        assert_eq!(receipts(&batch, &[got(7, 1), got(3, 2), got(7, 1)]), Ok(()));
        for wrong in [
            vec![got(7, 1), got(8, 1)],
            vec![got(7, 1), got(7, 1), got(7, 1)],
            vec![got(0, 1), got(8, 1), got(0, 1)],
            vec![got(7, -1), got(8, 1), got(7, 1)],
        ] {
            assert!(matches!(receipts(&batch, &wrong), Err(DeliveryError::Invalid(_))), "{wrong:?}");
        }
    }

    #[test]
    fn newest_and_lookup_answer_in_the_order_asked() {
        assert_eq!(newest(&[topic(1), topic(2)], &[None, Some(envelope(2, 1))]), Ok(()));
        assert!(newest(&[topic(1)], &[]).is_err());
        assert!(newest(&[topic(1)], &[Some(envelope(2, 1))]).is_err());
        assert!(newest(&[topic(2)], &[Some(Incoming { hash: [0; 32], ..envelope(2, 1) })]).is_err());
        assert_eq!(lookup(&["a".into()], &[Vec::new()]), Ok(()));
        assert!(lookup(&["a".into()], &[]).is_err());
    }

    proptest! {
        #[test]
        fn what_passes_rises_within_each_topic(ids in prop::collection::vec((1u8..4, 0u64..12), 0..12)) {
            let answer: Vec<_> = ids.iter().map(|(of, id)| envelope(*of, *id)).collect();
            if let Ok(usable) = query(&asked(), 4, answer) {
                for (topic, after) in asked() {
                    let of: Vec<_> = usable.iter().filter(|e| e.topic == topic).map(|e| e.sequence_id).collect();
                    prop_assert!(of.len() <= 4 && of.first().is_none_or(|id| *id > after));
                    prop_assert!(of.windows(2).all(|pair| pair[0] < pair[1]));
                }
                prop_assert!(usable.iter().all(|e| e.topic == topic(1) || e.topic == topic(2)));
            }
        }
    }
}
