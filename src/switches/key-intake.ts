import { randomUUID } from 'node:crypto';
import { toHex } from '../bytes/hex.ts';
import { KeyExchangeError, TapwireError } from '../errors.ts';
import type { IsoMessage } from '../processor-kit/iso-message.ts';
import type { KeyChange, WrappedKey } from '../processor-kit/key-change.ts';
import type { KeyExchangeConfig } from '../processor-kit/key-exchange-config.ts';
import type { WorkingKeyUse } from '../processor-kit/processor.ts';
import type { ExchangeConnection, KeyDecision } from '../processor-kit/switch-protocol.ts';
import { exchangedKeyId } from './access/key-ownership.ts';
import type { ExchangedKey, ExchangedKeys, ProcessorKey } from './ports.ts';
import { within } from './within.ts';
import type { WorkingKeys } from './working-keys.ts';

/** To take a key in: the HSM and one commit. PINs wait for it, so it is far shorter than a tap's patience. */
const TAKE_IN_MS = 2_000;

/** A switch has two keys to announce, and may repeat itself; behind more of them PINs would wait for ever. */
const MOST_AT_HAND = 8;

/** DE39 of what we refuse (ISO 8583:1987 table A7): format error, security violation, system malfunction. */
const REFUSALS: Partial<Record<KeyExchangeError['code'], string>> = {
  UNREADABLE: '30',
  NOT_AGREED: '30',
  NUMBER_TAKEN: '30',
  NOT_KEPT: '96',
  TOO_MANY: '96',
};
const SECURITY_VIOLATION = '63';

export interface KeyIntakeOptions {
  readonly where: ProcessorKey;
  readonly keyChange: KeyChange;
  readonly config: { readonly keyExchange: KeyExchangeConfig };
  readonly keys: WorkingKeys;
  readonly kept: ExchangedKeys;
  readonly isTrusted: (announcement: IsoMessage) => Promise<boolean>;
  /** Whether we have asked for such a key because the two sides no longer agree. */
  readonly isAskedAnew: (use: WorkingKeyUse) => boolean;
  /** The switch was told that we have the key. */
  readonly onTaken: (key: ExchangedKey, line: ExchangeConnection) => void;
  readonly onRefused: (fault: KeyExchangeError) => void;
}

/** Takes in the keys that a switch announces: into the HSM and the database first, then the switch is told. */
export class KeyIntake {
  readonly #options: KeyIntakeOptions;
  #taking: Promise<unknown> = Promise.resolve();
  #atHand = 0;
  #pinGate: Promise<void> | undefined;

  constructor(options: KeyIntakeOptions) {
    this.#options = options;
  }

  /** While a PIN key is taken in: no PIN leaves between the announcement and our answer. */
  get pinGate(): Promise<void> | undefined {
    return this.#pinGate;
  }

  /** Resolves when what was announced by now has been taken in or refused. */
  get isIdle(): Promise<unknown> {
    return this.#taking;
  }

  /** One announcement at a time. */
  take(announcement: IsoMessage, line: ExchangeConnection): Promise<KeyDecision> {
    if (this.#atHand >= MOST_AT_HAND) return Promise.resolve(this.#refuse(new KeyExchangeError('TOO_MANY')));
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
      const whenAnswered = (isSent: boolean) => {
        if (key && isSent) this.#options.onTaken(key, line);
        openPins();
      };
      return { responseCode: '00', whenAnswered };
    } catch (error) {
      openPins();
      return this.#refuse(
        error instanceof KeyExchangeError ? error : new KeyExchangeError('NOT_IMPORTED', { cause: error }),
      );
    }
  }

  #holdPins(use: WorkingKeyUse | undefined): () => void {
    if (use !== 'pin') return () => {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pinGate = promise;
    return () => {
      if (this.#pinGate === promise) this.#pinGate = undefined; // another announcement may hold them by now
      resolve();
    };
  }

  /**
   * Puts the announced key into the HSM and into the database; undefined when it is the one that is current, whose
   * announcement the switch has repeated.
   */
  async #takeIn(announcement: IsoMessage): Promise<ExchangedKey | undefined> {
    const announced = this.#options.keyChange.readKey(announcement);
    if (!announced) throw new KeyExchangeError('UNREADABLE');
    const { use, number, kcv } = announced;
    const { transportKeyId, form, keys } = this.#options.config.keyExchange;
    if (!keys.includes(use)) throw new KeyExchangeError('NOT_AGREED');
    // Where the keys no longer agree no MAC can be good; a key that we asked for is taken all the same, under its transport key.
    const { isAskedAnew, isTrusted } = this.#options;
    if (!isAskedAnew(use) && !(await isTrusted(announcement))) throw new KeyExchangeError('UNTRUSTED');
    const current = this.#options.keys.current(use);
    if (current?.kcv === kcv && current.number === number) return undefined;
    this.#refuseOld(announced);
    const { wrapped } = announced;
    const bytes = 'block' in wrapped ? wrapped.block : toHex(wrapped.cryptogram);
    const { acquirerId, processorId } = this.#options.where;
    const keyId = exchangedKeyId(acquirerId, processorId, use, randomUUID());
    const key: ExchangedKey = { keyId, use, number, transportKeyId, form, wrapped: bytes, kcv };
    await this.#store(key);
    return key;
  }

  /** An announcement of the past may be sent again by somebody who cannot make one. */
  #refuseOld({ use, number, kcv }: WrappedKey): void {
    for (const key of this.#options.keys.live) {
      if (key.use !== use || key.acknowledgedMsAgo === null) continue;
      if (key.kcv === kcv) throw new KeyExchangeError('REPLAYED');
      if (key.number === number && number !== 0) throw new KeyExchangeError('NUMBER_TAKEN');
    }
  }

  async #store(key: ExchangedKey): Promise<void> {
    await within(TAKE_IN_MS, this.#options.keys.import(key)).catch((cause: unknown) => {
      throw new KeyExchangeError('NOT_IMPORTED', { cause, detail: codeOf(cause) });
    });
    try {
      await within(TAKE_IN_MS, this.#options.kept.keep(this.#options.where, key));
    } catch (cause) {
      await this.#options.keys.forget(key.keyId).catch(() => {});
      throw new KeyExchangeError('NOT_KEPT', { cause, detail: codeOf(cause) });
    }
    this.#options.keys.accept(key, false);
  }
}

/** A name for what went wrong: never a text that is not ours. */
export function codeOf(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
