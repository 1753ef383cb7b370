//! Messages that disappear: off the disk once their time is up (META-050, META-051). Until then,
//! and should nobody come to it, every read leaves them out by the clock.

use crate::engine::event::Event;
use crate::engine::unit::Unit;
use crate::store::Table;
use crate::store::rows::{AnnotationRow, MessageRow, Row};
use crate::wire::EncodedContent;
use crate::wire::about;

/// Removes messages whose time is up, and `hanging`, what was said about them.
///
/// The unit tells of each, so it must be the only one that removes them.
pub fn expire(due: Vec<MessageRow>, hanging: &[MessageRow], unit: &mut Unit) {
    unit.alone();
    for row in due.iter().chain(hanging) {
        unit.changes.delete(Table::Messages, row.key());
        unit.changes.delete_prefix(Table::Annotations, &AnnotationRow::target_prefix(row.id));
        let content = EncodedContent::decode(&row.content).ok();
        if let Some(target) = content.as_ref().and_then(about::target) {
            let own = AnnotationRow { target, message: row.id, by_super_admin: false };
            unit.changes.delete(Table::Annotations, own.key());
        }
    }
    for row in due {
        let MessageRow { id, group, thread, .. } = row;
        unit.events.push(Event::MessageExpired { id, group, thread });
        unit.events.push(Event::Gone { row: Box::new(row) });
    }
}
