import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { compute, computes, failureOf, readyHsm } from './mac-calls.ts';
import { fileKeys, frame, healthyBut, Opened } from './support.ts';

const opened = new Opened();
afterEach(async () => {
  vi.useRealTimers();
  await opened.closeAll();
});

/** Half of it is enough for a good device on a busy machine; a call waits for a silent one as long. */
const PATIENT = { timeLimitMs: 3_000 };

describe('several devices', () => {
  let good: { port: number; stop(): Promise<void> };
  beforeEach(async () => {
    good = await opened.simulator();
  });

  test('share the commands', async () => {
    const other = await opened.simulator();
    const hsm = await readyHsm(opened, [good.port, other.port], PATIENT);
    await Promise.all(Array.from({ length: 100 }, (_, at) => computes(hsm, `text ${at}`)));
    for (const { succeeded } of hsm.deviceStates()) expect(succeeded).toBeGreaterThan(25);
  });

  test.each([
    ['hangs', () => {}],
    ['closes its connections', ({ socket }: { socket: Socket }) => socket.destroy()],
    [
      'fails each command',
      ({ header, socket }: { header: string; socket: Socket }) => socket.write(frame(`${header}M712`)),
    ],
    ['sends noise', ({ socket }: { socket: Socket }) => socket.write(Buffer.alloc(50, 0x41))],
  ])('one of which %s fail no call', async (_, response) => {
    const bad = await opened.fake(healthyBut(response));
    const hsm = await readyHsm(opened, [bad, good.port], PATIENT);
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 4 }, (_, at) => computes(hsm, `text ${round} ${at}`)));
    }
    expect(Object.keys(hsm.deviceStates()[0]!.failures)).not.toEqual([]);
  });

  test('one of which is slow leave most commands to the other', async () => {
    const slow = await opened.simulator({ latencyMs: 100 });
    const hsm = await readyHsm(opened, [slow.port, good.port], PATIENT);
    for (let round = 0; round < 50; round++) {
      const calls = Array.from({ length: 2 }, (_, at) => computes(hsm, `text ${round} ${at}`));
      await Promise.race(calls);
      if (round % 10 === 9) await Promise.all(calls);
    }
    await expect.poll(() => hsm.deviceStates().every(({ outstanding }) => outstanding === 0)).toBe(true);
    const [slowState, fastState] = hsm.deviceStates();
    expect(fastState!.succeeded).toBeGreaterThan(slowState!.succeeded);
  });

  test('one of which is stopped under load fail no call', async () => {
    const other = await opened.simulator({ latencyMs: 3 });
    const hsm = await readyHsm(opened, [good.port, other.port], PATIENT);
    const calls = Array.from({ length: 300 }, (_, at) => computes(hsm, `text ${at}`));
    await other.stop();
    await Promise.all(calls);
    await Promise.all(Array.from({ length: 300 }, (_, at) => computes(hsm, `more ${at}`)));
    expect(hsm.deviceStates()[1]!.status).toBe('unreachable');
  });

  test('a PIN block that one refuses is not tried on others', async () => {
    let commands = 0;
    const refuse = healthyBut(({ header, socket }) => {
      commands++;
      socket.write(frame(`${header}CD20`));
    });
    const hsm = await readyHsm(opened, [await opened.fake(refuse), await opened.fake(refuse)], PATIENT);
    const from = { keyId: 'zpk', format: 0, block: new Uint8Array(8) } as const;
    const pan = '4111111111111111';
    const translated = hsm.translatePin({ from, to: { keyId: 'zpk', format: 0 }, pan });
    await expect(translated).rejects.toMatchObject({ code: 'PIN_BLOCK' });
    expect(commands).toBe(1);
  });

  test('no error and no state contains the account number, the PIN block or a key', async () => {
    const refuse = healthyBut(({ header, socket }) => socket.write(frame(`${header}CD10`)));
    const hsm = await readyHsm(opened, [await opened.fake(refuse)], PATIENT);
    const block = Buffer.from('A1B2C3D4E5F60718', 'hex');
    const from = { keyId: 'zpk', format: 0, block } as const;
    const translated = hsm.translatePin({ from, to: { keyId: 'zpk', format: 0 }, pan: '4111111111111111' });
    const shown = inspect([await failureOf(translated), hsm, hsm.deviceStates()], { depth: 20, showHidden: true });
    expect(shown).toContain('Source key parity error');
    for (const secret of ['111111111111', 'A1B2C3D4E5F60718', ...fileKeys('variant').map(({ key }) => key)]) {
      expect(shown).not.toContain(secret);
    }
  });

  test('calls that wait are rejected by a close, and no connection is left', async () => {
    const hsm = await readyHsm(opened, [await opened.fake(healthyBut(() => {}))], PATIENT);
    const waiting = failureOf(compute(hsm));
    await hsm.close();
    expect((await waiting).code).toBe('CLOSED');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsReady: 0, outstanding: 0 });
  });
});
