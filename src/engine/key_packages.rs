//! The own key package: what is due, from rows and clock (facts 3.1, 12.3, JOIN-074).
//!
//! One key package is on offer. A new one is made once a Welcome made with it was joined, and after
//! 30 days; it is durable before it leaves and published until the service has it. From then on the
//! older ones are superseded, and their private keys are destroyed a day later. The offer's row has
//! a revision, so of two tabs that find it due, one makes the next.

use crate::base::Nanos;
use crate::engine::state::Me;
use crate::engine::unit::Unit;
use crate::error::Error;
use crate::mls::{self, Scratch};
use crate::store::Table;
use crate::store::rows::{MlsGlobalRow, OfferRow, Row};

/// A day, in nanoseconds.
pub const DAY_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
/// A key package is replaced after so long, used or not.
const ROTATE_NS: i64 = 30 * DAY_NS;
/// Private keys of a superseded key package are destroyed after so long.
const RETIRE_NS: i64 = DAY_NS;

/// The offer with its revision, and the private keys of every key package not destroyed.
pub struct KeyPackages {
    /// The one on offer; `None` before the first is made.
    pub offer: Option<(OfferRow, u64)>,
    /// Private keys: of the offer, and superseded ones.
    pub keys: Vec<MlsGlobalRow>,
}

/// What is to be done about key packages at `now`.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    /// The offer stands.
    Nothing,
    /// It is made and not accepted by the service yet.
    Publish,
    /// A new one is to be made.
    Make,
}

impl KeyPackages {
    /// What the offer needs.
    pub fn due(&self, now: Nanos) -> Due {
        let Some((offer, _)) = &self.offer else { return Due::Make };
        let held = self.keys.iter().any(|keys| keys.id == offer.id);
        if offer.spent || !held || older(offer.made_ns, ROTATE_NS, now) {
            return Due::Make;
        }
        if offer.published { Due::Nothing } else { Due::Publish }
    }

    /// Destroys what is superseded long enough and makes what is due: the offer to be published.
    pub fn tend(self, me: &Me, unit: &mut Unit) -> Result<Option<OfferRow>, Error> {
        let now = unit.now;
        for keys in &self.keys {
            if keys.retire_ns.is_some_and(|at| at <= now) {
                unit.changes.delete(Table::Mls, keys.key());
            }
        }
        match self.due(now) {
            Due::Nothing => Ok(None),
            Due::Publish => Ok(self.offer.map(|(offer, _)| offer)),
            Due::Make => make(me, self.offer.map_or(0, |(_, revision)| revision), unit).map(Some),
        }
    }

    /// The service has stored the key package `id`: the others are superseded.
    pub fn accepted(self, id: &[u8], unit: &mut Unit) {
        let Some((mut offer, revision)) = self.offer else { return };
        if offer.id != id || offer.published {
            return;
        }
        offer.published = true;
        unit.changes.put_checked(&offer, revision);
        let retire = Nanos(unit.now.0.saturating_add(RETIRE_NS));
        for mut keys in self.keys {
            if keys.id != id && keys.retire_ns.is_none() {
                keys.retire_ns = Some(retire);
                unit.changes.put(&keys);
            }
        }
        unit.changes.strict();
    }

    /// A Welcome sent to `init_key` was joined: if that is the offer, it is spent.
    pub fn joined(self, init_key: &[u8], unit: &mut Unit) {
        self.spend(|offer| offer.init_key == init_key, unit);
    }

    /// A Welcome came for a key package not held. Others may find one from before this database was
    /// restored: after a day the offer is made anew, so that they find one that is held.
    pub fn doubted(self, unit: &mut Unit) {
        let now = unit.now;
        self.spend(|offer| older(offer.made_ns, DAY_NS, now), unit);
    }

    fn spend(self, is_spent: impl Fn(&OfferRow) -> bool, unit: &mut Unit) {
        if let Some((mut offer, revision)) = self.offer.filter(|(offer, _)| !offer.spent && is_spent(offer)) {
            offer.spent = true;
            unit.changes.put_checked(&offer, revision);
        }
    }
}

fn older(since: Nanos, than_ns: i64, now: Nanos) -> bool {
    now.0.saturating_sub(since.0) >= than_ns
}

