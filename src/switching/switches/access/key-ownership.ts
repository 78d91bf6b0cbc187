import { isExchangedKeyId, ownerNamedBy } from '../../../codecs/crypto/key-ids.ts';
import type { SwitchConfig } from '../../../kits/processor-kit/switch-config.ts';
import { type Grant, isGrantedTo } from './grants.ts';

export interface KeyOwnershipRules {
  /** Keys whose names do not identify the owner: ids, or beginnings of ids with a `*`. */
  readonly grants: readonly Grant<string>[];
  /** The base derivation key of the installation's readers. */
  readonly readerKeyId: string;
}

/**
 * Ownership of the HSM's keys. One HSM holds the keys of every acquirer, and a switch's configuration names keys by
 * id. Without owners, an acquirer could authenticate messages and translate PINs with the keys of another one. Every
 * place that takes a key id from a tenant checks here before it calls the HSM, so that a response does not reveal
 * whether the key exists.
 */
export class KeyOwnership {
  readonly #rules: KeyOwnershipRules;

  constructor(rules: KeyOwnershipRules) {
    this.#rules = rules;
  }

  mayUse(acquirerId: number, keyId: string): boolean {
    if (isExchangedKeyId(keyId)) return false;
    const owner = ownerNamedBy(keyId);
    if (owner !== undefined) return owner === acquirerId;
    const { grants, readerKeyId } = this.#rules;
    // A pattern never matches the key of the readers, because it protects the PINs of all acquirers.
    const matches = (pattern: string) => pattern === keyId || (keyId !== readerKeyId && hasPattern(pattern, keyId));
    return grants.some((grant) => isGrantedTo(grant, acquirerId) && matches(grant.what));
  }
}

/** Every key that a switch's configuration names, with the setting that names it. */
export function keysNamedBy({
  macKeys = [],
  pinKey,
  keyExchange,
}: SwitchConfig): { path: PropertyKey[]; keyId: string }[] {
  const named: { path: PropertyKey[]; keyId: string }[] = macKeys.map(({ keyId }, at) => ({
    path: ['macKeys', at, 'keyId'],
    keyId,
  }));
  if (pinKey) named.push({ path: ['pinKey', 'keyId'], keyId: pinKey.keyId });
  if (keyExchange) named.push({ path: ['keyExchange', 'transportKeyId'], keyId: keyExchange.transportKeyId });
  return named;
}

function hasPattern(pattern: string, keyId: string): boolean {
  return pattern.endsWith('*') && keyId.startsWith(pattern.slice(0, -1));
}
