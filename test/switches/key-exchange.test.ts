import { afterEach, describe, expect, test } from 'vitest';
import type { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import type { WrappedKey } from '../../src/kits/processor-kit/key-change.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { recordMacVerdict } from '../../src/kits/processor-kit/mac-layout.ts';
import type { WorkingKeyUse } from '../../src/kits/processor-kit/processor.ts';
import { type KeyExchangeConfig, keyExchangeConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { KeyExchange } from '../../src/switching/switches/key-exchange.ts';
import { WorkingKeys } from '../../src/switching/switches/working-keys.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { eventually } from '../support/eventually.ts';
import { KeptKeys } from '../support/kept-keys.ts';

const type1 = (await loadProcessors()).get('type-1')!;
const WHERE = { acquirerId: 1, processorId: 1 };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

let made = 0;

/** A worker, and the switch at the other end of its connection. */
async function workerWith(kept: KeptKeys, differing: Partial<KeyExchangeConfig> = {}, exchangeMs = 10_000) {
  const keyExchange = keyExchangeConfig.parse({ transportKeyId: 'zmk', keys: ['mac'], ...differing });
  const pinKey = { keyId: 'first-pin', format: 0, derivation: 'zone' } as const;
  const config = { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'first-mac' }], pinKey, keyExchange };
  const hsm = demoHsm([config], 'dev');
  const monotonicMs = () => performance.now();
  const shared = { where: WHERE, kept, monotonicMs };
  const keys = await WorkingKeys.open({ ...shared, processor: type1, config, hsm, onError: () => {} });
  const warned: object[] = [];
  let stan = 0;
  const exchange = new KeyExchange({
    ...shared,
    keys,
    config,
    keyChange: type1.keyChange!,
    isAccepted: (response) => type1.isNetworkAccepted(response),
    nextStamp: () => ({ stan: String(++stan).padStart(6, '0'), sentAtMs: 0 }),
    log: { info: () => {}, warn: (fields) => void warned.push(fields) },
    times: { followEveryMs: 20, exchangeMs },
  });
  closers.push(() => exchange.close());
  const announcementOf = async (use: WorkingKeyUse) =>
    type1.keyChange!.announcement(await keyOf(hsm, use), { stan: '900000', sentAtMs: 0 }, config);
  const announce = async (use: WorkingKeyUse, { isSent = true, connectionId = 'line' } = {}) => {
    const announcement = await announcementOf(use);
    const decision = await exchange.takeAnnouncement(announcement, line(connectionId));
    decision.whenResponded?.(isSent);
    return decision.responseCode;
  };
  const asked: WorkingKeyUse[] = [];
  /** A connection whose switch responds to a key request as given, and then announces the key or not. */
  const line = (connectionId = 'line', { code = '00', keeps = true, isSilent = false } = {}) => ({
    connectionId,
    exchange: async (request: IsoMessage): Promise<IsoMessage> => {
      const use = type1.keyChange!.readUse(request)!;
      asked.push(use);
      if (isSilent) return new Promise(() => {});
      if (keeps && code === '00') setTimeout(() => void announce(use, { connectionId }), 1);
      return type1.keyChange!.response(request, code);
    },
  });
  return { exchange, keys, line, announcementOf, announce, asked, warned, config, hsm };
}

async function keyOf(hsm: SoftHsm, use: WorkingKeyUse): Promise<WrappedKey> {
  const number = ++made + 1;
  const named = {
    keyId: `made-${number}`,
    usage: use,
    algorithm: 'tdes',
    lengthBytes: 16,
    transportKeyId: 'zmk',
  } as const;
  const key = await hsm.generateKey(named);
  if (!('cryptogram' in key)) throw new Error('no cryptogram');
  return { use, number, wrapped: { cryptogram: key.cryptogram }, kcv: key.kcv };
}

