// The types an app sees, by the compiler.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the surface has the types that apps rely on", () => {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", join(root, "tests", "types")], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
});
