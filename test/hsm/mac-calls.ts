import { expect } from 'vitest';
import { HsmDeviceError, HsmUnavailable } from '../../src/basics/errors.ts';
import { keyMac, MAC_ALGORITHMS } from '../../src/codecs/crypto/mac.ts';
import type { PayshieldHsm } from '../../src/hsm-devices/payshield/payshield-hsm.ts';
import { clearKey, type FileChanges, frame, type Opened } from './support.ts';

const METHOD = MAC_ALGORITHMS['x9.19'];
const LIMIT_MS = 400;

const macOf = (text: string) => Buffer.from(keyMac(clearKey('zak'), METHOD)(Buffer.from(text))).toString('hex');

/** Has the HSM compute a MAC, and compares it. */
export async function computes(hsm: PayshieldHsm, text: string): Promise<void> {
  expect(Buffer.from(await compute(hsm, text)).toString('hex')).toBe(macOf(text));
}

export const compute = (hsm: PayshieldHsm, text = 'message', keyId = 'zak') =>
  hsm.mac({ keyId, method: METHOD, message: Buffer.from(text), lengthBytes: 8 });

export async function readyHsm(
  opened: Opened,
  ports: readonly number[],
  changes: FileChanges = {},
): Promise<PayshieldHsm> {
  const hsm = await opened.hsm(ports, { timeLimitMs: LIMIT_MS, ...changes });
  await expect.poll(() => hsm.deviceStates().every(({ status }) => status === 'ready'), { interval: 5 }).toBe(true);
  return hsm;
}

/** The failure of the last device, which HsmUnavailable has as its cause. */
export async function failureOf(call: Promise<unknown>): Promise<HsmDeviceError> {
  const error = await call.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(HsmUnavailable);
  expect(error.cause).toBeInstanceOf(HsmDeviceError);
  return error.cause;
}

/** A correct response to a command of `compute`. */
export const goodMac = ({ header, message }: { readonly header: string; readonly message: string }) => {
  const text = message.substring(message.lastIndexOf('0007') + 4);
  return frame(`${header}M700${macOf(text).toUpperCase()}`);
};
