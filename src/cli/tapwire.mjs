#!/usr/bin/env node
// Any Node can read this file. Node before 22.18 cannot read tapwire.ts, and would only show a stack trace.
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;

// Node runs no TypeScript inside node_modules, so the package that others install has JavaScript beside it.
const program = new URL(`./tapwire.${import.meta.url.includes('/node_modules/') ? 'js' : 'ts'}`, import.meta.url);

// Loading compiled code takes half as long as compiling it. It is kept beside the program, for this process and those that it
// starts, because Node does not check who wrote it: in a folder for temporary files, another user of the machine could. Without
// the right to write here, Node compiles again.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url));

if (Number.parseInt(process.versions.node, 10) >= NEEDED) {
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  await import(program);
} else {
  const node = installedNode();
  if (node !== undefined) runWith(node);
  else {
    console.error(`tapwire: Tapwire runs on Node ${NEEDED} or newer; this is Node ${process.versions.node}.`);
    process.exitCode = 1;
  }
}

/** The Node that was installed together with Tapwire, if there is one. */
function installedNode() {
  try {
    return createRequire(import.meta.url).resolve('node/bin/node');
  } catch {
    return undefined;
  }
}

function runWith(node) {
  const child = spawn(node, [fileURLToPath(program), ...process.argv.slice(2)], { stdio: 'inherit' });
  // In a terminal, Ctrl-C reaches both processes by itself.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal === 'SIGINT' ? 2 : 15)));
}
