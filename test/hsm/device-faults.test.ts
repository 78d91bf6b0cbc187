import type { Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { compute, computes, failureOf, goodMac, readyHsm } from './mac-calls.ts';
import { type FakeMessage, fileKeys, frame, healthyBut, Opened } from './support.ts';

/** The longest limit of a call. */
const LONG_MS = 3_000;
const opened = new Opened();
afterEach(async () => {
  vi.useRealTimers();
  await opened.closeAll();
});

describe('one device', () => {
  test('a device that hangs delays a call no longer than the time limit, and is taken out of use', async () => {
    const hsm = await readyHsm(opened, [await opened.fake(healthyBut(() => {}))], { timeLimitMs: 50 });
    expect((await failureOf(compute(hsm))).code).toBe('TIMEOUT');
    await expect
      .poll(async () => {
        await compute(hsm).catch(() => {});
        return hsm.deviceStates()[0]!.circuitOpenings;
      })
      .toBeGreaterThan(0);
    expect(hsm.deviceStates()[0]!.outstanding).toBe(0);
  });

  test('a device that refuses connections makes calls fail at once', async () => {
    const { port, stop } = await opened.simulator();
    await stop();
    const hsm = await opened.hsm([port], { timeLimitMs: LONG_MS });
    const startedAtMs = performance.now();
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    expect(performance.now() - startedAtMs).toBeLessThan(LONG_MS);
  });

  test('a device that accepts connections and says nothing is never used', async () => {
    const hsm = await opened.hsm([await opened.fake(() => {})], { timeLimitMs: 50 });
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    expect(hsm.deviceStates()[0]!.status).toBe('starting');
  });

  test('a device that closes its connections loses what is outstanding, and is used again', async () => {
    let commands = 0;
    const device = healthyBut((received) => {
      if (++commands === 1) received.socket.destroy();
      else received.socket.write(goodMac(received));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)], { connections: 1 });
    expect((await failureOf(compute(hsm))).code).toBe('CONNECTION_LOST');
    await expect
      .poll(
        () =>
          compute(hsm).then(
            () => 'used',
            () => 'not used',
          ),
        { interval: 20 },
      )
      .toBe('used');
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', failures: { CONNECTION_LOST: 1 } });
  });

  test.each([
    ['an unknown message header', 'ZZZZM7000123456789ABCDEF'],
    ['the response code of another command', (header: string) => `${header}CD000123456789ABCDEF`],
    ['a length that no response has', ''],
  ])('a device that responds with %s is not believed: the connection ends', async (_, respond) => {
    const device = healthyBut(({ header, socket }) => {
      socket.write(frame(typeof respond === 'string' ? respond : respond(header)));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    expect((await failureOf(compute(hsm))).code).toBe('FRAME_INVALID');
  });

  test('a device that announces an oversized frame loses the connection before the frame arrives', async () => {
    const device = healthyBut(({ socket }) => socket.write(Buffer.of(0x80, 0x01, 0x30)));
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    expect((await failureOf(compute(hsm))).code).toBe('FRAME_INVALID');
  });

  test.each([
    'M700',
    'M7000123456789ABCDE',
    'M7000123456789abcdef',
    'M7000123456789ABCDEF00',
  ])('a device whose response is %s fails the call and not others', async (response) => {
    const device = healthyBut((received) => {
      const isBad = received.message.includes('bad one');
      received.socket.write(isBad ? frame(received.header + response) : goodMac(received));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    const [bad] = await Promise.all([failureOf(compute(hsm, 'bad one')), computes(hsm, 'good on')]);
    expect(bad.code).toBe('RESPONSE_INVALID');
  });

  test.each([
    ['M768', 'whose operator disabled a command'],
    ['M747', 'without the licence for an algorithm'],
    ['M7000123', 'that fills a field of one command differently'],
  ])('a device that responds with %s, %s, stays in use for other commands', async (response) => {
    const kcv = fileKeys('variant').find(({ keyId }) => keyId === 'zpk')!.kcv;
    const device = healthyBut(({ header, code, socket }) =>
      socket.write(frame(`${header}${code === 'BU' ? `BV00${kcv}` : response}`)),
    );
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    for (let n = 0; n < 12; n++) await failureOf(compute(hsm));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
    expect(await hsm.kcv('zpk')).toBe(kcv);
  });

  test('a device that closes one of its connections gets the commands again on another one, once', async () => {
    let commands = 0;
    const device = healthyBut((received) => {
      if (++commands % 2 === 1) received.socket.destroy();
      else received.socket.write(goodMac(received));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)], { connections: 2 });
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    await computes(hsm, 'message');
    expect(commands).toBe(2);
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    const closing = await readyHsm(opened, [await opened.fake(healthyBut(({ socket }) => socket.destroy()))], {
      connections: 2,
    });
    expect((await failureOf(compute(closing))).code).toBe('CONNECTION_LOST');
  });

  test('a device that closes a connection with many commands stays in use: it has failed once', async () => {
    const held: { header: string; message: string; socket: Socket }[] = [];
    let isFirst = true;
    const device = healthyBut((received) => {
      if (!isFirst) return void received.socket.write(goodMac(received));
      held.push(received);
      if (held.length < 20) return;
      isFirst = false;
      const [{ socket: closing }] = held as [(typeof held)[number]];
      closing.destroy();
      for (const each of held) if (each.socket !== closing) each.socket.write(goodMac(each));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)], { connections: 2 });
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    await Promise.all(Array.from({ length: 20 }, (_, n) => computes(hsm, `text ${10 + n}`)));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
  });

  test('a device whose responses arrive in one-byte segments and in reverse order is understood', async () => {
    const waiting: { header: string; message: string; socket: Socket }[] = [];
    const device = healthyBut((received) => {
      waiting.push(received);
      if (waiting.length < 20) return;
      for (const each of waiting.reverse()) for (const byte of goodMac(each)) each.socket.write(Buffer.of(byte));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)], { timeLimitMs: 3_000 });
    await Promise.all(Array.from({ length: 20 }, (_, at) => computes(hsm, `text ${String(at).padStart(2, '0')}`)));
  });

  test('a device whose response is late does not respond to a later command with it', async () => {
    let late: Buffer | undefined;
    const device = healthyBut((received) => {
      if (received.message.includes('first 1')) late = goodMac(received);
      else if (received.message.includes('other 2')) received.socket.write(goodMac(received));
      else received.socket.write(Buffer.concat([late!, goodMac(received)]));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)], { timeLimitMs: 200, connections: 1 });
    const first = failureOf(compute(hsm, 'first 1'));
    await computes(hsm, 'other 2');
    expect((await first).code).toBe('TIMEOUT');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsLost: 0, outstanding: 1 });
    await computes(hsm, 'other 3');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsLost: 0, outstanding: 0 });
  });

  test('a device that is refused a key is not blamed: keys of one acquirer do not take it out of use', async () => {
    const device = healthyBut((received) => {
      const isBad = received.message.includes('bad key');
      received.socket.write(isBad ? frame(`${received.header}M710`) : goodMac(received));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    for (let at = 0; at < 20; at++) {
      expect(await failureOf(compute(hsm, 'bad key'))).toMatchObject({ code: 'REFUSED', errorCode: '10' });
    }
    await computes(hsm, 'good on');
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', refusals: { 10: 20 } });
  });

  test('a device that passes its diagnostics and fails commands is tried again after a while', async () => {
    let isWell = false;
    const device = healthyBut((received) => {
      received.socket.write(isWell ? goodMac(received) : frame(`${received.header}M741`));
    });
    const hsm = await readyHsm(opened, [await opened.fake(device)]);
    for (let at = 0; at < 5; at++) {
      expect((await failureOf(compute(hsm))).message).toContain('41: Internal hardware/software error');
    }
    expect(hsm.deviceStates()[0]!.status).toBe('circuitOpen');
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    isWell = true;
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 20 }).toBe('ready');
    await computes(hsm, 'message');
  });

  test('a device with another local master key is never used', async () => {
    const { port } = await opened.simulator();
    const hsm = await opened.hsm([port], { lmk: { form: 'variant', checkValue: '268604' } });
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('wrongLmk');
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
  });

  test('a device whose local master key changes stays out of use until its diagnostics pass, also if they fail otherwise', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true });
    let response = 'ND00268604';
    let checks = 0;
    const healthy = healthyBut(() => {});
    const port = await opened.fake((received) => {
      if (received.code !== 'NC') return healthy(received);
      checks++;
      received.socket.write(frame(`${received.header}${response}${response === 'ND41' ? '' : '01234567890007-E000'}`));
    });
    const hsm = await opened.hsm([port], { lmk: { form: 'variant', checkValue: '268604' } });
    const status = () => hsm.deviceStates()[0]!.status;
    const isChecked = async () => {
      const before = checks;
      vi.advanceTimersByTime(10_500);
      await expect.poll(() => checks, { interval: 5 }).toBeGreaterThan(before);
    };
    await expect.poll(status, { interval: 5 }).toBe('ready');
    response = 'ND00999999';
    await isChecked();
    await expect.poll(status, { interval: 5 }).toBe('wrongLmk');
    response = 'ND41';
    await isChecked();
    await isChecked();
    expect(status()).toBe('wrongLmk');
    response = 'ND00268604';
    await isChecked();
    await expect.poll(status, { interval: 5 }).toBe('ready');
  });

  test('a device whose operator disabled NO and B2 is used', async () => {
    const healthy = healthyBut((received) => received.socket.write(goodMac(received)));
    const device: typeof healthy = (received) => {
      if (received.code === 'NO') received.socket.write(frame(`${received.header}NP68`));
      else if (received.code === 'B2') received.socket.write(frame(`${received.header}B368`));
      else healthy(received);
    };
    await computes(await readyHsm(opened, [await opened.fake(device)]), 'message');
  });

  test('a device without message headers has one command outstanding on each connection', async () => {
    const { port } = await opened.simulator({ headerLength: 0, latencyMs: 5 });
    const hsm = await readyHsm(opened, [port], { headerLength: 0, timeLimitMs: 3_000 });
    await Promise.all(Array.from({ length: 20 }, (_, at) => computes(hsm, `text ${at}`)));
  });

  test('a device that is too slow for its commands has a bounded queue', async () => {
    const hsm = await readyHsm(opened, [await opened.fake(healthyBut(() => {}))], { timeLimitMs: 200 });
    const calls = Array.from({ length: 1_000 }, () => failureOf(compute(hsm)));
    const { outstanding, queued } = hsm.deviceStates()[0]!;
    expect(outstanding + queued).toBeLessThanOrEqual(2 * 64 + 256);
    const codes = new Set((await Promise.all(calls)).map(({ code }) => code));
    expect(codes).toContain('BUSY');
    expect(hsm.deviceStates()[0]).toMatchObject({ outstanding: 0, queued: 0 });
  });

  test('a device that one acquirer keeps busy responds to another one soon', async () => {
    const keys = fileKeys('variant').filter(({ keyId }) => keyId === 'zak');
    const keyOf = (acquirerId: number) => ({ ...keys[0]!, keyId: `acquirer/${acquirerId}/mac` });
    const received: FakeMessage[] = [];
    let isResponding = false;
    const respond = (message: FakeMessage) => void message.socket.write(goodMac(message));
    const device = healthyBut((message) => {
      received.push(message);
      if (isResponding) respond(message);
    });
    const changes = { connections: 1, timeLimitMs: 3_000, keys: [keyOf(1), keyOf(2)] };
    const hsm = await readyHsm(opened, [await opened.fake(device)], changes);
    const busy = Promise.allSettled(Array.from({ length: 400 }, () => compute(hsm, 'first', 'acquirer/1/mac')));
    await expect.poll(() => received.length).toBe(64);
    const other = compute(hsm, 'second', 'acquirer/2/mac');
    isResponding = true;
    received.slice().forEach(respond);
    expect(await other).toHaveLength(8);
    // 64 were on the connection, and the two acquirers take turns.
    expect(received.findIndex(({ message }) => message.endsWith('second'))).toBeLessThanOrEqual(65);
    const succeeded = (await busy).filter(({ status }) => status === 'fulfilled');
    expect(succeeded).toHaveLength(64 + 256 - 1); // one in the queue made room
  });
});