describe('at sign-on', () => {
  test('missing keys are requested before the connection is ready, and used from then on', async () => {
    const { exchange, keys, line, asked } = await workerWith(new KeptKeys(), { keys: ['mac', 'pin'] });
    expect(await exchange.afterSignOn(line(), undefined)).toBe(true);
    expect(asked).toEqual(['mac', 'pin']);
    expect(keys.keys[0]!.number).toBe(keys.current('mac')!.number);
    expect(keys.current('pin')).toBeDefined();
    expect(await exchange.afterSignOn(line('second'), undefined)).toBe(true);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['receives no response', { isSilent: true }, 'NO_RESPONSE'],
    ['is declined', { code: '91' }, 'REFUSED'],
    ['is promised and does not come', { keeps: false }, 'NOT_ANNOUNCED'],
  ])('a key that %s keeps the previous one, is reported, and is requested again', async (_how, behaviour, lastFault) => {
    const { exchange, keys, line, asked } = await workerWith(new KeptKeys(), {}, 60);
    expect(await exchange.afterSignOn(line('line', behaviour), undefined)).toBe(true);
    expect(exchange.stats).toMatchObject({ exchanged: 0, failed: 1, lastFault, keys: [] });
    expect(keys.keys.map(({ number }) => number)).toEqual([1]);
    await eventually(() => expect(asked.length).toBeGreaterThan(1));
  });

  test('one of two workers requests keys at sign-on', async () => {
    const kept = new KeptKeys();
    const [one, other] = [await workerWith(kept), await workerWith(kept)];
    kept.claims.add('mac'); // the other one requests
    expect(await one.exchange.afterSignOn(one.line(), undefined)).toBe(true);
    expect(one.asked).toEqual([]);
    expect(kept.claims.has('mac')).toBe(true); // and still has the claim
    kept.claims.delete('mac');
    expect(await other.exchange.afterSignOn(other.line(), undefined)).toBe(true);
    await eventually(() => expect(one.keys.current('mac')?.kcv).toBe(other.keys.current('mac')!.kcv));
  });
});

test('one of two connections that sign on at once requests a key, and uses it', async () => {
  const { exchange, line, asked } = await workerWith(new KeptKeys());
  const both = [exchange.afterSignOn(line('first'), undefined), exchange.afterSignOn(line('second'), undefined)];
  expect(await Promise.all(both)).toEqual([true, true]);
  expect(asked).toEqual(['mac']);
  expect(exchange.stats).toMatchObject({ exchanged: 1, failed: 0, ages: [{ use: 'mac', ageMs: expect.any(Number) }] });
});

