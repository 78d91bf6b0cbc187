import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ApiKeyMode,
  type ApiKeyRecord,
  type ApiKeys,
  ApiKeyVerifier,
  createApiKey,
  requireScope,
} from '../../src/auth/api-key.ts';
import { AuthError } from '../../src/basics/errors.ts';
import { anyText } from '../support/any-text.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const WANTED = {
  mode: 'test',
  owner: { acquirerId: 1 },
  scopes: ['transactions:read'],
  name: 'reports',
  expiresAtMs: null,
} as const;

/** Stored keys, a verifier that reads them, and its clock. */
class Bench implements ApiKeys {
  readonly records = new Map<string, ApiKeyRecord>();
  readonly found: string[] = [];
  readonly uses: [string, number][] = [];
  readonly verifier: ApiKeyVerifier;
  nowMs = NOW_MS;

  constructor(mode: ApiKeyMode = 'test') {
    this.verifier = new ApiKeyVerifier({ keys: this, mode, nowMs: () => this.nowMs, monotonicMs: () => this.nowMs });
  }

  /** Stores a new key and returns its text. */
  add(wanted: Partial<ApiKeyRecord> = {}): { text: string; id: string } {
    const { text, record } = createApiKey({ ...WANTED, ...wanted });
    this.records.set(record.id, { ...record, ...wanted });
    return { text: text.reveal(), id: record.id };
  }

  async find(id: string): Promise<ApiKeyRecord | undefined> {
    this.found.push(id);
    return this.records.get(id);
  }

  recordUse(id: string, atMs: number): void {
    this.uses.push([id, atMs]);
  }

  async refusal(text: string): Promise<string> {
    const error = await this.verifier.verify(text).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AuthError);
    expect(error).toMatchObject({
      code: 'API_KEY_INVALID',
      message: 'API_KEY_INVALID',
    });
    return (error as AuthError).check;
  }
}

