import net from 'node:net';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { kcv } from '../../src/codecs/crypto/mac.ts';
import { openPayshield, type PayshieldFile } from '../../src/hsm-devices/payshield/open-payshield.ts';
import type { PayshieldHsm } from '../../src/hsm-devices/payshield/payshield-hsm.ts';
import {
  SimulatedPayshield,
  type SimulatedPayshieldOptions,
} from '../../src/tools/simulator/hsm/simulated-payshield.ts';
import { KEY_USES, type LmkForm, TestLmk } from '../../src/tools/simulator/hsm/test-lmk.ts';

export const HOST = '127.0.0.1';
export const SILENT_LOG = { info: () => {}, warn: () => {} };

/** Clear keys; only the simulated device and the expectations of tests use them. */
export const CLEAR = {
  zmk: '0123456789ABCDEFFEDCBA9876543210',
  tpk: '5DB50B454F8389ADCE573BE50861F2BF',
  zpk: 'C1D0F8FB4958670DBA40AB1F3752EF0D',
  zak: '0123456789ABCDEFFEDCBA9876543210',
  x99: '0123456789ABCDEF',
  bdk: '0123456789ABCDEFFEDCBA9876543210',
  otherBdk: '5DB50B454F8389ADCE573BE50861F2BF',
} as const;

const USES = {
  zmk: ['keyEncryption', 'ZMK'],
  kbpk: ['keyBlockProtection', 'ZMK'],
  tpk: ['pin', 'TPK'],
  zpk: ['pin', 'ZPK'],
  zak: ['mac', 'ZAK'],
  x99: ['mac', 'ZAK'],
  bdk: ['dukptBase', 'BDK'],
  otherBdk: ['dukptBase', 'BDK'],
} as const;

export type TestKeyId = keyof typeof USES;

export const clearKey = (keyId: TestKeyId) => new BlockKey('tdes', fromHex(CLEAR[keyId === 'kbpk' ? 'zmk' : keyId]));

/** The keys of CLEAR as a configuration file lists them, under the test LMK. */
export function fileKeys(form: LmkForm): PayshieldFile['keys'] {
  const lmk = new TestLmk(form);
  return (Object.keys(USES) as TestKeyId[]).map((keyId) => {
    const [usage, type] = USES[keyId];
    const key = clearKey(keyId);
    const text = lmk.protect(key, KEY_USES[type], keyId === 'x99' ? 'M1' : undefined);
    const lengthBytes = key.lengthBytes as 8 | 16;
    return { keyId, usage, type, algorithm: 'tdes', lengthBytes, key: text, kcv: kcv(key) };
  });
}

export type FileChanges = Partial<Omit<PayshieldFile, 'devices'>> & {
  readonly tls?: object;
  readonly connections?: number;
};

/** A configuration with one device for each port. */
export function fileFor(ports: readonly number[], { tls, connections, ...changes }: FileChanges = {}): object {
  return {
    kind: 'payshield',
    lmk: { form: 'variant' },
    devices: ports.map((port, at) => ({ name: `hsm-${at + 1}`, host: HOST, port, connections, ...(tls && { tls }) })),
    keys: fileKeys(changes.lmk?.form ?? 'variant'),
    ...changes,
  };
}

/** What a test opened, closed in reverse order by `closeAll`. */
export class Opened {
  readonly #closing: (() => Promise<void>)[] = [];

  async simulator(options: Partial<SimulatedPayshieldOptions> = {}): Promise<{ port: number; stop(): Promise<void> }> {
    const { device, port } = await SimulatedPayshield.start({ port: 0, host: HOST, ...options });
    this.#closing.push(() => device.close());
    return { port, stop: () => device.close() };
  }

  async hsm(ports: readonly number[], changes?: FileChanges, path = '/hsm.json'): Promise<PayshieldHsm> {
    const hsm = await openPayshield(fileFor(ports, changes), path, SILENT_LOG);
    this.#closing.push(() => hsm.close());
    return hsm;
  }

  /** A device whose responses the test decides. */
  async fake(onMessage: FakeDevice): Promise<number> {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      let pending = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        pending = Buffer.concat([pending, chunk]);
        while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
          const message = pending.subarray(2, 2 + pending.readUInt16BE(0)).toString('latin1');
          pending = pending.subarray(2 + message.length);
          onMessage({ header: message.substring(0, 4), code: message.substring(4, 6), message, socket });
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    this.#closing.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    return (server.address() as net.AddressInfo).port;
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    this.#closing.length = 0;
  }
}

export interface FakeMessage {
  readonly header: string;
  readonly code: string;
  readonly message: string;
  readonly socket: net.Socket;
}

export type FakeDevice = (message: FakeMessage) => void;

export function frame(text: string): Buffer {
  const body = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.of(body.length >> 8, body.length & 0xff), body]);
}

const HEALTH: Readonly<Record<string, (message: string) => string>> = {
  NC: () => 'ND000123456789ABCDEF0007-E000',
  NO: () => 'NP0031640007-E00000000',
  B2: (message) => `B300${message.substring(10)}`,
};

/** Responds to the diagnostics as a healthy device does, and leaves other commands to the test. */
export function healthyBut(onCommand: FakeDevice): FakeDevice {
  return (received) => {
    const response = HEALTH[received.code]?.(received.message);
    if (response === undefined) onCommand(received);
    else received.socket.write(frame(received.header + response));
  };
}