describe('while traffic runs', () => {
  test('a key that has reached its age is requested on any connection', async () => {
    const kept = new KeptKeys();
    const { exchange, line, asked } = await workerWith(kept, { maxAgeSeconds: 60 });
    await exchange.afterSignOn(line(), undefined);
    kept.rows = kept.rows.map((row) => ({ ...row, acknowledgedMsAgo: 61_000 }));
    await eventually(() => expect(asked).toHaveLength(2));
    await eventually(() => expect(exchange.stats.exchanged).toBe(2));
  });

  test('a message under a key that another worker has just exchanged is trusted, one under an unknown key is not', async () => {
    const kept = new KeptKeys();
    const [one, other] = [await workerWith(kept), await workerWith(kept)];
    await one.exchange.afterSignOn(one.line(), undefined);
    const { number } = one.keys.current('mac')!;
    const judged = (by: number) => {
      const message: IsoMessage = { mti: '0210' };
      const judge = async () => (other.keys.keys.some((key) => key.number === by) ? 'good' : 'unverifiable');
      recordMacVerdict(message, 'unverifiable', judge);
      return message;
    };
    expect(await other.exchange.isTrusted(judged(number))).toBe(true);
    expect(await other.exchange.isTrusted(judged(99))).toBe(false);
  });

  test('what cannot be stored is refused, and the previous keys remain in use', async () => {
    const kept = new KeptKeys();
    const { exchange, keys, announce } = await workerWith(kept, { startedBy: 'switch' });
    kept.isDown = true;
    expect(await announce('mac')).toBe('96');
    expect(exchange.stats).toMatchObject({ failed: 1, lastFault: 'NOT_KEPT' });
    expect(keys.keys.map(({ number }) => number)).toEqual([1]);
  });

  test('PINs wait from the announcement of a PIN key until the response, whether or not it can be sent', async () => {
    const { exchange, announcementOf, line } = await workerWith(new KeptKeys(), { keys: ['pin'], startedBy: 'switch' });
    for (const isSent of [true, false]) {
      const [first, second] = [await announcementOf('pin'), await announcementOf('pin')];
      const decisions = [first, second].map((announcement) => exchange.takeAnnouncement(announcement, line()));
      expect(exchange.pinGate).toBeInstanceOf(Promise);
      for (const [at, decision] of decisions.entries()) {
        const { responseCode, whenResponded } = await decision;
        expect(responseCode).toBe('00');
        expect(exchange.pinGate).toBeInstanceOf(Promise);
        whenResponded!(isSent);
        expect(exchange.pinGate === undefined).toBe(at === 1);
      }
    }
  });

  test('endless key announcements are refused, and PINs wait only for a few of them', async () => {
    const { exchange, announcementOf, line } = await workerWith(new KeptKeys(), { keys: ['pin'], startedBy: 'switch' });
    const announcement = await announcementOf('pin');
    const decisions = Array.from({ length: 100 }, () => exchange.takeAnnouncement(announcement, line()));
    const codes: (string | undefined)[] = [];
    for (const { responseCode, whenResponded } of await Promise.all(decisions)) {
      codes.push(responseCode);
      whenResponded?.(true);
    }
    expect(codes.filter((code) => code === '96')).toHaveLength(92);
    expect(exchange.pinGate).toBeUndefined();
    expect(exchange.stats.lastFault).toBeDefined();
  });

  test('a switch that changes its key without end fills no store: a few keys are valid at a time', async () => {
    const { exchange, keys, announce } = await workerWith(new KeptKeys(), {
      startedBy: 'switch',
      keys: ['mac', 'pin'],
    });
    const codes: string[] = [];
    for (let at = 0; at < 40; at++) codes.push((await announce('mac'))!);
    expect(codes).toEqual([...Array(16).fill('00'), ...Array(24).fill('96')]);
    expect(keys.live).toHaveLength(16);
    expect(exchange.stats).toMatchObject({ failed: 24, lastFault: 'TOO_MANY' });
    expect(await announce('pin')).toBe('00');
  });

  test('a response that was not sent leaves both keys valid, and a new one is requested', async () => {
    const { exchange, keys, announce, line, asked } = await workerWith(new KeptKeys(), { startedBy: 'switch' });
    expect(await announce('mac', { connectionId: 'gone' })).toBe('00');
    expect(keys.current('mac')).toBeUndefined();
    expect(keys.keys).toHaveLength(2);
    expect(await exchange.afterSignOn(line(), undefined)).toBe(true);
    expect(asked).toEqual(['mac']);
    expect(keys.current('mac')).toBeDefined();
  });

  test('a connection lost right after the response may have lost it: a new key is requested', async () => {
    const { exchange, line, asked } = await workerWith(new KeptKeys());
    await exchange.afterSignOn(line(), undefined);
    exchange.forget('line');
    await exchange.afterSignOn(line('next'), undefined);
    expect(asked).toEqual(['mac', 'mac']);
  });
});

describe('if the keys of the two sides no longer agree', () => {
  test('the connection is not ready until a new one has arrived, although the MAC of its announcement is not good', async () => {
    const { exchange, line } = await workerWith(new KeptKeys(), { startedBy: 'switch' });
    expect(await exchange.afterSignOn(line(), undefined)).toBe(true);
    exchange.distrust();
    expect(await exchange.afterSignOn(line('line', { code: '91' }), undefined)).toBe(false);
    expect(await exchange.afterSignOn(line(), undefined)).toBe(true);
    expect(exchange.stats).toMatchObject({ exchanged: 1, lastFault: undefined });
  });

  test('the response to a sign-on shows it', async () => {
    const { exchange, line, asked } = await workerWith(new KeptKeys(), { startedBy: 'switch' });
    const response: IsoMessage = { mti: '0810' };
    recordMacVerdict(response, 'bad');
    expect(await exchange.afterSignOn(line(), response)).toBe(true);
    expect(asked).toEqual(['mac']);
  });
});

