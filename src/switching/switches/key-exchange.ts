import { CryptoError, KeyExchangeError, PlugInError, StartError } from '../../basics/errors.ts';
import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import { namesOfMac } from '../../codecs/crypto/mac.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import { keyExchangeFaults } from '../../kits/processor-kit/key-change.ts';
import { isTrusted, judgeMac } from '../../kits/processor-kit/mac-layout.ts';
import { macMethodOf } from '../../kits/processor-kit/message-codec.ts';
import type { MessageStamp, Processor, SwitchConfig, WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import type { ExchangeConnection, KeyChangeSide, KeyDecision } from '../../kits/processor-kit/switch-protocol.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import { hsmCodec, type MacHsm, tryMacKey } from './hsm-codec.ts';
import { KeyIntake } from './key-intake.ts';
import { codeOf, KeyFaults, KeyRefresh, KeyRequests, type KeyRequestsOptions } from './key-requests.ts';
import type { ExchangedKey, ExchangedKeys, ProcessorKey } from './ports.ts';
import { type KeyStore, type UsableKey, WorkingKeys } from './working-keys.ts';

const TIMES = {
  /** Interval at which keys exchanged by other workers are read, and the age of keys is checked. */
  followEveryMs: 2_000,
  /** Limit for the response to the request, and again for the key. A sign-on takes no longer than two keys. */
  exchangeMs: 2_400,
};
/**
 * If a connection is lost this soon after the gateway's response, the response may be lost, too. The key is then
 * requested again.
 */
const RESPONSE_SETTLED_MS = 5_000;

/** State of one switch's keys; the first two numbers only increase. */
export interface KeyExchangeStats {
  readonly exchanged: number;
  readonly failed: number;
  /** Why the last exchange failed; undefined after a later one has succeeded. */
  readonly lastFault: string | undefined;
  /** The accepted exchanged keys, newest first. */
  readonly keys: readonly { readonly use: WorkingKeyUse; readonly number: number; readonly kcv: string }[];
  /** How long the key of each use has been in use; null while it is the key of the configuration. */
  readonly ages: readonly { readonly use: WorkingKeyUse; readonly ageMs: number | null }[];
  /** For each use 1 if messages that need such a key cannot be sent, because the switch may have none of the keys. */
  readonly keyless: Readonly<Partial<Record<WorkingKeyUse, number>>>;
  /** Age at which the gateway requests a new key; null if the switch decides when keys change. */
  readonly maxAgeMs: number | null;
}

/** The connection of the last response to an announcement of one use. */
interface LastResponse {
  readonly connectionId: string;
  readonly atMs: number;
}

/**
 * Exchanges the working keys of one switch while traffic runs (`processor-kit/key-change.ts` describes the steps).
 * After any failure the previous keys remain in use, and the failure is logged, counted and retried.
 *
 * {@link KeyRequests} asks for keys that are due, {@link KeyIntake} imports the keys that the switch announces, and
 * {@link KeyRefresh} reads those that other workers have exchanged. This class knows the signed-on connections, and
 * takes a key into use.
 */
export class KeyExchange implements KeyChangeSide {
  readonly macKeys: WorkingKeys;
  readonly #options;
  readonly #faults: KeyFaults;
  readonly #requests: KeyRequests;
  readonly #intake: KeyIntake;
  readonly #refresh: KeyRefresh;
  readonly #follower: Repetition;
  readonly #lines = new Map<string, ExchangeConnection>();
  readonly #lastResponses = new Map<WorkingKeyUse, LastResponse>();
  #exchanged = 0;

  constructor(
    options: Omit<KeyRequestsOptions, 'exchangeMs' | 'faults'> & {
      readonly log: ConnectionLog;
      /** Where the keys report what the HSM refuses; by default the exchange has its own. */
      readonly faults?: KeyFaults | undefined;
      readonly times?: Partial<typeof TIMES> | undefined;
    },
  ) {
    const { followEveryMs, exchangeMs } = { ...TIMES, ...options.times };
    this.#options = options;
    this.macKeys = options.keys;
    this.#faults = options.faults ?? new KeyFaults(options);
    this.#refresh = new KeyRefresh(options.keys, this.#faults);
    this.#requests = new KeyRequests({ ...options, exchangeMs, faults: this.#faults });
    this.#intake = new KeyIntake({
      ...options,
      isTrusted: (announcement) => this.#isTrustedNow(announcement),
      isAskedAnew: (use) => this.#requests.isAskedAnew(use),
      isAwaited: (use) => this.#requests.isAwaited(use),
      onUnsent: ({ use }) => this.#requests.want(use),
      onTaken: (key, line) => this.#begin(key, line),
      onRefused: (fault) => this.#faults.record(fault),
    });
    this.#follower = repeatEvery(
      followEveryMs,
      () => this.#follow(),
      (error) => this.#faults.record(error),
    );
    for (const use of options.keys.doubted) this.#requests.want(use);
  }

  get stats(): KeyExchangeStats {
    const { keys: uses, startedBy, maxAgeSeconds } = this.#options.config.keyExchange;
    const { count: failed, last: lastFault } = this.#faults;
    const keys = this.macKeys.live.map(({ use, number, kcv }) => ({ use, number, kcv }));
    const ages = uses.map((use) => ({ use, ageMs: this.macKeys.current(use)?.acknowledgedMsAgo ?? null }));
    const keyless = Object.fromEntries(uses.map((use) => [use, this.macKeys.usable(use) === undefined ? 1 : 0]));
    const maxAgeMs = startedBy === 'us' ? maxAgeSeconds * 1_000 : null;
    return { exchanged: this.#exchanged, failed, lastFault, keys, ages, keyless, maxAgeMs };
  }

  /** Set while a PIN key changes: no PIN is sent between the announcement and the gateway's response. */
  get pinGate(): Promise<void> | undefined {
    return this.#intake.pinGate;
  }

  /**
   * The exchanged key that a PIN is translated to; `configured` while it is the key of the configuration.
   *
   * @throws KeyExchangeError NO_KEY if the switch may have none of the keys
   */
  pinKey(): UsableKey {
    const usable = this.macKeys.usable('pin');
    if (usable !== undefined) return usable;
    const fault = new KeyExchangeError('NO_KEY', { detail: 'pin' });
    this.#faults.record(fault);
    throw fault;
  }

  /** The MACs of a connection were bad for too long, so new keys are needed regardless of the age. */
  distrust(): void {
    if (this.#options.config.keyExchange.keys.includes('mac')) this.#requests.want('mac');
  }

  forget(connectionId: string): void {
    this.#lines.delete(connectionId);
    for (const [use, last] of this.#lastResponses) {
      const mayBeLost =
        last.connectionId === connectionId && this.#options.monotonicMs() - last.atMs < RESPONSE_SETTLED_MS;
      if (mayBeLost) this.#requests.want(use);
    }
  }

  close(): void {
    void this.#follower.stop();
  }

  /**
   * A connection has signed on: due keys are exchanged before its first tap. Returns false if they are required and
   * do not arrive.
   */
  async afterSignOn(line: ExchangeConnection, response: IsoMessage | undefined): Promise<boolean> {
    this.#lines.set(line.connectionId, line);
    if (response && !(await this.isTrusted(response))) this.distrust();
    const mustHaveMac = this.#requests.isWanted('mac');
    const missing = await this.#requests.askForDue(line);
    return !(mustHaveMac && missing.includes('mac'));
  }

  /** Whether a message's MAC is valid, also with a key that another worker has just exchanged. */
  async isTrusted(message: IsoMessage): Promise<boolean> {
    await judgeMac(message);
    if (isTrusted(message)) return true;
    await this.#intake.isIdle;
    return this.#isTrustedNow(message);
  }

  takeAnnouncement(announcement: IsoMessage, line: ExchangeConnection): Promise<KeyDecision> {
    return this.#intake.take(announcement, line);
  }

  /** Does not wait for announcements that are being processed. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    await judgeMac(message);
    if (isTrusted(message)) return true;
    await this.#refresh.lookAgain();
    await judgeMac(message);
    return isTrusted(message);
  }

  /** The switch has the gateway's response: the key is in use from now on. */
  #begin(key: ExchangedKey, { connectionId }: ExchangeConnection): void {
    const { keyId, use, number, kcv } = key;
    if (!this.#lines.has(connectionId)) {
      this.#requests.want(use); // the response was not sent: both keys are valid until there is another one
      return;
    }
    const { where, kept, config, log, monotonicMs } = this.#options;
    this.macKeys.accept(key, true);
    this.#lastResponses.set(use, { connectionId, atMs: monotonicMs() });
    this.#exchanged++;
    this.#faults.clear();
    const { overlapSeconds } = config.keyExchange;
    const configured =
      use === 'pin' ? [config.pinKey?.keyId ?? []].flat() : (config.macKeys ?? []).map((mac) => mac.keyId);
    kept.acknowledge(where, { keyId, use }, { overlapSeconds, configured }).catch((error: unknown) => {
      this.#requests.want(use); // after a restart it would not be known that the key is in use
      this.#faults.record(new KeyExchangeError('NOT_KEPT', { cause: error, detail: codeOf(error) }));
    });
    log.info({ ...where, use, number, kcv }, 'working key exchanged');
    this.#requests.satisfy(use);
  }

  async #follow(): Promise<void> {
    await this.macKeys.refresh();
    const line = this.#lines.values().next().value;
    if (line) await this.#requests.askInTurn(line);
  }
}

