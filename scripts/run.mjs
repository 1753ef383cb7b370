// Running commands whose output the user sees.

import { spawn } from "node:child_process";
import { root } from "./env.mjs";

/** Runs a command; resolves to its exit code and everything it printed. */
export function run(command, args, { env = process.env, cwd = root } = {}) {
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    const tee = (stream) => (chunk) => {
      text += chunk;
      stream.write(chunk);
    };
    child.stdout.setEncoding("utf8").on("data", tee(process.stdout));
    child.stderr.setEncoding("utf8").on("data", tee(process.stderr));
    child.on("error", (error) => settle({ code: 1, text: `${text}${error.message}\n` }));
    child.on("close", (code) => settle({ code: code ?? 1, text }));
  });
}
