#!/usr/bin/env node
// Any Node can read this file. Node before 22.18 cannot read tapwire.ts, and would only show a stack trace.
const NEEDED = 24;

if (Number.parseInt(process.versions.node, 10) >= NEEDED) await import('./tapwire.ts');
else {
  console.error(`tapwire: Tapwire runs on Node ${NEEDED} or newer; this is Node ${process.versions.node}.
In the folder of the repository, npm run -s tapwire -- COMMAND uses the Node that npm ci has installed there.`);
  process.exitCode = 1;
}
