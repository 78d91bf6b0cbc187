import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keyMac } from '../../src/crypto/mac.ts';
import { MAC_ALGORITHMS } from '../../src/crypto/mac-algorithms.ts';
import { HsmDeviceError, HsmUnavailable } from '../../src/errors.ts';
import type { PayshieldHsm } from '../../src/hsm/payshield/payshield-hsm.ts';
import { clearKey, type FileChanges, fileKeys, frame, healthyBut, Opened } from './support.ts';

const opened = new Opened();
afterEach(async () => {
  vi.useRealTimers();
  await opened.closeAll();
});

const METHOD = MAC_ALGORITHMS['x9.19'];
const LIMIT_MS = 400;

const macOf = (text: string) => Buffer.from(keyMac(clearKey('zak'), METHOD)(Buffer.from(text))).toString('hex');

async function computes(hsm: PayshieldHsm, text: string): Promise<void> {
  const mac = await hsm.mac({ keyId: 'zak', method: METHOD, message: Buffer.from(text), lengthBytes: 8 });
  expect(Buffer.from(mac).toString('hex')).toBe(macOf(text));
}

const compute = (hsm: PayshieldHsm, text = 'message') =>
  hsm.mac({ keyId: 'zak', method: METHOD, message: Buffer.from(text), lengthBytes: 8 });

async function readyHsm(ports: readonly number[], changes: FileChanges = {}): Promise<PayshieldHsm> {
  const hsm = await opened.hsm(ports, { timeLimitMs: LIMIT_MS, ...changes });
  await expect.poll(() => hsm.deviceStates().every(({ status }) => status === 'ready'), { interval: 5 }).toBe(true);
  return hsm;
}

/** The failure of the last device, which HsmUnavailable has as its cause. */
async function failureOf(call: Promise<unknown>): Promise<HsmDeviceError> {
  const error = await call.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(HsmUnavailable);
  expect(error.cause).toBeInstanceOf(HsmDeviceError);
  return error.cause;
}

/** A correct response for each command, and the socket. */
const goodMac = ({ header, message }: { header: string; message: string }) => {
  const text = message.substring(message.lastIndexOf('0007') + 4);
  return frame(`${header}M700${macOf(text).toUpperCase()}`);
};

