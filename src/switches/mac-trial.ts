import { macMethodOf } from '../processor-kit/message-codec.ts';
import type { Processor, SwitchConfig } from '../processor-kit/processor.ts';
import type { MacHsm } from './hsm-codec.ts';

/** The length of one block of TDES. */
const TRIAL = new Uint8Array(8);

/**
 * Computes a MAC of zeros, so that a key which the HSM does not have, or which does not fit the algorithm, is refused
 * before a message needs it.
 *
 * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH
 */
export async function tryMacKey(
  { mac }: Processor,
  config: SwitchConfig,
  hsm: Pick<MacHsm, 'mac'>,
  keyId: string,
): Promise<void> {
  if (mac === undefined) return;
  await hsm.mac({ keyId, method: macMethodOf(mac, config), message: TRIAL, lengthBytes: mac.macBytes });
}