test('a shared HSM may have the key already: it is used if it is the same', async () => {
  const kept = new KeptKeys();
  const one = await workerWith(kept);
  await one.exchange.afterSignOn(one.line(), undefined);
  const { config, hsm } = one;
  const shared = { where: WHERE, kept, monotonicMs: () => 0, processor: type1, config, hsm };
  const errors: unknown[] = [];
  const again = await WorkingKeys.open({ ...shared, onError: (error) => errors.push(error) });
  expect(again.current('mac')).toBeDefined();
  kept.rows = kept.rows.map((row) => ({ ...row, kcv: '000000' }));
  const mistaken = await WorkingKeys.open({ ...shared, onError: (error) => errors.push(error) });
  expect(mistaken.current('mac')).toBeUndefined();
  expect(errors).toMatchObject([{ code: 'KEY_CHECK_VALUE' }]);
});

test('a switch that repeatedly announces unacceptable keys does not flood the log', async () => {
  const { exchange, line, warned } = await workerWith(new KeptKeys());
  const nonsense = type1.keyChange!.request('mac', { stan: '900001', sentAtMs: 0 }, type1.exampleConfig);
  const decisions = await Promise.all(Array.from({ length: 500 }, () => exchange.takeAnnouncement(nonsense, line())));
  expect(decisions.every(({ responseCode }) => responseCode !== '00')).toBe(true);
  expect(exchange.stats.failed).toBe(500);
  expect(warned.length).toBeLessThan(20);
});

describe('after a process has died between its response to an announcement and the record of it', () => {
  test('a new key is requested before the first PIN, and no PIN is sent until it is there', async () => {
    const kept = new KeptKeys();
    const pins = { keys: ['pin'] as WorkingKeyUse[], startedBy: 'switch' as const };
    const died = await workerWith(kept, pins);
    await died.exchange.afterSignOn(died.line(), undefined);
    expect(await died.announce('pin')).toBe('00');
    kept.acknowledge = () => new Promise(() => {});
    expect(await died.announce('pin')).toBe('00');
    died.exchange.close();
    expect(kept.rows.map(({ acknowledgedMsAgo }) => acknowledgedMsAgo)).toEqual([null, 0]);

    Reflect.deleteProperty(kept, 'acknowledge');
    const next = await workerWith(kept, pins);
    expect(() => next.exchange.pinKey()).toThrow(expect.objectContaining({ code: 'NO_KEY' }));
    expect(await next.exchange.afterSignOn(next.line(), undefined)).toBe(true);
    expect(next.asked).toEqual(['pin']);
    const [newest] = kept.rows;
    expect(next.exchange.pinKey()).toMatchObject({ keyId: newest!.keyId });
    expect(kept.rows).toHaveLength(3);
  });

  test('the first, configured key is not used for a PIN either', async () => {
    const kept = new KeptKeys();
    const pins = { keys: ['pin'] as WorkingKeyUse[], startedBy: 'switch' as const };
    const died = await workerWith(kept, pins);
    await died.exchange.afterSignOn(died.line(), undefined);
    kept.acknowledge = () => new Promise(() => {});
    expect(await died.announce('pin')).toBe('00');
    died.exchange.close();

    Reflect.deleteProperty(kept, 'acknowledge');
    const next = await workerWith(kept, pins);
    expect(() => next.exchange.pinKey()).toThrow(expect.objectContaining({ code: 'NO_KEY' }));
    await next.exchange.afterSignOn(next.line(), undefined);
    expect(next.asked).toEqual(['pin']);
    expect(next.exchange.pinKey()).not.toBe('configured');
  });
});
