//! What is where at the end of a run, for a seed that is replayed.

use dovetail::base::Topic;
use dovetail::mls;
use dovetail::store::rows::{EnvelopeRow, MessageKind};
use dovetail::wire::ClientEnvelope;

use crate::common::dump::Dump;
use crate::common::text_of;
use crate::world::Sim;

impl Sim {
    pub fn tell(&self) {
        for (topic, _) in self.world.delivery.topics() {
            let Topic::Group(group) = topic else { continue };
            println!("{group:?}");
            for one in self.world.delivery.stored(topic) {
                let frame = match ClientEnvelope::decode(&one.payload) {
                    Ok(ClientEnvelope::GroupMessage { data, .. }) => mls::peek(&data).ok(),
                    _ => None,
                };
                let what = frame.map(|frame| format!("{:?} in epoch {}", frame.kind, frame.epoch));
                println!("  {} {}", one.sequence_id.0, what.unwrap_or_default());
            }
        }
        for device in &self.devices {
            println!("{} {:?} revoked {}", device.label, device.installation, device.revoked);
            let dump = Dump::of(&device.store);
            for row in device.groups() {
                let stays = device.stays.borrow();
                println!("  {:?} {:?} epoch {} {:?}", row.id, row.state, row.epoch, stays.get(&row.id));
                println!("    leaving {:?} rolled back {} hold {:?}", row.leaving, row.rolled_back, row.hold);
                let mut rows: Vec<_> = dump.messages().into_values().filter(|m| m.group == row.id).collect();
                rows.sort_by_key(|row| row.sort_key());
                for row in rows.iter().filter(|row| row.kind == MessageKind::Application) {
                    println!("    {} {:?} at {}", text_of(row), row.status, row.sequence_id.0);
                }
                for intent in dump.intents().iter().filter(|intent| intent.group == row.id) {
                    println!("    intent {} {:?}", intent.number, intent.state);
                }
            }
            for kept in dump.rows::<EnvelopeRow>() {
                println!("  {} of {:?}: {:?}", kept.sequence_id.0, kept.topic, kept.state);
            }
        }
    }
}
