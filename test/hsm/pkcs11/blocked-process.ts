/** A command that asks a token whose library hangs, reports it and ends. */
import { Token } from '../../../src/hsm-devices/pkcs11/token.ts';

const thread = new URL('./blocked-thread.ts', import.meta.url);
const token = new Token({ modulePath: 'none', label: 'blocked', pin: '', limitMs: 100, thread });
await token.check().catch(() => {});
await token.close();
console.log(token.deviceStates()[0]!.lastFailure);