describe('one device', () => {
  test('that hangs delays a call no longer than the time limit, and is taken out of use', async () => {
    const hsm = await readyHsm([await opened.fake(healthyBut(() => {}))], { timeLimitMs: 50 });
    const startedAtMs = performance.now();
    expect((await failureOf(compute(hsm))).code).toBe('TIMEOUT');
    expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    await expect
      .poll(async () => {
        await compute(hsm).catch(() => {});
        return hsm.deviceStates()[0]!.circuitOpenings;
      })
      .toBeGreaterThan(0);
    expect(hsm.deviceStates()[0]!.outstanding).toBe(0);
  });

  test('that refuses connections makes calls fail at once', async () => {
    const { port, stop } = await opened.simulator();
    await stop();
    const hsm = await opened.hsm([port]);
    const startedAtMs = performance.now();
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    expect(performance.now() - startedAtMs).toBeLessThan(500);
  });

  test('that accepts connections and says nothing is never used', async () => {
    const hsm = await opened.hsm([await opened.fake(() => {})], { timeLimitMs: 50 });
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    expect(hsm.deviceStates()[0]!.status).toBe('starting');
  });

  test('that closes its connections loses what is outstanding, and is used again', async () => {
    let commands = 0;
    const device = healthyBut((received) => {
      if (++commands === 1) received.socket.destroy();
      else received.socket.write(goodMac(received));
    });
    const hsm = await readyHsm([await opened.fake(device)], { connections: 1 });
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
  ])('that responds with %s is not believed: the connection ends', async (_, answer) => {
    const device = healthyBut(({ header, socket }) => {
      socket.write(frame(typeof answer === 'string' ? answer : answer(header)));
    });
    const hsm = await readyHsm([await opened.fake(device)]);
    expect((await failureOf(compute(hsm))).code).toBe('FRAME_INVALID');
  });

  test('that announces an oversized frame loses the connection before the frame arrives', async () => {
    const device = healthyBut(({ socket }) => socket.write(Buffer.of(0x80, 0x01, 0x30)));
    const hsm = await readyHsm([await opened.fake(device)]);
    expect((await failureOf(compute(hsm))).code).toBe('FRAME_INVALID');
  });

  test.each([
    'M700',
    'M7000123456789ABCDE',
    'M7000123456789abcdef',
    'M7000123456789ABCDEF00',
  ])('whose response is %s fails the call and not others', async (answer) => {
    const device = healthyBut((received) => {
      const isBad = received.message.includes('bad one');
      received.socket.write(isBad ? frame(received.header + answer) : goodMac(received));
    });
    const hsm = await readyHsm([await opened.fake(device)]);
    const [bad] = await Promise.all([failureOf(compute(hsm, 'bad one')), computes(hsm, 'good on')]);
    expect(bad.code).toBe('RESPONSE_INVALID');
  });

  test.each([
    ['M768', 'whose operator disabled a command'],
    ['M747', 'without the licence for an algorithm'],
    ['M7000123', 'that fills a field of one command differently'],
  ])('that answers %s, %s, stays in use for other commands', async (answer) => {
    const kcv = fileKeys('variant').find(({ keyId }) => keyId === 'zpk')!.kcv;
    const device = healthyBut(({ header, code, socket }) =>
      socket.write(frame(`${header}${code === 'BU' ? `BV00${kcv}` : answer}`)),
    );
    const hsm = await readyHsm([await opened.fake(device)]);
    for (let n = 0; n < 12; n++) await failureOf(compute(hsm));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
    expect(await hsm.kcv('zpk')).toBe(kcv);
  });

  test('that closes one of its connections gets the commands again on another one, once', async () => {
    let commands = 0;
    const device = healthyBut((received) => {
      if (++commands % 2 === 1) received.socket.destroy();
      else received.socket.write(goodMac(received));
    });
    const hsm = await readyHsm([await opened.fake(device)], { connections: 2 });
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    await computes(hsm, 'message');
    expect(commands).toBe(2);
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    const closing = await readyHsm([await opened.fake(healthyBut(({ socket }) => socket.destroy()))], {
      connections: 2,
    });
    expect((await failureOf(compute(closing))).code).toBe('CONNECTION_LOST');
  });

  test('that closes a connection with many commands stays in use: it has failed once', async () => {
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
    const hsm = await readyHsm([await opened.fake(device)], { connections: 2 });
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsReady, { interval: 5 }).toBe(2);
    await Promise.all(Array.from({ length: 20 }, (_, n) => computes(hsm, `text ${10 + n}`)));
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', circuitOpenings: 0 });
  });

  test('whose responses arrive in one-byte segments and in reverse order is understood', async () => {
    const waiting: { header: string; message: string; socket: Socket }[] = [];
    const device = healthyBut((received) => {
      waiting.push(received);
      if (waiting.length < 20) return;
      for (const each of waiting.reverse()) for (const byte of goodMac(each)) each.socket.write(Buffer.of(byte));
    });
    const hsm = await readyHsm([await opened.fake(device)], { timeLimitMs: 3_000 });
    await Promise.all(Array.from({ length: 20 }, (_, at) => computes(hsm, `text ${String(at).padStart(2, '0')}`)));
  });

  test('whose response is late does not answer a later command with it', async () => {
    let late: Buffer | undefined;
    const device = healthyBut((received) => {
      if (received.message.includes('first 1')) late = goodMac(received);
      else if (received.message.includes('other 2')) received.socket.write(goodMac(received));
      else received.socket.write(Buffer.concat([late!, goodMac(received)]));
    });
    const hsm = await readyHsm([await opened.fake(device)], { timeLimitMs: 200, connections: 1 });
    const first = failureOf(compute(hsm, 'first 1'));
    await computes(hsm, 'other 2');
    expect((await first).code).toBe('TIMEOUT');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsLost: 0, outstanding: 1 });
    await computes(hsm, 'other 3');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsLost: 0, outstanding: 0 });
  });

  test('that is refused a key is not blamed: keys of one acquirer do not take it out of use', async () => {
    const device = healthyBut((received) => {
      const isBad = received.message.includes('bad key');
      received.socket.write(isBad ? frame(`${received.header}M710`) : goodMac(received));
    });
    const hsm = await readyHsm([await opened.fake(device)]);
    for (let at = 0; at < 20; at++) {
      expect(await failureOf(compute(hsm, 'bad key'))).toMatchObject({ code: 'REFUSED', errorCode: '10' });
    }
    await computes(hsm, 'good on');
    expect(hsm.deviceStates()[0]).toMatchObject({ status: 'ready', refusals: { 10: 20 } });
  });

  test('that passes its diagnostics and fails commands is tried again after a while', async () => {
    let isWell = false;
    const device = healthyBut((received) => {
      received.socket.write(isWell ? goodMac(received) : frame(`${received.header}M741`));
    });
    const hsm = await readyHsm([await opened.fake(device)]);
    for (let at = 0; at < 5; at++) {
      expect((await failureOf(compute(hsm))).message).toContain('41: Internal hardware/software error');
    }
    expect(hsm.deviceStates()[0]!.status).toBe('circuitOpen');
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
    isWell = true;
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 20 }).toBe('ready');
    await computes(hsm, 'message');
  });

  test('with another local master key is never used', async () => {
    const { port } = await opened.simulator();
    const hsm = await opened.hsm([port], { lmk: { form: 'variant', checkValue: '268604' } });
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('wrongLmk');
    expect((await failureOf(compute(hsm))).code).toBe('UNREACHABLE');
  });

  test('whose local master key changes stays out of use until its diagnostics pass, also if they fail otherwise', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true });
    let answer = 'ND00268604';
    let checks = 0;
    const healthy = healthyBut(() => {});
    const port = await opened.fake((received) => {
      if (received.code !== 'NC') return healthy(received);
      checks++;
      received.socket.write(frame(`${received.header}${answer}${answer === 'ND41' ? '' : '01234567890007-E000'}`));
    });
    const hsm = await opened.hsm([port], { lmk: { form: 'variant', checkValue: '268604' } });
    const status = () => hsm.deviceStates()[0]!.status;
    const isChecked = async () => {
      const before = checks;
      vi.advanceTimersByTime(10_500);
      await expect.poll(() => checks, { interval: 5 }).toBeGreaterThan(before);
    };
    await expect.poll(status, { interval: 5 }).toBe('ready');
    answer = 'ND00999999';
    await isChecked();
    await expect.poll(status, { interval: 5 }).toBe('wrongLmk');
    answer = 'ND41';
    await isChecked();
    await isChecked();
    expect(status()).toBe('wrongLmk');
    answer = 'ND00268604';
    await isChecked();
    await expect.poll(status, { interval: 5 }).toBe('ready');
  });

  test('whose operator disabled NO and B2 is used', async () => {
    const healthy = healthyBut((received) => received.socket.write(goodMac(received)));
    const device: typeof healthy = (received) => {
      if (received.code === 'NO') received.socket.write(frame(`${received.header}NP68`));
      else if (received.code === 'B2') received.socket.write(frame(`${received.header}B368`));
      else healthy(received);
    };
    await computes(await readyHsm([await opened.fake(device)]), 'message');
  });

  test('without message headers has one command outstanding on each connection', async () => {
    const { port } = await opened.simulator({ headerLength: 0, latencyMs: 5 });
    const hsm = await readyHsm([port], { headerLength: 0, timeLimitMs: 3_000 });
    await Promise.all(Array.from({ length: 20 }, (_, at) => computes(hsm, `text ${at}`)));
  });

  test('that is too slow for its commands has a bounded queue', async () => {
    const hsm = await readyHsm([await opened.fake(healthyBut(() => {}))], { timeLimitMs: 200 });
    const calls = Array.from({ length: 1_000 }, () => failureOf(compute(hsm)));
    const { outstanding, queued } = hsm.deviceStates()[0]!;
    expect(outstanding + queued).toBeLessThanOrEqual(2 * 64 + 256);
    const codes = new Set((await Promise.all(calls)).map(({ code }) => code));
    expect(codes).toContain('BUSY');
    expect(hsm.deviceStates()[0]).toMatchObject({ outstanding: 0, queued: 0 });
  });
});

