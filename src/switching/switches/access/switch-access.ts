import { BlockList, isIP, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type Fault, StartError } from '../../../basics/errors.ts';
import { isExchangedKeyId, ownerNamedBy } from '../../../codecs/crypto/key-policy.ts';
import type { SwitchConfig } from '../../../kits/processor-kit/switch-config.ts';
import { isAllowedAddress } from '../../../outbound/public-addresses.ts';
import { type Grant, hasPort, isGrantedTo, isInNetwork, type ListenerGrant, type NetworkGrant } from './grants.ts';

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
}: Pick<SwitchConfig, 'macKeys' | 'pinKey' | 'keyExchange'>): { path: PropertyKey[]; keyId: string }[] {
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

export interface SwitchAccessRules {
  readonly networks: readonly Grant<NetworkGrant>[];
  readonly listeners: readonly Grant<ListenerGrant>[];
  readonly keys: KeyOwnership;
  /** Contains a folder for each acquirer, named with its number. */
  readonly tlsFilesDirectory: string;
}

/** RFC 6761 6.3: these names always mean this machine, regardless of DNS. */
const LOCALHOST = /(^|\.)localhost\.?$/i;
const LOOPBACK = ['127.0.0.1', '::1'];

const DENIED = {
  SWITCH_NETWORKS: 'an address that the operator has not given to this acquirer (SWITCH_NETWORKS)',
  SWITCH_LISTENERS: 'a host and port that the operator has not given to this acquirer (SWITCH_LISTENERS)',
  SWITCH_KEYS: 'a key that is not of this acquirer (its own are acquirer/<id>/..., others are in SWITCH_KEYS)',
} as const;

/** A setting with grants of the operator to acquirers. */
export type GrantSetting = keyof typeof DENIED;

/** A value that an acquirer must not use, and the values of the setting with which it could. */
interface Denied {
  readonly path: readonly PropertyKey[];
  readonly setting: GrantSetting;
  readonly grants: readonly string[];
}

/**
 * Controls which parts of the machine, its network and its HSM a switch's configuration may use. Acquirers configure
 * their own switches, so each address, port, file and key has an owner. Resources that the operator has not granted
 * to an acquirer are refused: when the configuration is stored, when the connection is opened (the configuration may
 * be older than the check), and for names each time they are dialled.
 */
export class SwitchAccess {
  readonly #rules: SwitchAccessRules;

  constructor(rules: SwitchAccessRules) {
    this.#rules = rules;
  }

  /**
   * A granted address belongs to the acquirers that have the grant, also if it is public: a switch may trust every
   * connection from this machine. Public addresses without a grant are free; all other addresses are refused.
   */
  mayDial(acquirerId: number, address: string, port: number): boolean {
    const given = this.#rules.networks.filter(({ what }) => hasPort(what, port) && isInNetwork(what.network, address));
    if (given.length > 0) return given.some((grant) => isGrantedTo(grant, acquirerId));
    return isAllowedAddress(address, { allowLoopback: false }) && !isOwnAddress(address);
  }

  /** Folder of the PEM files that the acquirer's configurations name. */
  tlsFolder(acquirerId: number): string {
    return join(this.#rules.tlsFilesDirectory, String(acquirerId));
  }

  /** Resources in the configuration that do not belong to the acquirer. */
  faults(acquirerId: number, config: SwitchConfig): Fault[] {
    return this.#denied(acquirerId, config).map(({ path, setting }) => ({ path, detail: DENIED[setting] }));
  }

  /** What the operator would have to add to which setting, for a configuration without faults: `1=10.1.0.5:9101`. */
  missingGrants(acquirerId: number, config: SwitchConfig): { setting: GrantSetting; grant: string }[] {
    return this.#denied(acquirerId, config).flatMap(({ setting, grants }) =>
      grants.map((value) => ({ setting, grant: `${acquirerId}=${value}` })),
    );
  }

  #denied(acquirerId: number, config: SwitchConfig): Denied[] {
    const { keys } = this.#rules;
    const denied: Denied[] = config.addresses.flatMap(({ host, port }, at) => {
      const foreign = literalAddresses(host).filter((address) => !this.mayDial(acquirerId, address, port));
      const grants = foreign.map((address) => placeOf(address, port));
      return foreign.length === 0 ? [] : [{ path: ['addresses', at, 'host'], setting: 'SWITCH_NETWORKS', grants }];
    });
    const { accept } = config;
    if (accept && !this.#mayListen(acquirerId, accept))
      denied.push({
        path: ['accept', 'port'],
        setting: 'SWITCH_LISTENERS',
        grants: [placeOf(accept.host, accept.port)],
      });
    for (const { path, keyId } of keysNamedBy(config).filter((named) => !keys.mayUse(acquirerId, named.keyId))) {
      const isGrantable = ownerNamedBy(keyId) === undefined && !isExchangedKeyId(keyId);
      denied.push({ path, setting: 'SWITCH_KEYS', grants: isGrantable ? [keyId] : [] });
    }
    return denied;
  }

  /**
   * Like `faults`, but runs before the HSM is called or anything is read or dialled, because a grant may have
   * been withdrawn since the configuration was stored.
   *
   * @param where names the processor
   * @throws StartError BAD_PROCESSOR naming each setting whose value does not belong to the acquirer
   */
  check(acquirerId: number, config: SwitchConfig, where: string): void {
    const faults = this.faults(acquirerId, config).map(({ path, detail }) => `${path.join('.')}: ${detail}`);
    if (faults.length > 0) throw new StartError('BAD_PROCESSOR', `${where}: ${faults.join('; ')}`);
  }

  #mayListen(acquirerId: number, { host, port }: { readonly host: string; readonly port: number }): boolean {
    return this.#rules.listeners.some(
      (grant) => isGrantedTo(grant, acquirerId) && grant.what.host === host && hasPort(grant.what, port),
    );
  }
}

function placeOf(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/**
 * The addresses of a host that are known without a lookup; none for a name. They are read as by `inet_aton`: `0x7f.1`
 * and `2130706433` are 127.0.0.1.
 */
function literalAddresses(host: string): readonly string[] {
  if (isIP(host) !== 0) return [host];
  if (LOCALHOST.test(host)) return LOOPBACK;
  const normal = URL.parse(`http://${host}/`)?.hostname ?? '';
  return isIPv4(normal) ? [normal] : [];
}

/**
 * An address of this machine's interfaces is equivalent to loopback: a service that listens on all interfaces listens
 * there.
 */
function isOwnAddress(address: string): boolean {
  const own = new BlockList();
  for (const interfaces of Object.values(networkInterfaces()))
    for (const { address: mine, family } of interfaces ?? [])
      own.addAddress(mine.split('%', 1)[0]!, family === 'IPv4' ? 'ipv4' : 'ipv6');
  return isInNetwork(own, address);
}
