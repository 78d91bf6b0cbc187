import { CryptoError, PinUnusable, StartError } from '../../basics/errors.ts';
import type { Hsm, PinKey } from '../../codecs/crypto/hsm.ts';
import type { PinData } from '../../kits/processor-kit/processor.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import type { EnteredPin } from '../../payments/ports/switch-ports.ts';

/** Dependencies that translate the PINs of an installation's readers into PINs for its switches. */
export interface PinTranslation {
  readonly hsm: Pick<Hsm, 'translatePin' | 'kcv'>;
  readonly reader: ReaderPins;
}

/** How readers encipher PINs. */
interface ReaderPins {
  /** Id of their base derivation key in the HSM. */
  readonly keyId: string;
  /** Format of blocks of 8 bytes (ISO 9564-1:2017 9.3); blocks of 16 bytes are format 4. */
  readonly format: 0 | 1 | 3;
}

/** A switch's PIN key from its configuration. */
export type SwitchPinKey = NonNullable<SwitchConfig['pinKey']>;

/** Enough to identify the terminals. */
const MAX_NAMED_TERMINALS = 5;

/** Format 4: two AES blocks, and a key serial number of AES DUKPT (ANSI X9.24-3:2017 6.3). */
const AES_BLOCK_BYTES = 16;
const AES_KSN_BYTES = 12;

/**
 * Re-enciphers a PIN for a switch inside the HSM, under a zone PIN key or under the acquirer's base derivation key.
 * In the second case the reader's own key serial number is sent, which no other PIN has, so that no counter of the
 * gateway must survive a crash. This requires that both base derivation keys are of one kind.
 *
 * @throws PinUnusable if the HSM finds no PIN of this card in the block; CryptoError if a key is configured wrongly
 */
export async function translatePin(
  { hsm, reader }: PinTranslation,
  { keyId, format, derivation }: SwitchPinKey,
  { block, ksn }: EnteredPin,
  pan: string,
): Promise<PinData> {
  const isAes = block.length === AES_BLOCK_BYTES;
  if (isAes !== (ksn.length === AES_KSN_BYTES)) throw new PinUnusable();
  const from = { keyId: reader.keyId, format: isAes ? 4 : reader.format, block, ksn } as const;
  const key: PinKey = derivation === 'dukpt' ? { keyId, ksn } : { keyId };
  try {
    return await hsm.translatePin({ from, to: { ...key, format }, pan });
  } catch (cause) {
    const isOfTheBlock = cause instanceof CryptoError && (cause.code === 'PIN_BLOCK' || cause.code === 'KSN');
    throw isOfTheBlock ? new PinUnusable({ cause }) : cause;
  }
}

/**
 * Checks that a switch which takes PINs can receive them.
 *
 * @param pins undefined if the installation has no HSM
 * @throws StartError BAD_PROCESSOR naming what is missing
 */
export async function checkPinKeys(
  pins: PinTranslation | undefined,
  pinKey: SwitchPinKey | undefined,
  where: string,
): Promise<void> {
  if (pinKey === undefined) return;
  if (pins === undefined) {
    const remedy = 'set HSM_MODULE, or in dev and qa HSM_KEYS_FILE';
    throw new StartError('BAD_PROCESSOR', `${where}: it takes PINs, and there is no HSM that has the keys: ${remedy}`);
  }
  for (const [setting, keyId] of [
    ['pinKey', pinKey.keyId],
    ['READER_PIN_KEY', pins.reader.keyId],
  ] as const) {
    await pins.hsm.kcv(keyId).catch((cause: Error) => {
      throw new StartError('BAD_PROCESSOR', `${where}: the HSM refuses ${setting} (${keyId}): ${cause.message}`);
    });
  }
}

/**
 * Without an HSM no PIN can be forwarded, and a card at a terminal with PIN support would wait without result.
 *
 * @param terminals names of the terminals that take PINs
 * @throws StartError BAD_CONFIG if there is one
 */
export function refusePinTerminals(terminals: readonly string[]): void {
  if (terminals.length === 0) return;
  const named = terminals.slice(0, MAX_NAMED_TERMINALS).join(', ');
  const remedy = 'set HSM_MODULE, or let the terminals take no PIN (can_take_pin)';
  throw new StartError(
    'BAD_CONFIG',
    `There is no HSM, and ${terminals.length} terminals take PINs (${named}): ${remedy}.`,
  );
}