describe('several devices', () => {
  let good: { port: number; stop(): Promise<void> };
  beforeEach(async () => {
    good = await opened.simulator();
  });

  test('share the commands', async () => {
    const other = await opened.simulator();
    const hsm = await readyHsm([good.port, other.port]);
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
  ])('one of which %s fail no call', async (_, answer) => {
    const bad = await opened.fake(healthyBut(answer));
    const hsm = await readyHsm([bad, good.port]);
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 4 }, (_, at) => computes(hsm, `text ${round} ${at}`)));
    }
    expect(Object.keys(hsm.deviceStates()[0]!.failures)).not.toEqual([]);
  });

  test('one of which is slow leave most commands to the other', async () => {
    const slow = await opened.simulator({ latencyMs: 100 });
    const hsm = await readyHsm([slow.port, good.port], { timeLimitMs: 2_000 });
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
    const hsm = await readyHsm([good.port, other.port], { timeLimitMs: 2_000 });
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
    const hsm = await readyHsm([await opened.fake(refuse), await opened.fake(refuse)]);
    const from = { keyId: 'zpk', format: 0, block: new Uint8Array(8) } as const;
    const pan = '4111111111111111';
    const translated = hsm.translatePin({ from, to: { keyId: 'zpk', format: 0 }, pan });
    await expect(translated).rejects.toMatchObject({ code: 'PIN_BLOCK' });
    expect(commands).toBe(1);
  });

  test('no error and no state contains the account number, the PIN block or a key', async () => {
    const refuse = healthyBut(({ header, socket }) => socket.write(frame(`${header}CD10`)));
    const hsm = await readyHsm([await opened.fake(refuse)]);
    const block = Buffer.from('A1B2C3D4E5F60718', 'hex');
    const from = { keyId: 'zpk', format: 0, block } as const;
    const translated = hsm.translatePin({ from, to: { keyId: 'zpk', format: 0 }, pan: '4111111111111111' });
    const shown = inspect([await failureOf(translated), hsm, hsm.deviceStates()], { depth: 20, showHidden: true });
    expect(shown).toContain('Source key parity error');
    for (const secret of ['111111111111', 'A1B2C3D4E5F60718', ...fileKeys('variant').map(({ key }) => key)]) {
      expect(shown).not.toContain(secret);
    }
  });

  test('after close, calls that wait are rejected and no connection is left', async () => {
    const hsm = await readyHsm([await opened.fake(healthyBut(() => {}))], { timeLimitMs: 3_000 });
    const waiting = failureOf(compute(hsm));
    await hsm.close();
    expect((await waiting).code).toBe('CLOSED');
    expect(hsm.deviceStates()[0]).toMatchObject({ connectionsReady: 0, outstanding: 0 });
  });
});