/** A connection that requires authentication must not open without it: every message would be refused, or trusted. */
export async function checkMacKeys(
  processor: Processor,
  config: SwitchConfig,
  hsm: MacHsm | undefined,
  where: string,
): Promise<void> {
  if (config.macKeys !== undefined && hsm === undefined) {
    const remedy = 'set HSM_MODULE, or in dev and qa HSM_KEYS_FILE';
    throw new StartError('BAD_PROCESSOR', `${where}: it wants MACs, and there is no HSM that has the keys: ${remedy}`);
  }
  try {
    hsmCodec(processor, config, hsm);
    for (const { keyId } of config.macKeys ?? []) await tryMacKey(processor, config, hsm!, keyId);
  } catch (error) {
    if (error instanceof CryptoError) {
      const ids = config.macKeys?.map(({ keyId }) => keyId).join(', ');
      const algorithm = processor.mac && namesOfMac(macMethodOf(processor.mac, config)).join(' or ');
      throw new StartError(
        'BAD_PROCESSOR',
        `${where}: the HSM refuses a key of macKeys (${ids}) for ${algorithm}: ${error.message}`,
      );
    }
    if (error instanceof PlugInError) throw new StartError('BAD_PROCESSOR', `${where}: ${error.reason}`);
    throw error;
  }
}

