import { expect, onTestFinished, test } from 'vitest';
import type { Hsm } from '../../src/codecs/crypto/hsm.ts';
import { KeyUseNotes } from '../../src/hsm-devices/key-use-notes.ts';

const DAY_MS = 86_400_000;
const method = { algorithm: 'cbc', padding: 1 } as const;
const mac = (hsm: Hsm, keyId: string) => hsm.mac({ keyId, method, message: new Uint8Array(8), lengthBytes: 4 });

/** Notes whose stored batches the test sees; every use succeeds. */
function notes(store: (keyIds: readonly string[]) => Promise<void>, clock = { nowMs: 0 }) {
  const made = new KeyUseNotes({ store, nowMs: () => clock.nowMs, onError: () => {}, storeEveryMs: 5 });
  onTestFinished(() => made.stop());
  return made.watch({
    mac: async () => new Uint8Array(4),
    translatePin: async () => ({ block: new Uint8Array(8) }),
  } as never);
}

test('each key is stored once a day, and keys of an exchange are not stored', async () => {
  const batches: (readonly string[])[] = [];
  const clock = { nowMs: 5 * DAY_MS };
  const hsm = notes(async (keyIds) => void batches.push(keyIds), clock);
  for (const keyId of ['one', 'one', 'exchanged-1-1-mac-7']) await mac(hsm, keyId);
  await hsm.translatePin({ from: { keyId: 'from' }, to: { keyId: 'to' } } as never);
  await expect.poll(() => batches).toEqual([['one', 'from', 'to']]);
  await mac(hsm, 'one');
  clock.nowMs += DAY_MS;
  const batchesAfterUse = async () => {
    await mac(hsm, 'one');
    return batches;
  };
  await expect.poll(batchesAfterUse).toEqual([['one', 'from', 'to'], ['one']]);
});

test('what could not be stored is stored later, and its failure reaches no caller', async () => {
  const batches: (readonly string[])[] = [];
  const hsm = notes(async (keyIds) => {
    batches.push(keyIds);
    if (batches.length === 1) throw new Error('unavailable');
  });
  await mac(hsm, 'one');
  await expect.poll(() => batches).toEqual([['one'], ['one']]);
});