describe('an API key', () => {
  test('consists of mode, id and secret, prints as nothing, and its secret is not stored', () => {
    const { text, record } = createApiKey(WANTED);
    expect(text.reveal()).toMatch(/^tw_test_[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(createApiKey({ ...WANTED, mode: 'live' }).text.reveal()).toMatch(/^tw_live_/);
    expect(`${text} ${JSON.stringify({ text })}`).toBe('[secret] {"text":"[secret]"}');
    const secret = text.reveal().split('_')[3]!;
    expect(JSON.stringify(record)).not.toContain(secret);
    expect(Buffer.from(record.secretHash).toString('hex')).not.toBe(secret);
    expect(record.secretHash).toHaveLength(32);
  });

  test('grants its owner its scopes', async () => {
    const bench = new Bench();
    const { text, id } = bench.add();
    const principal = await bench.verifier.verify(text);
    expect(principal).toEqual({ keyId: id, owner: { acquirerId: 1 }, scopes: new Set(['transactions:read']) });
    expect(() => requireScope(principal, 'transactions:read')).not.toThrow();
    expect(() => requireScope(principal, 'links:write')).toThrow(new AuthError('FORBIDDEN', 'scope'));
  });

  test('works beside a second one during a rotation', async () => {
    const bench = new Bench();
    const [old, current] = [bench.add(), bench.add()];
    expect(await bench.verifier.verify(old.text)).toMatchObject({ keyId: old.id });
    expect(await bench.verifier.verify(current.text)).toMatchObject({ keyId: current.id });
  });

  test('works until it expires', async () => {
    const bench = new Bench();
    const { text } = bench.add({ expiresAtMs: NOW_MS + 1_000 });
    bench.nowMs += 999;
    expect(await bench.verifier.verify(text)).toBeDefined();
    bench.nowMs += 1;
    expect(await bench.refusal(text)).toBe('expired');
  });

  test('stops working within 5 s of its revocation', async () => {
    const bench = new Bench();
    const { text, id } = bench.add();
    await bench.verifier.verify(text);
    bench.records.set(id, { ...bench.records.get(id)!, revokedAtMs: bench.nowMs });
    bench.nowMs += 4_000;
    expect(await bench.refusal(text)).toBe('revoked');
  });

  test('stops working within 5 s of the deletion of its row', async () => {
    const bench = new Bench();
    const { text, id } = bench.add();
    await bench.verifier.verify(text);
    bench.records.delete(id);
    bench.nowMs += 4_000;
    expect(await bench.refusal(text)).toBe('unknown');
  });

  test('is refused in the other mode, even with that mode in its text', async () => {
    const bench = new Bench('live');
    const { text } = bench.add();
    expect(await bench.refusal(text)).toBe('mode');
    expect(await bench.refusal(text.replace('tw_test_', 'tw_live_'))).toBe('mode');
  });

  test('is refused with a wrong secret exactly as with an unknown id: one lookup, one comparison, one error', async () => {
    const bench = new Bench();
    const { text, id } = bench.add();
    const wrongSecret = `tw_test_${id}_${'0'.repeat(64)}`;
    const unknownId = `tw_test_${'0'.repeat(16)}_${text.split('_')[3]}`;
    expect(await bench.refusal(wrongSecret)).toBe('secret');
    expect(await bench.refusal(unknownId)).toBe('unknown');
    expect(bench.found).toEqual([id, '0'.repeat(16)]);
    await bench.refusal(wrongSecret);
    await bench.refusal(unknownId);
    expect(bench.found).toHaveLength(2);
  });

  test('is refused with the secret of another key', async () => {
    const bench = new Bench();
    const [mine, other] = [bench.add(), bench.add()];
    expect(await bench.refusal(`tw_test_${mine.id}_${other.text.split('_')[3]}`)).toBe('secret');
  });

  test.each([
    ['nothing', () => ''],
    ['a blank before it', (text: string) => ` ${text}`],
    ['a line break after it', (text: string) => `${text}\n`],
    ['a character more', (text: string) => `${text}0`],
    ['a character less', (text: string) => text.slice(0, -1)],
    ['upper case', (text: string) => text.toUpperCase()],
    ['another mode', (text: string) => text.replace('test', 'prod')],
    ['a property of objects as its id', (text: string) => text.replace(/[0-9a-f]{16}_/, '__proto__0000000_')],
    ['a megabyte', () => 'tw_test_'.padEnd(1_048_576, 'a')],
  ])('is refused before it is looked up with %s', async (_, change) => {
    const bench = new Bench();
    expect(await bench.refusal(change(bench.add().text))).toBe('shape');
    expect(bench.found).toEqual([]);
  });

  test('an API key with any text is refused with the same error', async () => {
    const bench = new Bench();
    const hex = (bytes: number) =>
      fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((octets) => Buffer.from(octets).toString('hex'));
    const keyLike = fc
      .tuple(fc.constantFrom('test', 'live'), hex(8), hex(32))
      .map(([mode, id, secret]) => `tw_${mode}_${id}_${secret}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText(), keyLike), async (text) => {
        await bench.refusal(text);
      }),
    );
  });

  test('reports its use once a minute', async () => {
    const bench = new Bench();
    const { text, id } = bench.add();
    for (let request = 0; request < 5; request++) await bench.verifier.verify(text);
    bench.nowMs += 60_000;
    await bench.verifier.verify(text);
    await bench.verifier.verify(text);
    expect(bench.uses).toEqual([
      [id, NOW_MS],
      [id, NOW_MS + 60_000],
    ]);
  });

  test('reports no use if it was refused', async () => {
    const bench = new Bench();
    const { id } = bench.add();
    await bench.refusal(`tw_test_${id}_${'0'.repeat(64)}`);
    expect(bench.uses).toEqual([]);
  });

  test('is neither good nor bad while the store is unavailable, and works again afterwards', async () => {
    const bench = new Bench();
    const { text } = bench.add();
    const { find } = bench;
    const gone = new Error('database unavailable');
    bench.find = () => Promise.reject(gone);
    await expect(bench.verifier.verify(text)).rejects.toBe(gone);
    bench.find = find;
    expect(await bench.verifier.verify(text)).toBeDefined();
  });
});
