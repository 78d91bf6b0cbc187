import type { IsoMessage } from './iso-fields.ts';
import type { MessageStamp } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** The purpose of an exchanged key: authenticating messages, or enciphering PINs between the two sides. */
export type WorkingKeyUse = 'mac' | 'pin';

/**
 * A working key in transit, enciphered under a transport key that both sides already have. Only the two HSMs see it
 * clear.
 */
export interface WrappedKey {
  readonly use: WorkingKeyUse;
  /** The number of the key in messages; 0 in a dialect whose messages name none. */
  readonly number: number;
  /** A bare cryptogram (ANSI X9.17), or a TR-31 key block (ANSI X9.143). */
  readonly wrapped: { readonly cryptogram: Uint8Array } | { readonly block: string };
  /** The check value of the clear key, 6 hex digits in upper case. */
  readonly kcv: string;
}

/**
 * How a dialect changes keys while traffic runs. The switch creates the keys:
 *
 * 1. Either side begins: the gateway asks (`request`), or the switch announces a key unasked.
 * 2. The switch announces a key (`announcement`). From here on it accepts messages under this key and the previous
 * one.
 * 3. The gateway responds (`response`). From here on both sides use the new key.
 * 4. The previous key is accepted until it retires (`overlapSeconds` of the configuration).
 *
 * A refused announcement changes nothing. An announcement without a response is valid until the next one.
 *
 * Each key is announced once; only a switch without a response repeats its announcement. An announced key that another one
 * has replaced is refused. Two announcements can be under way at once: both keys stay valid for the overlap, and the gateway
 * requests one more, because it does not know which of them the switch considers the later one.
 *
 * @example
 * const wrapped = keyChange.readKey(announcement);
 * if (wrapped) await reply(keyChange.response(announcement, '00'));
 */
export interface KeyChange<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /** The purposes of the keys that this dialect can exchange. */
  readonly uses: readonly WorkingKeyUse[];
  readonly form: 'cryptogram' | 'keyBlock';
  /** Asks the switch for a new key. */
  request(use: WorkingKeyUse, stamp: MessageStamp, config: Config): Message;
  /** The switch's own request that carries a new key. */
  announcement(key: WrappedKey, stamp: MessageStamp, config: Config): Message;
  /**
   * The gateway's response to an announcement, or the switch's to a request.
   * @param responseCode of 7.5 of the interface
   */
  response(request: Message, responseCode: string): Message;
  /** The purpose of the key that the message requests or announces; undefined if it names none. Never throws. */
  readUse(message: Message): WorkingKeyUse | undefined;
  /** Undefined if the message contains no well-formed key. Never throws. */
  readKey(message: Message): WrappedKey | undefined;
}

/** The conflicts between a configuration's `keyExchange` and its type or its other settings. */
export function keyExchangeFaults(
  { keyChange }: { readonly keyChange?: Pick<KeyChange, 'uses' | 'form'> | undefined },
  { keyExchange, macKeys, pinKey }: Pick<SwitchConfig, 'keyExchange' | 'macKeys' | 'pinKey'>,
): string[] {
  if (!keyExchange) return [];
  if (!keyChange) return ['this type exchanges no keys'];
  const wants = (use: WorkingKeyUse) => keyExchange.keys.includes(use);
  return [
    ...(keyExchange.form !== keyChange.form ? [`this type requires the form ${keyChange.form}`] : []),
    ...keyExchange.keys
      .filter((use) => !keyChange.uses.includes(use))
      .map((use) => `this type exchanges no ${use} key`),
    ...(wants('mac') && !macKeys ? ['a MAC key is exchanged only if macKeys names the first one'] : []),
    ...(wants('pin') && pinKey?.derivation !== 'zone' ? ['a PIN key is exchanged only if pinKey is a zone key'] : []),
  ];
}
