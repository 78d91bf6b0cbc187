import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { decipherPin, encipherPin, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { DeviceConnection } from '../../src/hsm-devices/payshield/device/connection.ts';
import { diagnostics, keyCheckValue, translateZonePin } from '../../src/hsm-devices/payshield/payshield-commands.ts';
import { missingModule, startPython } from './python.ts';
import { CLEAR, clearKey, HOST } from './support.ts';

/**
 * The device of the package, on a free port of this machine only. Without its trace of each message, and without its check of
 * parity, which requires even parity.
 */
const SERVER = `
import socket
import pythales.hsm
pythales.hsm.trace = lambda *parts: None
hsm = pythales.hsm.HSM(skip_parity=True)
hsm.sock = socket.socket()
hsm.sock.bind(('127.0.0.1', 0))
hsm.sock.listen(5)
print(hsm.sock.getsockname()[1])
hsm.init_connection = lambda: None
hsm.run()
`;

const PAN = '4111111111111111';
const ACCOUNT = '111111111111';
const TIMEOUT_MS = 10_000;

/** Its LMK is one TDES key without variants. */
const lmk = new BlockKey('tdes', fromHex('DEAFBEEDEAFBEEDEAFBEEDEAFBEEDEAF'));
const underLmk = (hex: string) => toHex(lmk.encrypt(fromHex(hex)));

const missing = await missingModule('pythales.hsm');

/** pythales expects one fixed message header, or none, and responds in order. It knows NC, BU and CA of the commands here. */
describe('a foreign simulated device, pythales', () => {
  let server: ChildProcess | undefined;
  let connection: DeviceConnection | undefined;

  beforeAll(async () => {
    if (missing !== undefined) return;
    const started = await startPython(SERVER);
    server = started.process;
    connection = await new Promise<DeviceConnection>((resolve, reject) => {
      const opened: DeviceConnection = new DeviceConnection({
        name: 'pythales',
        address: { host: HOST, port: started.firstNumber },
        headerLength: 0,
        mostOutstanding: 1,
        connectTimeoutMs: TIMEOUT_MS,
        onOpen: () => resolve(opened),
        onFree: () => {},
        onClosed: reject,
      });
    });
  });
  afterAll(() => {
    connection?.close();
    server?.kill();
  });

  test('understands NC', async ({ skip }) => {
    skip(missing !== undefined, missing);
    expect(await connection!.send(diagnostics(), TIMEOUT_MS)).toMatchObject({ firmware: '0007-E000' });
  });

  // It uses the destination key without deciphering it, so the block is under the cryptogram.
  test('understands CA', async ({ skip }) => {
    skip(missing !== undefined, missing);
    const request = translateZonePin({
      lmk: { form: 'variant' },
      sourceType: 'TPK',
      sourceKey: `U${underLmk(CLEAR.tpk)}`,
      destinationKey: `U${underLmk(CLEAR.zpk)}`,
      block: toHex(encipherPin(0, parsePin('12345'), PAN, clearKey('tpk'))),
      sourceFormat: '01',
      destinationFormat: '01',
      accountNumber: ACCOUNT,
    });
    const block = fromHex(await connection!.send(request, TIMEOUT_MS));
    const cryptogram = new BlockKey('tdes', fromHex(underLmk(CLEAR.zpk)));
    expect([...decipherPin(0, block, PAN, cryptogram).reveal()].join('')).toBe('12345');
  });

  // It ignores Key Check Value Type and returns 16 digits; 6 were requested.
  test('understands BU, and its check value of another length is refused', async ({ skip }) => {
    skip(missing !== undefined, missing);
    const key = `U${underLmk(CLEAR.zpk)}`;
    const request = keyCheckValue({ lmk: { form: 'variant' }, keyType: 'ZPK', key });
    await expect(connection!.send(request, TIMEOUT_MS)).rejects.toMatchObject({ code: 'RESPONSE_INVALID' });
  });
});