/** Dependencies of exchanged keys. */
export interface KeyExchangeParts {
  readonly hsm: KeyStore;
  readonly kept: ExchangedKeys;
}

/** The switch that owns the keys. */
export interface KeyExchangeOwner extends ProcessorKey {
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly clock: { readonly monotonicMs: () => number };
  readonly log: ConnectionLog;
  /** Undefined if the installation has no HSM. */
  readonly keyExchange: KeyExchangeParts | undefined;
}

/**
 * Loads the exchanged keys of one switch as its workers have left them; undefined if it exchanges none.
 *
 * @param nextStamp for the gateway's requests for keys
 * @throws StartError BAD_PROCESSOR naming the settings that conflict, or the missing transport key
 */
export async function openKeyExchange(
  { acquirerId, processorId, processor, config, clock, log, keyExchange: parts }: KeyExchangeOwner,
  nextStamp: () => MessageStamp,
  name: string,
): Promise<KeyExchange | undefined> {
  const { keyExchange } = config;
  if (!keyExchange) return undefined;
  const { keyChange } = processor;
  const [fault] = keyExchangeFaults(processor, config);
  if (fault || !keyChange) throw new StartError('BAD_PROCESSOR', `${name}: keyExchange: ${fault}`);
  if (!parts) throw new StartError('BAD_PROCESSOR', `${name}: it exchanges keys, and there is no HSM to take them`);
  await parts.hsm.kcv(keyExchange.transportKeyId).catch((cause: Error) => {
    const { transportKeyId } = keyExchange;
    throw new StartError(
      'BAD_PROCESSOR',
      `${name}: the HSM refuses transportKeyId (${transportKeyId}): ${cause.message}`,
    );
  });
  const where = { acquirerId, processorId };
  const faults = new KeyFaults({ where, monotonicMs: clock.monotonicMs, log });
  const onError = (cause: unknown) =>
    faults.record(new KeyExchangeError('NOT_IMPORTED', { cause, detail: codeOf(cause) }));
  const shared = { ...parts, where, monotonicMs: clock.monotonicMs };
  const keys = await WorkingKeys.open({ ...shared, processor, config, onError });
  const isAccepted = (response: Parameters<Processor['isNetworkAccepted']>[0]) => processor.isNetworkAccepted(response);
  const changing = { keyChange, config: { ...config, keyExchange }, keys, isAccepted };
  return new KeyExchange({ ...shared, ...changing, nextStamp, log, faults });
}
