import { type Repetition, repeatEvery } from '../basics/limits/waits.ts';
import type { DukptMacRequest, MacRequest, TranslatePinRequest } from '../codecs/crypto/hsm.ts';
import { isExchangedKeyId } from '../codecs/crypto/key-policy.ts';
import type { OpenedHsm } from './open-hsm.ts';

/** Uses are stored in batches, outside of taps. A key that was noted today is not stored again. */
const STORE_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;

/** Stores that these keys were used today. */
type StoreKeyUses = (keyIds: readonly string[]) => Promise<void>;

/**
 * Notes which keys of the HSM are used, so that the inventory shows keys that nothing needs. A use costs one
 * look into a set. Each key is stored at most once a day (UTC) by each process.
 */
export class KeyUseNotes {
  readonly #options;
  readonly #storing: Repetition;
  #day = 0;
  readonly #noted = new Set<string>();
  #unstored = new Set<string>();

  constructor(options: {
    readonly store: StoreKeyUses;
    readonly nowMs: () => number;
    readonly onError: (error: unknown) => void;
    readonly storeEveryMs?: number | undefined;
  }) {
    this.#options = options;
    const { storeEveryMs = STORE_EVERY_MS, onError } = options;
    this.#storing = repeatEvery(storeEveryMs, () => this.#store(), onError);
  }

  /** The same HSM; uses of its keys are noted. The caller closes the given one. */
  watch(hsm: OpenedHsm): OpenedHsm {
    const { verifyDukptMac, decipherDukpt, deviceStates } = hsm;
    return {
      importKey: (request) => {
        this.#note(request.transportKeyId);
        return hsm.importKey(request);
      },
      forgetKey: (keyId) => hsm.forgetKey(keyId),
      kcv: (keyId) => hsm.kcv(keyId),
      translatePin: (request: TranslatePinRequest) => {
        this.#note(request.from.keyId);
        this.#note(request.to.keyId);
        return hsm.translatePin(request);
      },
      mac: (request: MacRequest) => {
        this.#note(request.keyId);
        return hsm.mac(request);
      },
      verifyMac: (request) => {
        this.#note(request.keyId);
        return hsm.verifyMac(request);
      },
      // Each note is made with the MAC, which is checked before the data is deciphered.
      ...(verifyDukptMac && {
        verifyDukptMac: (request: DukptMacRequest) => {
          this.#note(request.keyId);
          return verifyDukptMac.call(hsm, request);
        },
      }),
      ...(decipherDukpt && { decipherDukpt: decipherDukpt.bind(hsm) }),
      ...(deviceStates && { deviceStates: deviceStates.bind(hsm) }),
    };
  }

  /** Stores what is left. */
  async stop(): Promise<void> {
    await this.#storing.stop();
    await this.#store().catch(this.#options.onError);
  }

  /** Exchanged keys have a record of their own, and new ids each day. */
  #note(keyId: string): void {
    if (this.#noted.has(keyId) || isExchangedKeyId(keyId)) return;
    this.#noted.add(keyId);
    this.#unstored.add(keyId);
  }

  async #store(): Promise<void> {
    const day = Math.floor(this.#options.nowMs() / DAY_MS);
    const used = this.#unstored;
    this.#unstored = new Set();
    if (day !== this.#day) this.#noted.clear(); // the next use of each key is noted for the new day
    this.#day = day;
    if (used.size === 0) return;
    try {
      await this.#options.store([...used]);
    } catch (error) {
      for (const keyId of used) this.#unstored.add(keyId);
      throw error;
    }
  }
}
