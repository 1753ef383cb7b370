//! The protocol-version floor (GMOD-022, 025, 026, 027).

use super::verdict::{Check, Verdict};
use crate::base::Version;
use crate::meta::Dictionary;
use crate::mls::facts::{AppDataOp, RawDictionary};

/// Pauses when the dictionary's floor is above `client`; a group in this state applies nothing and
/// publishes nothing (GMOD-025). A malformed floor never pauses (GMOD-027).
pub fn pause(dictionary: &RawDictionary, client: &Version) -> Option<Verdict> {
    Dictionary::new(dictionary)
        .floor()
        .filter(|floor| floor > client)
        .map(|floor| Verdict::Paused { floor: floor.to_string() })
}

/// A single proposal never lowers or removes the committed floor (GMOD-026).
///
/// Each proposal is compared with the committed floor, also when an earlier one of the same
/// commit raises it further.
pub(super) fn only_rises(before: &RawDictionary, op: &AppDataOp) -> Check {
    let Some(committed) = Dictionary::new(before).floor() else { return Ok(()) };
    let proposed = match op {
        AppDataOp::Update(value) => std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
        AppDataOp::Remove => None,
    };
    if proposed.is_some_and(|version: Version| version >= committed) {
        return Ok(());
    }
    Err(Verdict::rejected("GMOD-026", format!("a proposal takes the floor below {committed}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::component::MIN_SUPPORTED_PROTOCOL_VERSION;

    fn v(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn floor(text: &str) -> RawDictionary {
        RawDictionary::from([(MIN_SUPPORTED_PROTOCOL_VERSION, text.as_bytes().to_vec())])
    }

    fn set(text: &str) -> AppDataOp {
        AppDataOp::Update(text.as_bytes().to_vec())
    }

    fn refused(before: &str, op: &AppDataOp) -> bool {
        match only_rises(&floor(before), op) {
            Ok(()) => false,
            Err(Verdict::Rejected { id, .. }) => id == "GMOD-026",
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn gmod_025_a_floor_above_the_client_pauses() {
        assert!(pause(&floor("2.0.0"), &v("1.9.9")).is_some());
        assert_eq!(pause(&floor("2.0.0"), &v("2.0.0")), None);
        assert_eq!(pause(&floor("2.0.0"), &v("2.0.1")), None);
        assert_eq!(pause(&RawDictionary::new(), &v("0.0.1")), None);
    }

    #[test]
    fn gmod_027_a_pre_release_is_below_its_release() {
        assert!(pause(&floor("2.0.0"), &v("2.0.0-rc.1")).is_some());
        assert_eq!(pause(&floor("2.0.0-rc.1"), &v("2.0.0")), None);
        assert_eq!(pause(&floor("2.0.0+build.9"), &v("2.0.0")), None);
    }

    #[test]
    fn gmod_027_a_malformed_committed_floor_does_not_pause() {
        for bad in ["", "99", "v99.0.0", "99.0"] {
            assert_eq!(pause(&floor(bad), &v("1.0.0")), None, "{bad}");
        }
        let binary = RawDictionary::from([(MIN_SUPPORTED_PROTOCOL_VERSION, vec![0xff])]);
        assert_eq!(pause(&binary, &v("1.0.0")), None);
    }

    #[test]
    fn gmod_026_the_floor_may_rise_or_stay() {
        for to in ["1.2.0", "1.2.0+other", "1.2.1", "2.0.0-dev"] {
            assert!(!refused("1.2.0", &set(to)), "{to}");
        }
    }

    #[test]
    fn gmod_026_a_lower_or_removed_floor_is_refused() {
        for to in ["1.1.9", "1.2.0-dev", "", "nonsense"] {
            assert!(refused("1.2.0", &set(to)), "{to}");
        }
        assert!(refused("1.2.0", &AppDataOp::Remove));
    }

    #[test]
    fn gmod_026_without_a_readable_floor_there_is_nothing_to_lower() {
        assert!(!refused("nonsense", &set("0.0.1")));
        assert!(!refused("nonsense", &AppDataOp::Remove));
        assert_eq!(only_rises(&RawDictionary::new(), &set("0.0.1")), Ok(()));
    }
}
