//! Pins the stored form of every row type, and how strictly rows are decoded.
//!
//! `row_formats.txt` has one line for each example: name, table, key, index values, body. A line
//! that differs means databases already written no longer read the same: give the row a new format
//! byte and a migration before changing the line.

use proptest::prelude::*;

use super::examples::{Example, GROUP, LATER, examples, message};
use crate::base::{MessageId, Nanos, ThreadId};
use crate::consent::State;
use crate::store::rows::*;
use crate::store::{StoreError, Table};

const PINNED: &str = include_str!("row_formats.txt");

#[test]
fn every_row_keeps_its_stored_form() {
    let pinned: Vec<&str> = PINNED.lines().filter(|line| !line.starts_with('#')).collect();
    let found: Vec<String> = examples().into_iter().map(|example| example.line).collect();
    let changed: Vec<&str> = found.iter().map(String::as_str).filter(|line| !pinned.contains(line)).collect();
    assert!(changed.is_empty(), "stored forms that are not pinned:\n{}", changed.join("\n"));
    assert_eq!(pinned.len(), found.len(), "a pinned form has no example any more");
}

#[test]
fn every_table_has_an_example() {
    let examples = examples();
    for table in Table::ALL {
        assert!(examples.iter().any(|example| example.table == table), "{}", table.name());
    }
}

#[test]
fn a_pinned_row_decodes_to_what_was_encoded() {
    for example in examples() {
        assert_eq!((example.recode)(&example.body).as_ref(), Ok(&example.body), "{}", example.line);
    }
}

#[test]
fn a_body_cut_short_lengthened_or_of_another_format_is_corrupt() {
    let corrupt = |example: &Example, body: &[u8]| {
        let result = (example.recode)(body);
        assert!(matches!(result, Err(StoreError::Corrupt(_))), "{}: {result:?}", example.line);
    };
    for example in examples() {
        for length in 0..example.body.len() {
            corrupt(&example, &example.body[..length]);
        }
        corrupt(&example, &[example.body.as_slice(), b"\0"].concat());
        for format in [0, 2, 255] {
            let mut body = example.body.clone();
            body[0] = format;
            corrupt(&example, &body);
        }
    }
}

#[test]
fn the_newest_line_of_a_list_has_the_least_key() {
    let key = |sort| ListingRow::key_of(State::Allowed, Nanos(sort), ThreadId::Group(GROUP));
    assert!(key(2) < key(1) && key(1) < key(0));
    assert_eq!(key(-5), key(0));
    assert!(key(0) < ListingRow::key_of(State::Denied, Nanos(9), ThreadId::Group(GROUP)));
}

#[test]
fn a_message_not_read_back_sorts_behind_every_published_one() {
    let published = message(MessageKind::Application, MessageStatus::Published);
    let mut waiting = message(MessageKind::Application, MessageStatus::Unpublished);
    waiting.sent_ns = Nanos(0);
    assert!(published.sort_key() < waiting.sort_key());
    let mut second = waiting.clone();
    second.inserted_ns = Nanos(LATER.0 + 1);
    second.id = MessageId([0; 32]);
    assert!(waiting.sort_key() < second.sort_key());
}

proptest! {
    #[test]
    fn decoding_any_bytes_answers(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let known = [&[1], body.as_slice()].concat();
        for example in examples() {
            // What decodes is encoded in one form only, or differs in the length of an integer.
            if let Ok(again) = (example.recode)(&known) {
                prop_assert_eq!((example.recode)(&again), Ok(again));
            }
            let _ = (example.recode)(&body);
        }
    }

    #[test]
    fn damaged_rows_answer(flip in any::<prop::sample::Index>(), bit in 0u8..8) {
        for example in examples() {
            let mut body = example.body.clone();
            let at = flip.index(body.len());
            body[at] ^= 1 << bit;
            let _ = (example.recode)(&body);
        }
    }
}
