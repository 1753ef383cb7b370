//! The loop around a decoder, and what it does to samples.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use dovetail::base::sha256;

use crate::common::chance::Chance;

/// How long a decoder is tried when nothing else is asked for.
const DEFAULT: Duration = Duration::from_millis(700);
/// An input that takes longer than this is as bad as a panic.
const SLOW: Duration = Duration::from_secs(5);
/// Bytes that are the edge of something.
const EDGES: [u8; 12] = [0, 1, 2, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xbf, 0xc0, 0xfe, 0xff];

/// A few random bytes.
fn random(chance: &mut Chance, most: usize) -> Vec<u8> {
    let count = chance.below(most) + 1;
    (0..count).map(|_| chance.next() as u8).collect()
}

/// Tries a decoder on kept cases, on the samples, and on mutations of them.
pub fn fuzz(name: &str, samples: &[Vec<u8>], mut decode: impl FnMut(&[u8])) {
    assert!(!samples.is_empty(), "{name} has no samples");
    for path in kept(name) {
        decode(&std::fs::read(path).expect("a case"));
    }
    samples.iter().for_each(|sample| decode(sample));
    decode(&[]);
    let (seed, time) = asked(name);
    let mut chance = Chance(seed);
    let end = Instant::now() + time;
    let mut tried = 0u64;
    while Instant::now() < end {
        for _ in 0..16 {
            let input = mutated(samples, &mut chance);
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| decode(&input)));
            let slow = begun.elapsed() > SLOW;
            if outcome.is_err() || slow {
                let path = keep(name, &input);
                eprintln!("{name}: failed after {tried} inputs of seed {seed}, kept as {}", path.display());
            }
            outcome.unwrap_or_else(|panic| resume_unwind(panic));
            assert!(!slow, "{name}: too slow");
            tried += 1;
        }
    }
    println!("{name}: {tried} inputs of seed {seed}");
}

fn asked(name: &str) -> (u64, Duration) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let own = u64::from_le_bytes(sha256(name.as_bytes())[..8].try_into().expect("8 bytes"));
    let time = variable("DOVETAIL_FUZZ_SECONDS");
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    let seed = match (variable("DOVETAIL_FUZZ_SEED"), time) {
        (Some(seed), _) => seed,
        (None, Some(_)) => now() ^ own,
        (None, None) => own,
    };
    (seed, time.map_or(DEFAULT, Duration::from_secs))
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_cases").join(name)
}

fn kept(name: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder(name)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn keep(name: &str, input: &[u8]) -> PathBuf {
    let path = folder(name).join(hex::encode(&sha256(input)[..8]));
    std::fs::create_dir_all(folder(name)).expect("a folder");
    std::fs::write(&path, input).expect("written");
    path
}

/// A sample with one to eight things done to it.
fn mutated(samples: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = samples[chance.below(samples.len())].clone();
    for _ in 0..=chance.below(8) {
        mutate(&mut bytes, samples, chance);
    }
    bytes.truncate(1 << 20);
    bytes
}

fn mutate(bytes: &mut Vec<u8>, samples: &[Vec<u8>], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    let until = (at + 1 + chance.below(24)).min(bytes.len());
    match chance.below(9) {
        _ if bytes.is_empty() => *bytes = random(chance, 40),
        0 => bytes[at] ^= 1 << chance.below(8),
        1 => bytes[at] = EDGES[chance.below(EDGES.len())],
        2 => bytes.truncate(at),
        3 => drop(bytes.splice(at..at, random(chance, 24))),
        4 => drop(bytes.drain(at..until)),
        5 => {
            let again = bytes[at..until].to_vec();
            drop(bytes.splice(at..at, again));
        }
        // A length a little off, or far.
        6 => bytes[at] = bytes[at].wrapping_add(chance.below(9) as u8).wrapping_sub(4),
        7 => {
            let length: &[u8] = match chance.below(5) {
                0 => &[0x7f, 0xff],
                1 => &[0x80, 0, 0x40, 0],
                2 => &[0xbf, 0xff, 0xff, 0xff],
                3 => &[0xff; 8],
                _ => &[0xff, 0xff, 0xff, 0xff, 0x0f],
            };
            let end = (at + length.len()).min(bytes.len());
            drop(bytes.splice(at..end, length.iter().copied()));
        }
        _ => {
            let other = &samples[chance.below(samples.len())];
            let from = chance.below(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
    }
}
