import { CryptoError } from '../../basics/errors.ts';
import { macMethodOf } from '../../kits/processor-kit/message-codec.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { MacHsm } from './hsm-codec.ts';

/** The length of one block of TDES. */
const TRIAL = new Uint8Array(8);

/**
 * Computes a MAC of zeros and verifies it. A key that the HSM does not have, that does not fit the algorithm or that may only
 * make MACs is refused before a message needs it: an approval whose MAC cannot be verified would be reversed.
 *
 * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_LENGTH
 */
export async function tryMacKey(
  { mac: rule }: Processor,
  config: SwitchConfig,
  hsm: MacHsm,
  keyId: string,
): Promise<void> {
  if (rule === undefined) return;
  const request = { keyId, method: macMethodOf(rule, config), message: TRIAL, lengthBytes: rule.macBytes };
  const mac = await hsm.mac(request);
  if (!(await hsm.verifyMac({ ...request, mac }))) throw new CryptoError('KEY_USAGE');
}
