import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LookUpAll, NameLookups } from '../../src/outbound/switch-lookup.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

const FOUND = [{ address: '192.0.2.1', family: 4 }];
const SILENT_MS = 20_000;

/** Name servers: those of `silent` names do not respond for 20 s, all others take 5 ms. Counts lookups at once. */
function nameServers({ isSilent = (name: string) => name.startsWith('silent') } = {}) {
  const seen = { running: 0, most: 0, asked: [] as string[] };
  const lookUp: LookUpAll = (name, _options, done) => {
    seen.asked.push(name);
    seen.most = Math.max(seen.most, ++seen.running);
    const isWithoutResponse = isSilent(name);
    setTimeout(
      () => {
        seen.running--;
        if (isWithoutResponse) done(Object.assign(new Error('again'), { code: 'EAI_AGAIN' }), []);
        else done(null, FOUND);
      },
      isWithoutResponse ? SILENT_MS : 5,
    );
  };
  return { seen, lookUp };
}

/** How long the response to one lookup takes, and what it is: an address, or the code of the error. */
async function lookUp(lookups: NameLookups, name: string) {
  const startedAtMs = performance.now();
  return new Promise<{ response: string | undefined; tookMs: number }>((settle) => {
    lookups.resolve(name, { all: true }, (error, addresses) =>
      settle({ response: error ? error.code : addresses[0]?.address, tookMs: performance.now() - startedAtMs }),
    );
  });
}

describe('fifty names whose name servers are silent, dialled again every five seconds', () => {
  async function startDialling(lookups: NameLookups) {
    const timer = setInterval(() => {
      for (let n = 0; n < 50; n++) void lookUp(lookups, `silent-${n}`);
    }, 5_000);
    await vi.advanceTimersByTimeAsync(300_000);
    return () => clearInterval(timer);
  }

  test('have one lookup at a time, and each name one that serves all its dials', async () => {
    const { seen, lookUp } = nameServers();
    const stop = await startDialling(new NameLookups(lookUp));
    stop();
    expect(seen.most).toBe(1);
    expect(seen.asked).toHaveLength(15);
    expect(new Set(seen.asked).size).toBe(15);
  });

  test('do not keep another name waiting for longer than one of their lookups, once it is known that they are slow', async () => {
    const { lookUp: ask } = nameServers();
    const lookups = new NameLookups(ask);
    const stop = await startDialling(lookups);
    await vi.advanceTimersByTimeAsync(50 * SILENT_MS);
    const asked = lookUp(lookups, 'switch.example');
    await vi.advanceTimersByTimeAsync(SILENT_MS + 1_000);
    stop();
    const { response, tookMs } = await asked;
    expect(response).toBe('192.0.2.1');
    expect(tookMs).toBeLessThanOrEqual(SILENT_MS + 5);
  });

  test('cost a name that was found before one second', async () => {
    const { lookUp: ask } = nameServers();
    const lookups = new NameLookups(ask);
    const first = lookUp(lookups, 'switch.example');
    await vi.advanceTimersByTimeAsync(10);
    expect(await first).toEqual({ response: '192.0.2.1', tookMs: 5 });
    const stop = await startDialling(lookups);
    const again = lookUp(lookups, 'switch.example');
    await vi.advanceTimersByTimeAsync(1_000);
    stop();
    expect(await again).toEqual({ response: '192.0.2.1', tookMs: 1_000 });
  });
});

test('a name whose name servers are silent now has the addresses from before; one that never had any fails', async () => {
  let isSilent = false;
  const lookups = new NameLookups(nameServers({ isSilent: () => isSilent }).lookUp);
  const before = lookUp(lookups, 'switch.example');
  await vi.advanceTimersByTimeAsync(5);
  expect(await before).toMatchObject({ response: '192.0.2.1' });
  isSilent = true;
  const known = lookUp(lookups, 'switch.example');
  const unknown = lookUp(lookups, 'other.example');
  await vi.advanceTimersByTimeAsync(2 * SILENT_MS);
  expect(await known).toEqual({ response: '192.0.2.1', tookMs: 1_000 });
  expect(await unknown).toEqual({ response: 'EAI_AGAIN', tookMs: 2 * SILENT_MS });
});

test('a name that was removed fails at once, although it was found before', async () => {
  let isRemoved = false;
  const lookups = new NameLookups((_name, _options, done) =>
    isRemoved ? done(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []) : done(null, FOUND),
  );
  expect(await lookUp(lookups, 'switch.example')).toMatchObject({ response: '192.0.2.1' });
  isRemoved = true;
  expect(await lookUp(lookups, 'switch.example')).toMatchObject({ response: 'ENOTFOUND' });
});

test('a lookup that never ends keeps the others waiting for a minute', async () => {
  const lookups = new NameLookups((name, _options, done) => {
    if (name !== 'never.example') done(null, FOUND);
  });
  const never = lookUp(lookups, 'never.example');
  const other = lookUp(lookups, 'switch.example');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await never).toEqual({ response: 'EAI_AGAIN', tookMs: 60_000 });
  expect(await other).toEqual({ response: '192.0.2.1', tookMs: 60_000 });
});
