/** A command that asks a token whose library hangs, reports it and ends. Its argument: a path that does not exist. */
import { existsSync } from 'node:fs';
import { Token } from '../../../src/hsm-devices/pkcs11/token.ts';

const thread = new URL('./blocked-thread.ts', import.meta.url);
const blockedPath = process.argv[2]!;
const token = new Token({ modulePath: blockedPath, label: 'blocked', pin: '', limitMs: 100, thread });
const checked = token.check().catch(() => {});
// Before the thread is blocked, `terminate` ends it. The limit cannot pass meanwhile, because this does not yield.
while (!existsSync(blockedPath)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
await checked;
await token.close();
console.log(token.deviceStates()[0]!.lastFailure);
