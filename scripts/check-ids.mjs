// Checks that each requirement id has a test that carries it in its name.
//
//   node scripts/check-ids.mjs
//
// Rust: `fn dms_013_…` under a test attribute. JavaScript: `test("DMS-013 …")`.
// Ids in tests/later.txt may lack one, and must be taken out when they have one.

import { readFileSync, readdirSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { root } from "./env.mjs";

const lines = (file) => readFileSync(join(root, file), "utf8").split("\n").map((line) => line.trim());

/** All files with one of the extensions under a folder of the checkout. */
function filesUnder(folder, extensions) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && extensions.includes(extname(entry.name)))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .filter((file) => !file.includes("node_modules"));
}

/** Ids in the names of a Rust file's tests; an ignored test does not count. */
function rustIds(file, prefixes) {
  const found = [];
  let attributes = "";
  for (const line of lines(file)) {
    if (line.startsWith("#[") || line.startsWith("//")) {
      if (line.startsWith("#[")) attributes += line;
      continue;
    }
    const name = /^(?:pub )?(?:async )?fn (\w+)/.exec(line)?.[1];
    if (name && /#\[(?:\w+::)*(?:wasm_bindgen_)?test\b/.test(attributes) && !attributes.includes("#[ignore")) {
      for (const [, prefix, number] of name.matchAll(/(?<![a-z0-9])([a-z]+)_(\d{3})(?!\d)/g)) {
        if (prefixes.has(prefix.toUpperCase())) found.push(`${prefix.toUpperCase()}-${number}`);
      }
    }
    attributes = "";
  }
  return found;
}

/** Ids in the names of a JavaScript file's tests; `.skip` and `.todo` do not count. */
function scriptIds(file, prefixes) {
  const text = readFileSync(join(root, file), "utf8").replace(/^\s*\/\/.*$/gm, "");
  const found = [];
  for (const [, , name] of text.matchAll(/\b(?:test|it)\(\s*(["'`])(.*?)\1/g)) {
    for (const [id, prefix] of name.matchAll(/\b([A-Z]+)-\d{3}\b/g)) {
      if (prefixes.has(prefix)) found.push(id);
    }
  }
  return found;
}

const titles = new Map(lines("tests/requirements.tsv").filter(Boolean).map((line) => line.split("\t")));
const prefixes = new Set([...titles.keys()].map((id) => id.split("-")[0]));
const later = new Set(lines("tests/later.txt").filter((line) => line && !line.startsWith("#")));

/** Id → files with a test for it. */
const tested = new Map();
const note = (file) => (id) => tested.set(id, (tested.get(id) ?? new Set()).add(file));
for (const file of [...filesUnder("src", [".rs"]), ...filesUnder("tests", [".rs"])]) rustIds(file, prefixes).forEach(note(file));
for (const file of filesUnder("tests", [".mjs", ".js", ".ts"])) scriptIds(file, prefixes).forEach(note(file));

const problems = [
  ...[...titles].filter(([id]) => !tested.has(id) && !later.has(id)).map(([id, title]) => `${id} has no test: ${title}`),
  ...[...tested].filter(([id]) => !titles.has(id)).map(([id, files]) => `${id} is no requirement: ${[...files].join(", ")}`),
  ...[...later].filter((id) => !titles.has(id)).map((id) => `${id} in tests/later.txt is no requirement`),
  ...[...later].filter((id) => tested.has(id)).map((id) => `${id} has a test: take it out of tests/later.txt`),
];
for (const problem of problems) console.error(`check-ids: ${problem}`);
const covered = [...titles.keys()].filter((id) => tested.has(id)).length;
console.log(`check-ids: ${covered} of ${titles.size} requirements have tests, ${later.size} are for later, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
