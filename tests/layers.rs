//! Reads the `use crate::` lines of every module and fails on an arrow that is not in the table of
//! the design: data goes one way, from `base` up to `bindings`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Module, and what it may import of ours.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("wire", &["base"]),
    ("meta", &["base"]),
    ("policy", &["base", "meta"]),
    ("identity", &["base", "wire"]),
    // Of mls, these read plain facts only; a second test holds them to it.
    ("members", &["base", "meta", "wire", "identity", "mls"]),
    ("consent", &["base", "wire"]),
    ("mls", &["base", "meta", "wire"]),
    ("dm", &["base", "meta", "policy", "members", "consent", "mls"]),
    ("commit", &["base", "wire", "meta", "policy", "identity", "members", "consent", "mls", "dm"]),
    ("store", &["base", "consent", "wire"]),
    (
        "engine",
        &[
            "base", "wire", "meta", "policy", "identity", "members", "consent", "mls", "dm", "commit",
            "store", "delivery", "error",
        ],
    ),
    ("delivery", &["base", "wire"]),
    ("error", &["store", "delivery"]),
    (
        "client",
        &["base", "wire", "identity", "members", "consent", "mls", "engine", "store", "delivery", "error"],
    ),
    // The module for archives.
    ("archive", &["base", "wire", "consent", "engine", "store", "error"]),
    // The benchmark's floor.
    ("floor", &["base", "meta", "policy", "members", "commit", "mls"]),
    ("idb", &["store", "base"]),
    (
        "bindings",
        &["base", "wire", "identity", "consent", "engine", "store", "delivery", "client", "idb", "error"],
    ),
];

/// Modules that judge and never touch OpenMLS: of `mls` they see its facts.
const FACTS_ONLY: &[&str] = &["members", "dm", "commit"];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("src is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            // Tests of a module may look anywhere.
            if path.file_name().is_some_and(|name| name != "tests") {
                sources(&path, out);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            out.push(path);
        }
    }
}

/// The code of a file before its inline tests, without comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source file");
    let tests = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(crate) mod tests {"];
    let end = tests.iter().filter_map(|tests| text.find(tests)).min().unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn arrows() -> BTreeMap<String, BTreeSet<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 60, "the sources moved");
    let mut arrows: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for file in files {
        let relative = file.strip_prefix(&root).expect("below src");
        let first = relative.iter().next().expect("a name").to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        for found in code(&file).split("crate::").skip(1) {
            let path: String =
                found.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect();
            let target = path.split("::").next().unwrap_or_default().to_owned();
            arrows.entry(module.clone()).or_default().insert((target, path));
        }
    }
    arrows
}

#[test]
fn imports_follow_the_table() {
    let table: BTreeMap<_, _> = MAY_IMPORT.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, targets) in arrows() {
        if module == "lib" {
            continue;
        }
        let Some(allowed) = table.get(module.as_str()) else {
            wrong.push(format!("{module} is not in the table"));
            continue;
        };
        for (target, path) in targets {
            let known = table.contains_key(target.as_str());
            if known && target != module && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{module} imports {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that are not in the table:\n{}", wrong.join("\n"));
}

#[test]
fn only_mls_knows_openmls_and_rules_see_facts_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let inside = file.starts_with(root.join("mls"));
        assert!(inside || !code(&file).contains("openmls"), "{} names OpenMLS", file.display());
    }
    for (module, targets) in arrows() {
        for (target, path) in targets {
            if FACTS_ONLY.contains(&module.as_str()) && target == "mls" {
                assert!(path.starts_with("mls::facts"), "{module} imports {path}");
            }
        }
    }
}

#[test]
fn no_unwrap_outside_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let test_only = file.to_string_lossy().contains("store/contract");
        for (number, line) in code(&file).lines().enumerate() {
            let bad = [".unwrap()", ".expect(", "todo!(", "unimplemented!("].iter().any(|b| line.contains(b));
            assert!(test_only || !bad, "{}:{}: {}", file.display(), number + 1, line.trim());
        }
    }
}
