import { CryptoError, TapwireError } from '../../basics/errors.ts';
import type { RegisteredKey } from '../../store/switches/hsm-keys.ts';
import type { HsmDeviceState, HsmDeviceStatus } from '../../switching/hsm/device-state.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const ADVICE: Readonly<Record<Exclude<HsmDeviceStatus, 'ready'>, string>> = {
  starting:
    'its diagnostics (NC, NO, B2) get no response: check the message header length and the host command settings',
  unreachable: 'check host, port, firewall and TLS files in the HSM file, and that the device is in the online state',
  circuitOpen: 'it failed repeatedly: see the last failure and the log of the device',
  wrongLmk: 'load the same LMK into all devices, or correct lmk.id and lmk.checkValue in the HSM file',
};

/** What is wrong with the devices of an HSM. */
export function hsmFindings(states: readonly HsmDeviceState[]): Finding[] {
  const findings = states.map((state) => (state.kind === 'service' ? serviceFinding(state) : findingOf(state)));
  if (states.length === 1 && states[0]!.kind === 'device')
    findings.push(
      warning('hsm', 'has one device: without it, no PIN and no MAC', 'add a second device to the HSM file'),
    );
  return findings;
}

function findingOf({ name, address, status, firmware, lmkCheckValue, lastFailure }: HsmDeviceState): Finding {
  const part = `hsm device ${name}`;
  if (status === 'ready')
    return good(part, `${address} is ready: firmware ${firmware ?? 'unknown'}, LMK ${lmkCheckValue ?? 'unknown'}`);
  const last = lastFailure === undefined ? '' : `; last failure: ${lastFailure}`;
  return fault(part, `${address} is ${WORDS[status]}${last}`, ADVICE[status]);
}

/** What to do about the failures of a service that an operator can cause, by code of AwsError. */
const ADVICE_OF_SERVICE: Readonly<Record<string, string>> = {
  UnrecognizedClientException: 'check the credentials of this machine and the region',
  InvalidSignatureException: 'check the credentials of this machine, and its clock',
  ExpiredTokenException: 'renew the credentials of this machine',
  UNREACHABLE: 'check region, endpoints and network in the HSM file, and that this machine has credentials',
  TIMEOUT: 'check the network to the endpoint, and timeLimitMs in the HSM file',
};

function serviceFinding({ name, address, status, lastFailure }: HsmDeviceState): Finding {
  if (status === 'ready') return good(`hsm service ${name}`, `${address} responds`);
  const advice = ADVICE_OF_SERVICE[lastFailure ?? ''] ?? 'see the last failure, and the log of the service';
  return fault(`hsm service ${name}`, `${address} does not respond: ${lastFailure ?? 'no key is configured'}`, advice);
}

const WORDS: Readonly<Record<Exclude<HsmDeviceStatus, 'ready'>, string>> = {
  starting: 'connected, but not ready',
  unreachable: 'unreachable',
  circuitOpen: 'out of use after failures',
  wrongLmk: 'out of use, because its LMK is not the configured one',
};

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

/** A key that the settings name, registered or not. */
export interface NamedKey {
  readonly keyId: string;
  /** What names it, as `processor 2 of acquirer 1 (macKeys.0.keyId)`. */
  readonly namedBy: string;
}

/**
 * Keys that a processor names and the HSM cannot use: a key may vanish after the gateway has started, and taps then go
 * to the next processor without a word.
 */
export async function namedKeyFindings(
  keys: readonly NamedKey[],
  kcvOf: (keyId: string) => Promise<string>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { keyId, namedBy } of keys) {
    try {
      await kcvOf(keyId);
    } catch (error) {
      if (!(error instanceof TapwireError)) throw error;
      if (!(error instanceof CryptoError)) return []; // the findings of the devices state it
      const advice = 'restore the key in the HSM and its key file, or let the processor name another one';
      findings.push(fault(namedBy, `the HSM cannot use its key ${keyId} (${error.code})`, advice));
    }
  }
  if (keys.length > 0 && findings.length === 0)
    findings.push(good('hsm keys', `the HSM can use the ${keys.length} that processors name`));
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
