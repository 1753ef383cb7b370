//! Messages that disappear: off the disk once their time is up (META-050, META-051). Until then,
//! and should nobody come to it, every read leaves them out by the clock.

use crate::engine::annotations::take_off;
use crate::engine::event::Event;
use crate::engine::unit::Unit;
use crate::store::Table;
use crate::store::rows::{AnnotationRow, MessageRow, Row};

/// Removes messages whose time is up, and `hanging`, what was said about them, with its `about`.
///
/// The unit tells of each, so it must be the only one that removes them.
pub fn expire(due: Vec<MessageRow>, about: &[AnnotationRow], hanging: &[MessageRow], unit: &mut Unit) {
    unit.alone();
    about.iter().for_each(|one| unit.changes.delete(Table::Annotations, one.key()));
    for row in due.iter().chain(hanging) {
        unit.changes.delete(Table::Messages, row.key());
        unit.changes.delete_prefix(Table::Annotations, &AnnotationRow::about(row.id));
        take_off(row, unit);
    }
    for row in due {
        let MessageRow { id, group, thread, .. } = row;
        unit.events.push(Event::MessageExpired { id, group, thread });
        unit.events.push(Event::Gone { row: Box::new(row) });
    }
}