/// Makes the next offer. The keys of the one before stay until this one is accepted.
fn make(me: &Me, revision: u64, unit: &mut Unit) -> Result<OfferRow, Error> {
    let mut scratch = Scratch::new();
    let made = mls::make_key_package(&scratch, &me.keys, me.inbox, unit.now).map_err(Error::bug)?;
    for change in scratch.take_changes().map_err(Error::bug)?.globals {
        let bytes = change.bytes.unwrap_or_default();
        unit.changes.put(&MlsGlobalRow { id: change.id, bytes, retire_ns: None });
    }
    let offer = OfferRow {
        id: made.id,
        init_key: made.init_key,
        package: made.bytes,
        made_ns: unit.now,
        published: false,
        spent: false,
    };
    unit.changes.put_checked(&offer, revision);
    unit.changes.strict();
    Ok(offer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Write;

    const MADE: i64 = 100 * DAY_NS;

    fn keys(id: u8, retire_ns: Option<i64>) -> MlsGlobalRow {
        MlsGlobalRow { id: vec![id], bytes: vec![id], retire_ns: retire_ns.map(Nanos) }
    }

    fn offer(published: bool, spent: bool) -> OfferRow {
        let (id, init_key, package, made_ns) = (vec![1], vec![11], vec![21], Nanos(MADE));
        OfferRow { id, init_key, package, made_ns, published, spent }
    }

    fn state(published: bool, spent: bool) -> KeyPackages {
        KeyPackages { offer: Some((offer(published, spent), 5)), keys: vec![keys(1, None), keys(2, None)] }
    }

    fn unit(now: i64) -> Unit {
        Unit::new(Nanos(now), Default::default(), 0)
    }

    fn due(state: &KeyPackages, now: i64) -> Due {
        state.due(Nanos(now))
    }

    /// The offer a unit writes, which must be the one with this revision before.
    fn written(unit: &Unit, revision: u64) -> Option<OfferRow> {
        let mut writes = unit.changes.writes.iter();
        let body = writes.find_map(|write| match write {
            Write::Put { table: Table::Meta, body, .. } => Some(body),
            _ => None,
        })?;
        assert!(unit.changes.checks.iter().any(|check| check.revision == revision));
        Some(OfferRow::decode(body).unwrap())
    }

    #[test]
    fn join_074_what_is_due_follows_from_rows_and_clock() {
        assert_eq!(due(&KeyPackages { offer: None, keys: vec![keys(1, None)] }, MADE), Due::Make);
        assert_eq!(due(&state(true, false), MADE), Due::Nothing);
        assert_eq!(due(&state(false, false), MADE), Due::Publish);
        assert_eq!(due(&state(true, true), MADE), Due::Make);
        assert_eq!(due(&state(false, true), MADE), Due::Make);
        for published in [true, false] {
            assert_ne!(due(&state(published, false), MADE + ROTATE_NS - 1), Due::Make);
            assert_eq!(due(&state(published, false), MADE + ROTATE_NS), Due::Make);
        }
        // A clock that was set back is no reason.
        assert_eq!(due(&state(true, false), 0), Due::Nothing);
        // Its keys are gone: nobody could be joined by it.
        let lost = KeyPackages { keys: vec![keys(2, None)], ..state(true, false) };
        assert_eq!(due(&lost, MADE), Due::Make);
    }

    #[test]
    fn join_074_others_are_superseded_once_the_offer_is_accepted_and_only_then() {
        let mut unit = unit(MADE + 7);
        let mut before = state(false, false);
        before.keys.push(keys(3, Some(9)));
        before.accepted(&[1], &mut unit);
        assert!(written(&unit, 5).unwrap().published);
        let retired: Vec<MlsGlobalRow> = unit
            .changes
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::Put { table: Table::Mls, body, .. } => MlsGlobalRow::decode(body).ok(),
                _ => None,
            })
            .collect();
        assert!(retired == [keys(2, Some(MADE + 7 + RETIRE_NS))], "one that is superseded stays as it is");
        for (state, id) in [(state(true, false), 1), (state(false, false), 2)] {
            let mut unit = self::unit(MADE);
            state.accepted(&[id], &mut unit);
            assert!(unit.changes.is_empty());
        }
    }

    #[test]
    fn join_074_only_the_offer_is_spent_by_a_join() {
        let mut unit = unit(MADE);
        state(true, false).joined(&[11], &mut unit);
        assert!(written(&unit, 5).unwrap().spent);
        for (state, key) in [(state(true, false), 12), (state(true, true), 11)] {
            let mut unit = self::unit(MADE);
            state.joined(&[key], &mut unit);
            assert!(unit.changes.is_empty());
        }
    }

    #[test]
    fn a_welcome_for_an_unknown_key_package_renews_an_offer_older_than_a_day() {
        let mut young = unit(MADE + DAY_NS - 1);
        state(true, false).doubted(&mut young);
        assert!(young.changes.is_empty());
        let mut old = unit(MADE + DAY_NS);
        state(true, false).doubted(&mut old);
        assert!(written(&old, 5).unwrap().spent);
    }
}
