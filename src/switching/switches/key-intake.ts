import { randomUUID } from 'node:crypto';
import { KeyExchangeError, StoreUnavailable } from '../../basics/errors.ts';
import { isTimeout, within } from '../../basics/limits/waits.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { exchangedKeyId } from '../../codecs/crypto/key-policy.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import type { KeyChange, WrappedKey } from '../../kits/processor-kit/key-change.ts';
import type { WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import type { KeyExchangeConfig } from '../../kits/processor-kit/switch-config.ts';
import type { ExchangeConnection, KeyDecision } from '../../kits/processor-kit/switch-protocol.ts';
import { codeOf } from './key-requests.ts';
import type { ExchangedKey, ExchangedKeys, ProcessorKey } from './ports.ts';
import type { WorkingKeys } from './working-keys.ts';

/**
 * Limit for importing a key: the HSM and one commit. PINs wait for it, so it is far shorter than the limit of a tap.
 */
const TAKE_IN_MS = 2_000;

/**
 * A switch has two keys to announce, and may repeat itself. Behind more announcements PINs would wait without limit.
 */
const MAX_AT_HAND = 8;

/**
 * Keys of one use that are valid at a time. A switch changes its key daily or hourly, and each remains valid for
 * `overlapSeconds` after the next. The store of the HSM is shared by all acquirers, so one switch must not fill it.
 */
const MAX_LIVE = 16;

/** DE39 of refusals (ISO 8583:1987 table A7): format error, security violation, system malfunction. */
const REFUSALS: Partial<Record<KeyExchangeError['code'], string>> = {
  UNREADABLE: '30',
  NOT_AGREED: '30',
  NUMBER_TAKEN: '30',
  NOT_KEPT: '96',
  TOO_MANY: '96',
};
const SECURITY_VIOLATION = '63';

/** Imports the keys that a switch announces: first into the HSM and the database, then it responds to the switch. */
export class KeyIntake {
  readonly #options;
  #taking: Promise<unknown> = Promise.resolve();
  #atHand = 0;
  #pinGate: Promise<void> | undefined;

  constructor(options: {
    readonly where: ProcessorKey;
    readonly keyChange: KeyChange;
    readonly config: { readonly keyExchange: KeyExchangeConfig };
    readonly keys: WorkingKeys;
    readonly kept: ExchangedKeys;
    readonly isTrusted: (announcement: IsoMessage) => Promise<boolean>;
    /** Whether the gateway has requested such a key because the keys no longer match. */
    readonly isAskedAnew: (use: WorkingKeyUse) => boolean;
    /** Whether the gateway has requested a key of this use. */
    readonly isAwaited: (use: WorkingKeyUse) => boolean;
    /** The switch has been informed that the gateway has the key. */
    readonly onTaken: (key: ExchangedKey, line: ExchangeConnection) => void;
    /** The response could not be sent, so the switch does not know that the gateway has the key. */
    readonly onUnsent: (key: ExchangedKey) => void;
    readonly onRefused: (fault: KeyExchangeError) => void;
  }) {
    this.#options = options;
  }

  /** Set while a PIN key is imported: no PIN is sent between the announcement and the gateway's response. */
  get pinGate(): Promise<void> | undefined {
    return this.#pinGate;
  }

  /** Resolves when all announcements so far have been imported or refused. */
  get isIdle(): Promise<unknown> {
    return this.#taking;
  }

  /** Processes one announcement at a time. */
  take(announcement: IsoMessage, line: ExchangeConnection): Promise<KeyDecision> {
    if (this.#atHand >= MAX_AT_HAND) return Promise.resolve(this.#refuse(new KeyExchangeError('TOO_MANY')));
    this.#atHand++;
    const openPins = this.#holdPins(this.#options.keyChange.readUse(announcement));
    const decision = this.#taking
      .then(() => this.#decide(announcement, line, openPins))
      .finally(() => {
        this.#atHand--;
      });
    this.#taking = decision.catch(() => {});
    return decision;
  }

  #refuse(fault: KeyExchangeError): KeyDecision {
    this.#options.onRefused(fault);
    return { responseCode: REFUSALS[fault.code] ?? SECURITY_VIOLATION };
  }

  async #decide(announcement: IsoMessage, line: ExchangeConnection, openPins: () => void): Promise<KeyDecision> {
    try {
      const key = await this.#takeIn(announcement);
      const whenResponded = (isSent: boolean) => {
        if (key && isSent) this.#options.onTaken(key, line);
        else if (key) this.#options.onUnsent(key);
        openPins();
      };
      return { responseCode: '00', whenResponded };
    } catch (error) {
      openPins();
      const fault = error instanceof KeyExchangeError ? error : new KeyExchangeError('NOT_IMPORTED', { cause: error });
      const { responseCode } = this.#refuse(fault);
      // A key that the switch drops must not be stored: the announcement could be replayed. Without a response, the switch
      // keeps it until the next one.
      const mayRespond = !mayBeKept(fault) && (await this.#mayRefuse(fault, announcement));
      return { responseCode: mayRespond ? responseCode : undefined };
    }
  }

  /** Whether the switch may be informed that the gateway does not take the key. */
  async #mayRefuse({ code }: KeyExchangeError, announcement: IsoMessage): Promise<boolean> {
    const key = this.#options.keyChange.readKey(announcement);
    // A key that was stored is remembered, and anyone can send messages without a good MAC.
    if (!key || ['REPLAYED', 'UNTRUSTED', 'NOT_AGREED', 'NOT_KEPT'].includes(code)) return true;
    return within(TAKE_IN_MS, this.#options.kept.refuse(this.#options.where, key)).catch(() => false);
  }

  #holdPins(use: WorkingKeyUse | undefined): () => void {
    if (use !== 'pin') return () => {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pinGate = promise;
    return () => {
      if (this.#pinGate === promise) this.#pinGate = undefined; // another announcement may have replaced it
      resolve();
    };
  }

  /**
   * Imports the announced key into the HSM and the database; undefined if it is the current key, whose announcement
   * the switch has repeated.
   */
  async #takeIn(announcement: IsoMessage): Promise<ExchangedKey | undefined> {
    const announced = this.#options.keyChange.readKey(announcement);
    if (!announced) throw new KeyExchangeError('UNREADABLE');
    const { use, number, kcv } = announced;
    const { transportKeyId, form, keys } = this.#options.config.keyExchange;
    if (!keys.includes(use)) throw new KeyExchangeError('NOT_AGREED');
    // If the keys no longer match, no MAC can be valid. A requested key is accepted nevertheless, because its transport
    // key protects it.
    const { isAskedAnew, isTrusted } = this.#options;
    if (!isAskedAnew(use) && !(await isTrusted(announcement))) throw new KeyExchangeError('UNTRUSTED');
    const current = this.#options.keys.current(use);
    if (current?.kcv === kcv && current.number === number) return undefined;
    this.#refuseTakenNumber(announced);
    const { isAwaited, keys: working } = this.#options;
    if (!isAwaited(use) && working.live.filter((key) => key.use === use).length >= MAX_LIVE)
      throw new KeyExchangeError('TOO_MANY');
    const { wrapped } = announced;
    const bytes = 'block' in wrapped ? wrapped.block : toHex(wrapped.cryptogram);
    const { acquirerId, processorId } = this.#options.where;
    const keyId = exchangedKeyId(acquirerId, processorId, use, randomUUID());
    const key: ExchangedKey = { keyId, use, number, transportKeyId, form, wrapped: bytes, kcv };
    return this.#store(key);
  }

  #refuseTakenNumber({ use, number, kcv }: WrappedKey): void {
    for (const key of this.#options.keys.live) {
      if (key.use !== use || key.acknowledgedMsAgo === null || key.kcv === kcv) continue;
      if (key.number === number && number !== 0) throw new KeyExchangeError('NUMBER_TAKEN');
    }
  }

  /**
   * @returns the key as it is stored: under another id if the switch repeats its announcement
   * @throws KeyExchangeError REPLAYED, because an attacker that cannot create an announcement may replay an old one
   */
  async #store(key: ExchangedKey): Promise<ExchangedKey> {
    const { keys, kept, where } = this.#options;
    await within(TAKE_IN_MS, keys.import(key)).catch((cause: unknown) => {
      throw new KeyExchangeError('NOT_IMPORTED', { cause, detail: codeOf(cause) });
    });
    let stored: Awaited<ReturnType<ExchangedKeys['keep']>> | undefined;
    try {
      stored = await within(TAKE_IN_MS, kept.keep(where, key));
    } catch (cause) {
      throw new KeyExchangeError('NOT_KEPT', { cause, detail: codeOf(cause) });
    } finally {
      if (stored === undefined || stored === 'replayed' || stored.keyId !== key.keyId)
        await keys.forget(key.keyId).catch(() => {});
    }
    if (stored === 'replayed') throw new KeyExchangeError('REPLAYED');
    if (stored.keyId === key.keyId) {
      keys.accept(key, false);
      return key;
    }
    const { keyId } = stored;
    await within(TAKE_IN_MS, keys.refresh()).catch(() => {});
    const repeated = keys.live.find((other) => other.keyId === keyId);
    if (!repeated) throw new KeyExchangeError('NOT_IMPORTED');
    return repeated;
  }
}

function mayBeKept({ code, cause }: KeyExchangeError): boolean {
  if (code !== 'NOT_KEPT') return false;
  return isTimeout(cause) || (cause instanceof StoreUnavailable && cause.mayBeStored);
}
