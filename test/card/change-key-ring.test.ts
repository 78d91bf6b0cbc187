import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StartError } from '../../src/basics/errors.ts';
import { createCardVault } from '../../src/card/card-vault.ts';
import { createKeyRing, KEY_PURPOSES, type KeyPurpose, rotateKeys } from '../../src/card/change-key-ring.ts';
import { readKeyRing } from '../../src/card/key-ring.ts';
import { openLiveKeyRing } from '../../src/card/live-key-ring.ts';
import { eventually } from '../support/eventually.ts';
import { tapwireHere } from '../support/run-here.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-rotate-'));
  path = join(folder, 'keys.json');
  await createKeyRing(path);
});
afterEach(() => rmSync(folder, { recursive: true }));

const DAY_MS = 86_400_000;
const TRANSACTION = '6f1c0a52-7f0e-4a57-9f57-0d9a2b1c8e11';
const CARD = { pan: '4111111111111111', expiry: '3012', original: {} };
const rotate = (purpose: KeyPurpose, nowMs = Date.now()) => rotateKeys(path, purpose, { nowMs, retireAfterMs: DAY_MS });

describe('a rotation', () => {
  test.each(KEY_PURPOSES)('a rotation of %s changes only the keys of that purpose', async (purpose) => {
    const before = JSON.parse(readFileSync(path, 'utf8'));
    await rotate(purpose);
    const after = JSON.parse(readFileSync(path, 'utf8'));
    const changed = Object.keys(before).filter((list) => !isDeepStrictEqual(before[list], after[list]));
    expect(changed, purpose).toEqual([purpose.replace(/-(.)/, (_, letter: string) => letter.toUpperCase())]);
    const [list] = changed;
    expect(after[list!]).toHaveLength(before[list!].length * 2);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('a rotation of card-data gives the old keys an end and does not change an earlier end', async () => {
    const startedAtMs = Date.now();
    const first = await rotate('card-data', startedAtMs);
    const second = await rotate('card-data', startedAtMs + 1_000);
    const { cardData } = JSON.parse(readFileSync(path, 'utf8'));
    expect(
      cardData.map(({ retireAt }: { retireAt?: string }) => retireAt && Date.parse(retireAt) - startedAtMs),
    ).toEqual([undefined, undefined, DAY_MS + 1_000, DAY_MS + 1_000, DAY_MS, DAY_MS]);
    expect(second.kept).toEqual([...first.added, ...first.kept]);
    const third = await rotate('card-data', startedAtMs + 2 * DAY_MS);
    expect(third).toMatchObject({ kept: second.added, dropped: second.kept });
  });

  test.each(KEY_PURPOSES)('two hosts open what the other makes at every step of a rotation of %s', async (purpose) => {
    const [nowMs, retireAfterMs] = [Date.now(), DAY_MS];
    const other = join(folder, 'of-the-other-host.json');
    const copy = () => copyFileSync(path, other);
    const areAlike = async () => {
      const [one, two] = [await readKeyRing(path), await readKeyRing(other)];
      for (const [makes, opens] of [
        [one, two],
        [two, one],
      ] as const) {
        for (const { kid } of makes.publicCardDataKeys(nowMs).keys) expect(opens.cardDataKey(kid)).toBeDefined();
        for (const list of ['panSealing', 'panHash', 'blobHmac', 'webhookSealing'] as const)
          expect(opens[list].find(makes[list].current.id)).toBeDefined();
        expect(opens.tokenKey(makes.tokenSigning[0]!.kid)).toBeDefined();
      }
    };
    copy();
    const { added } = await rotateKeys(path, purpose, { nowMs, retireAfterMs, step: 'prepare' });
    await areAlike();
    copy();
    const activated = await rotateKeys(path, purpose, { nowMs, retireAfterMs, step: 'activate' });
    expect(activated.added).toEqual(added);
    await areAlike();
    copy();
    await areAlike();
    const list: { kid?: string; id?: string; isPrepared?: boolean }[] = Object.values(
      JSON.parse(readFileSync(path, 'utf8')) as Record<string, []>,
    ).flat();
    expect(list.filter(({ kid, id }) => added.includes((kid ?? id)!)).map(({ isPrepared }) => isPrepared)).toEqual(
      added.map(() => undefined),
    );
    await expect(rotateKeys(path, purpose, { nowMs, retireAfterMs, step: 'activate' })).rejects.toThrow('no prepared');
  });

  test('a rotation at once would leave the other host without the key, and a prepared key has no end', async () => {
    const other = await readKeyRing(path);
    await rotateKeys(path, 'card-data', { nowMs: Date.now(), retireAfterMs: DAY_MS, step: 'prepare' });
    const { added } = await rotate('card-data');
    expect(other.cardDataKey(added[0]!)).toBeUndefined();
    const { cardData } = JSON.parse(readFileSync(path, 'utf8'));
    const prepared = cardData.filter(({ isPrepared }: { isPrepared?: true }) => isPrepared);
    expect(prepared).toHaveLength(2);
    expect(prepared.every(({ retireAt }: { retireAt?: string }) => retireAt === undefined)).toBe(true);
  });

  test('a rotation of pan-sealing keeps cards readable that were sealed with the old key', async () => {
    const sealed = createCardVault(await readKeyRing(path)).seal(TRANSACTION, CARD);
    await rotate('pan-sealing');
    const vault = createCardVault(await readKeyRing(path));
    expect(vault.open(TRANSACTION, sealed)).toEqual(CARD);
    expect(vault.seal(TRANSACTION, CARD).subarray(0, 16)).not.toEqual(sealed.subarray(0, 16));
  });

  test('is refused during another one, and if the file is full; the file is unchanged', async () => {
    writeFileSync(`${path}.lock`, '');
    await expect(rotate('pan-hash')).rejects.toThrow(StartError);
    rmSync(`${path}.lock`);
    for (let keys = 1; keys < 16; keys++) await rotate('pan-hash');
    const full = readFileSync(path, 'utf8');
    await expect(rotate('pan-hash')).rejects.toThrow(/is full/);
    expect(readFileSync(path, 'utf8')).toBe(full);
    await rotate('blob-hmac'); // no lock was left
  });
});

test('a rotation waits for another change of the file that is about to end', async () => {
  writeFileSync(`${path}.lock`, '');
  const rotating = rotate('pan-hash');
  setTimeout(() => rmSync(`${path}.lock`), 200);
  expect((await rotating).added).toHaveLength(1);
});

describe('a live ring', () => {
  test('seals with the new key after a rotation, and opens what was sealed with the old one', async () => {
    const ring = await openLiveKeyRing(path, () => {});
    const vault = createCardVault(ring);
    const sealed = vault.seal(TRANSACTION, CARD);
    const { added } = await rotate('pan-sealing');
    await eventually(() => expect(ring.panSealing.current.id).toBe(added[0]));
    expect(vault.open(TRANSACTION, sealed)).toEqual(CARD);
    ring.close();
  });

  test('immediately opens what another process sealed with a newer key', async () => {
    const ring = await openLiveKeyRing(path, () => {});
    await rotate('pan-sealing');
    const other = createCardVault(await readKeyRing(path));
    expect(createCardVault(ring).open(TRANSACTION, other.seal(TRANSACTION, CARD))).toEqual(CARD);
    ring.close();
  });

  test('immediately verifies what another process signed with a newer key', async () => {
    const ring = await openLiveKeyRing(path, () => {});
    const [before] = ring.tokenSigning;
    const { added } = await rotate('token-signing');
    expect(ring.tokenKey(added[0]!)).toMatchObject({ kid: added[0] });
    expect(ring.tokenKey(before!.kid)).toMatchObject({ kid: before!.kid });
    ring.close();
  });

  test('keeps its keys if the file is invalid, and reports it', async () => {
    const errors: unknown[] = [];
    const ring = await openLiveKeyRing(path, (error) => errors.push(error));
    const { id } = ring.panHash.current;
    writeFileSync(path, '{');
    expect(ring.panHash.find('gone')).toBeUndefined();
    expect(errors).toMatchObject([{ code: 'BAD_CONFIG' }]);
    expect(ring.panHash.find(id)).toBeDefined();
    ring.close();
  });
});

describe('tapwire keys rotate', () => {
  const run = (...args: string[]) => tapwireHere(['keys', 'rotate', ...args], { TAPWIRE_KEYS_FILE: path });

  test('names the keys and never shows one', async () => {
    const { exitCode, output } = await run('--purpose', 'token-signing');
    const { tokenSigning } = JSON.parse(readFileSync(path, 'utf8'));
    expect(exitCode, output).toBe(0);
    expect(output).toBe(`current: ${tokenSigning[0].kid}\nkept:    ${tokenSigning[1].kid}\n`);
  });

  test.each([
    [['--purpose', 'everything']],
    [[]],
    [['--purpose', 'card-data', '--retire-after-days', 'x']],
  ])('%j is refused with a sentence', async (args) => {
    expect(await run(...args)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^tapwire: --/) });
  });
});
