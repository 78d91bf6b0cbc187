import { stat } from 'node:fs/promises';
import type { ProfileReader } from '#schemas/terminal-profile';
import type { LoginDomain } from '../../auth/portal/log-in.ts';
import { CryptoError, TapwireError } from '../../basics/errors.ts';
import { type FileAccess, isPrivateFile } from '../../basics/files/change-file.ts';
import type { KeyRing } from '../../card/key-ring.ts';
import { type ReaderRules, readerFaults } from '../../payments/settings/check-settings.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import type { RegisteredKey } from '../../store/switches/hsm-keys.ts';
import type { HsmDeviceState, HsmDeviceStatus } from '../../switching/hsm/hsm-calls.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const PART = 'keys';
const DAY_MS = 86_400_000;
/** PCI DSS 3.7.4: keys are changed at the end of their cryptoperiod, which is a year here. */
const CRYPTOPERIOD_DAYS = 365;
/** Acquirers in one finding: more would hide the sentence. */
const MAX_NAMED = 20;

interface FileFacts extends FileAccess {
  readonly mtimeMs: number;
}

/** Whether the key file is readable only for its owner, and its age; each rotation rewrites the file. */
export async function keyFindings(
  path: string,
  open: (path: string) => Promise<KeyRing>,
  nowMs: number,
): Promise<Finding[]> {
  let file: FileFacts;
  let keys: KeyRing;
  try {
    file = await stat(path);
    keys = await open(path);
  } catch (error) {
    const reason = error instanceof TapwireError ? error.message : `${path} cannot be read`;
    return [fault(PART, reason, 'run tapwire keys create for a new installation, or restore the file from its backup')];
  }
  return [permissions(path, file), age(file.mtimeMs, nowMs), ...retiring(keys, nowMs)];
}

function permissions(path: string, file: FileFacts): Finding {
  if (isPrivateFile(file)) return good(PART, `only the owner, or the group of the process, can access ${path}`);
  return fault(
    PART,
    `${path} can be accessed by other users (mode ${(file.mode & 0o777).toString(8)})`,
    `chmod 600 ${path}; prod and qa do not start with it`,
  );
}

function age(changedAtMs: number, nowMs: number): Finding {
  const days = Math.floor((nowMs - changedAtMs) / DAY_MS);
  if (days <= CRYPTOPERIOD_DAYS) return good(PART, `last changed ${days} days ago`);
  return warning(PART, `no key was changed for ${days} days`, 'run tapwire keys rotate --purpose … for each purpose');
}

/** A retired card data key opens nothing. The gateway refuses readers that still seal with it. */
function retiring(keys: KeyRing, nowMs: number): Finding[] {
  const { keys: published } = keys.publicCardDataKeys(nowMs);
  return [good(PART, `${published.length} card data keys are published`)];
}

/** A terminal profile that names a reader format. */
export interface ProfileWithReader {
  readonly acquirerId: number;
  readonly name: string;
  readonly reader: ProfileReader;
}

/** Profiles whose taps are refused, because their format was removed or a key no longer belongs to their acquirer. */
export function readerFindings(rules: ReaderRules, profiles: readonly ProfileWithReader[]): Finding[] {
  const faults = profiles.flatMap(({ acquirerId, name, reader }) =>
    readerFaults(rules, acquirerId, reader).map(({ path, detail }) =>
      fault(
        `terminal profile ${name} of acquirer ${acquirerId}`,
        `its taps are refused: reader.${path.map(String).join('.')} ${detail}`,
        'correct the profile, or add the format to READERS or the key to SWITCH_KEYS',
      ),
    ),
  );
  return faults.length > 0 ? faults : [good('readers', `${rules.formats.size} formats of card data are installed`)];
}

/** What to do about the failures that an operator can cause, by the name of the return value of PKCS #11. */
const ADVICE_OF_TOKEN: Readonly<Record<string, string>> = {
  CKR_TOKEN_NOT_PRESENT: 'check PKCS11_TOKEN, the slot or partition, and the configuration of the library',
  CKR_PIN_INCORRECT: 'correct the file of PKCS11_PIN_FILE before the token locks the PIN',
  CKR_PIN_LOCKED: 'let the security officer of the token reset the PIN',
  TIMEOUT: 'check the connection from this machine to the token',
};

/** Whether the token with keys of the installation responds. */
export function tokenFinding({ name, address, status, firmware, lastFailure }: HsmDeviceState): Finding {
  const part = `token ${name}`;
  if (status === 'ready') return good(part, `responds through ${address}: firmware ${firmware ?? 'unknown'}`);
  const advice = ADVICE_OF_TOKEN[lastFailure ?? ''] ?? 'check PKCS11_MODULE, and that this user may use the token';
  return fault(part, `does not respond through ${address}: ${lastFailure ?? 'unknown'}`, advice);
}

const SHARED = `
select issuer, array_agg(distinct acquirer_id order by acquirer_id) as acquirers,
  array_agg(distinct acquirer_id order by acquirer_id) filter (where proven_at is null) as unproven
from issuer_keys where revoked_at is null
group by issuer having count(distinct acquirer_id) > 1 order by issuer limit 20`;

/**
 * Names of issuers that several acquirers have registered; only the operator sees this. It is correct for an
 * integrator that works for both. Otherwise one acquirer may try to accept the tokens of another one's integrator.
 */
export async function issuerFindings(database: Database): Promise<Finding[]> {
  const { rows } = await database.query<{ issuer: string; acquirers: number[]; unproven: number[] | null }>(SHARED);
  if (rows.length === 0) return [good('issuers', 'each is registered by one acquirer')];
  return rows.map(({ issuer, acquirers, unproven }) =>
    warning(
      `issuer ${issuer}`,
      `acquirers ${acquirers.join(', ')} have registered it${unproven ? `, ${unproven.join(', ')} without a proof of the private key` : ''}`,
      'check with the owner of the issuer; without the claim acquirerId, its tokens are refused unless their key is proven for one acquirer',
    ),
  );
}

/**
 * Acquirers that may create user names outside a domain of their own while others do, too: a login names no acquirer, so a
 * refused name reveals that another acquirer uses it.
 */
export async function userNameFindings(database: Database, domains: readonly LoginDomain[]): Promise<Finding[]> {
  const { rows } = await database.query<{ id: number }>('select id from acquirers order by id');
  const listed = new Set(domains.map(({ acquirerId }) => acquirerId));
  const open = rows.filter(({ id }) => !listed.has(id)).map(({ id }) => id);
  if (rows.length < 2 || open.length === 0) return [good('user names', 'none is revealed to another acquirer')];
  const description = `a refused name reveals users of other acquirers to ${open.slice(0, MAX_NAMED).join(', ')}${open.length > MAX_NAMED ? ` and ${open.length - MAX_NAMED} more` : ''}`;
  return [warning('user names', description, 'give each acquirer a domain in LOGIN_DOMAINS')];
}

const ADVICE_OF_DEVICE: Readonly<Record<Exclude<HsmDeviceStatus, 'ready'>, string>> = {
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
  return fault(part, `${address} is ${WORDS[status]}${last}`, ADVICE_OF_DEVICE[status]);
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
