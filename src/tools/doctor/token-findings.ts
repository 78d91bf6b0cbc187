import type { HsmDeviceState } from '../../switching/hsm/device-state.ts';
import { type Finding, fault, good } from './finding.ts';

/** What to do about the failures that an operator can cause, by the name of the return value of PKCS #11. */
const ADVICE: Readonly<Record<string, string>> = {
  CKR_TOKEN_NOT_PRESENT: 'check PKCS11_TOKEN, the slot or partition, and the configuration of the library',
  CKR_PIN_INCORRECT: 'correct the file of PKCS11_PIN_FILE before the token locks the PIN',
  CKR_PIN_LOCKED: 'let the security officer of the token reset the PIN',
  TIMEOUT: 'check the connection from this machine to the token',
};

/** Whether the token with keys of the installation responds. */
export function tokenFinding({ name, address, status, firmware, lastFailure }: HsmDeviceState): Finding {
  const part = `token ${name}`;
  if (status === 'ready') return good(part, `responds through ${address}: firmware ${firmware ?? 'unknown'}`);
  const advice = ADVICE[lastFailure ?? ''] ?? 'check PKCS11_MODULE, and that this user may use the token';
  return fault(part, `does not respond through ${address}: ${lastFailure ?? 'unknown'}`, advice);
}
