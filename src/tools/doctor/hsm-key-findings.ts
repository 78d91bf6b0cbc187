import { CryptoError, TapwireError } from '../../basics/errors.ts';
import type { RegisteredKey } from '../../store/switches/hsm-keys.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const DAY_MS = 86_400_000;
/** Agreeing on a new key with another party takes weeks. */
const WARNED_DAYS = 30;

/**
 * Registered keys that are due, or that the HSM does not have as they were registered. Without an HSM, and for a device that
 * does not respond, other findings state the fault.
 */
export async function hsmKeyFindings(
  keys: readonly RegisteredKey[],
  kcvOf: (keyId: string) => Promise<string>,
  nowMs: number,
): Promise<Finding[]> {
  const live = keys.filter(({ retiredAt }) => retiredAt === null);
  const findings: Finding[] = [];
  for (const key of live) findings.push(...(await checkValue(key, kcvOf)), ...dates(key, nowMs));
  if (live.length > 0 && findings.length === 0)
    findings.push(good('hsm keys', `${live.length} are registered, none is due`));
  return findings;
}

async function checkValue(
  { keyId, kcv }: RegisteredKey,
  kcvOf: (keyId: string) => Promise<string>,
): Promise<Finding[]> {
  const part = `hsm key ${keyId}`;
  try {
    const current = await kcvOf(keyId);
    if (current === kcv) return [];
    return [
      fault(
        part,
        `has check value ${current}, registered is ${kcv}`,
        'restore the registered key in the HSM and its key file',
      ),
    ];
  } catch (error) {
    if (error instanceof CryptoError)
      return [
        fault(
          part,
          `cannot be used (${error.code})`,
          'add it to the key file of this machine, or run tapwire hsm retire',
        ),
      ];
    if (error instanceof TapwireError) return []; // the findings of the devices state it
    throw error;
  }
}

function dates({ keyId, dueOn, successor, overlapEndsAt }: RegisteredKey, nowMs: number): Finding[] {
  const part = `hsm key ${keyId}`;
  if (overlapEndsAt !== null) {
    if (Date.parse(overlapEndsAt) > nowMs) return [];
    return [warning(part, `was replaced by ${successor}, and its overlap is over`, `run tapwire hsm retire ${keyId}`)];
  }
  const days = Math.ceil((Date.parse(dueOn) - nowMs) / DAY_MS);
  if (days > WARNED_DAYS) return [];
  const advice = 'agree on a successor, then run tapwire hsm import and tapwire hsm rotate';
  return [warning(part, days > 0 ? `is due in ${days} days` : `has been due since ${dueOn}`, advice)];
}
