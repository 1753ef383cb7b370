// Runs the simulation of groups (tests/sim) over more seeds than the test command does.
//
//   npm run sim -- --seeds 5000 [--from 200]
//   npm run sim -- --seed 17        one seed, with what it did when it fails

import { nativeEnv } from "./env.mjs";
import { run } from "./run.mjs";

const VARIABLES = { "--seeds": "DOVETAIL_SEEDS", "--from": "DOVETAIL_FROM", "--seed": "DOVETAIL_SEED" };

/** The variables that a command line asks for; undefined if it makes no sense. */
function asked(args) {
  const variables = {};
  const words = args.flatMap((word) => word.split("="));
  for (let at = 0; at < words.length; at += 2) {
    const name = VARIABLES[words[at]];
    if (!name || !/^\d+$/.test(words[at + 1] ?? "")) return undefined;
    variables[name] = words[at + 1];
  }
  return variables;
}

const variables = asked(process.argv.slice(2));
if (!variables) {
  console.error("sim: use --seeds N [--from M], or --seed S");
  process.exit(1);
}
// Some optimisation: a build of minutes, and thrice as many seeds in the same time.
const optimised = ["--config", "profile.dev.package.dovetail-mls.opt-level=1"];
const { code } = await run("cargo", ["test", "--test", "sim", ...optimised], {
  env: { ...nativeEnv(), RUST_BACKTRACE: "0", ...variables },
});
process.exit(code);
