//! Version precedence of the floor (GMOD-027, SemVer 2.0.0 section 11).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A semantic version that compares by precedence: pre-releases count, build metadata does not.
#[derive(Clone, Debug)]
pub struct Version(semver::Version);

impl FromStr for Version {
    type Err = semver::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn gmod_027_pre_releases_order_below_the_release() {
        let ordered =
            ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"];
        assert!(ordered.windows(2).all(|w| v(w[0]) < v(w[1])));
    }

    #[test]
    fn gmod_027_build_metadata_is_ignored() {
        assert_eq!(v("1.2.3+a"), v("1.2.3+b"));
        assert!("1.2".parse::<Version>().is_err());
    }
}
