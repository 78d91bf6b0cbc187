import type { IsoMessage } from './iso-message.ts';
import type { MessageStamp } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** What a key that two sides exchange is for: authenticating messages, or enciphering PINs between the two. */
export type WorkingKeyUse = 'mac' | 'pin';

/**
 * A working key on its way, enciphered under a transport key that both sides have had before. Nobody but the two HSMs
 * sees it clear.
 */
export interface WrappedKey {
  readonly use: WorkingKeyUse;
  /** By which messages name the key; 0 in a dialect whose messages name none. */
  readonly number: number;
  /** A bare cryptogram (ANSI X9.17), or a TR-31 key block (ANSI X9.143). */
  readonly wrapped: { readonly cryptogram: Uint8Array } | { readonly block: string };
  /** The check value of the clear key, 6 hex digits in upper case. */
  readonly kcv: string;
}

/**
 * How a dialect changes keys while traffic runs. The switch makes the keys:
 *
 *   1  either side begins: we ask (`request`), or the switch announces by itself
 *   2  the switch announces a key (`announcement`). From here on it takes messages under it, and those under the one before
 *   3  we answer (`answer`). From here on the switch uses the new key, and so do we
 *   4  the one before is accepted until it retires (`overlapSeconds` of the configuration)
 *
 * An announcement that was refused leaves everything as it was. One that was never answered is good until the next.
 */
export interface KeyChange<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /** Those that this dialect can exchange. */
  readonly uses: readonly WorkingKeyUse[];
  readonly form: 'cryptogram' | 'keyBlock';
  /** Asks the switch for a new key. */
  request(use: WorkingKeyUse, stamp: MessageStamp, config: Config): Message;
  /** The switch's own request that carries a new key. */
  announcement(key: WrappedKey, stamp: MessageStamp, config: Config): Message;
  /** Our answer to an announcement, the switch's to a request. */
  answer(request: Message, responseCode: string): Message;
  /** For which key the request is or what the announcement brings; undefined when it names none. Never throws. */
  readUse(message: Message): WorkingKeyUse | undefined;
  /** Undefined when the message holds no key in good form. Never throws. */
  readKey(message: Message): WrappedKey | undefined;
}

/** What of a configuration's `keyExchange` its type or its other settings do not allow. */
export function keyExchangeFaults(
  { keyChange }: { readonly keyChange?: Pick<KeyChange, 'uses' | 'form'> | undefined },
  { keyExchange, macKeys, pinKey }: Pick<SwitchConfig, 'keyExchange' | 'macKeys' | 'pinKey'>,
): string[] {
  if (!keyExchange) return [];
  if (!keyChange) return ['this type exchanges no keys'];
  const wants = (use: WorkingKeyUse) => keyExchange.keys.includes(use);
  return [
    ...(keyExchange.form !== keyChange.form ? [`this type wants the form ${keyChange.form}`] : []),
    ...keyExchange.keys
      .filter((use) => !keyChange.uses.includes(use))
      .map((use) => `this type exchanges no ${use} key`),
    ...(wants('mac') && !macKeys ? ['a MAC key is exchanged where macKeys say which one to begin with'] : []),
    ...(wants('pin') && pinKey?.derivation !== 'zone' ? ['a PIN key is exchanged where pinKey is a zone key'] : []),
  ];
}
