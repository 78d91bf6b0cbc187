import { TapwireError } from './tapwire-error.ts';

/** Why working keys were not exchanged with a switch. The previous keys remain in use. */
export type KeyExchangeErrorCode = keyof typeof KEY_EXCHANGE_ERRORS;

const KEY_EXCHANGE_ERRORS = {
  REFUSED: 'the switch refuses to issue a key',
  UNANSWERED: 'the switch does not respond to the request for a key',
  NOT_ANNOUNCED: 'the switch promised a key and did not announce it',
  UNREADABLE: 'the announcement contains no well-formed key',
  NOT_AGREED: 'a key was announced that the configuration does not exchange',
  UNTRUSTED: 'the MAC of the announcement is wrong',
  NUMBER_TAKEN: 'the announced key has the number of another live key',
  REPLAYED: 'the switch has announced this key before, and it has been replaced',
  NOT_IMPORTED: 'the HSM does not accept the announced key',
  NOT_KEPT: 'the announced key could not be stored',
  NO_KEY: 'the switch may have none of the keys',
  TOO_MANY: 'more keys are announced than can be processed',
} as const;

export class KeyExchangeError extends TapwireError<KeyExchangeErrorCode> {
  constructor(code: KeyExchangeErrorCode, options?: ErrorOptions & { readonly detail?: string }) {
    const { detail, ...rest } = options ?? {};
    super(code, `${KEY_EXCHANGE_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`, rest);
  }
}
