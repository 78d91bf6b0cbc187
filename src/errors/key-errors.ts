import { TapwireError } from './tapwire-error.ts';

/** Why working keys were not exchanged with a switch. The keys before go on. */
export type KeyExchangeErrorCode = keyof typeof KEY_EXCHANGE_ERRORS;

const KEY_EXCHANGE_ERRORS = {
  REFUSED: 'the switch refuses to give a key',
  UNANSWERED: 'the switch does not answer the request for a key',
  NOT_ANNOUNCED: 'the switch has promised a key and not announced it',
  UNREADABLE: 'the announcement holds no key in good form',
  NOT_AGREED: 'a key was announced that is not exchanged by the configuration',
  UNTRUSTED: 'the MAC of the announcement is not good',
  NUMBER_TAKEN: 'the announced key has the number of another that is live',
  REPLAYED: 'the announced key is one of those before',
  NOT_IMPORTED: 'the HSM does not take the announced key',
  NOT_KEPT: 'the announced key could not be stored',
  TOO_MANY: 'more keys are announced than can be taken in',
} as const;

export class KeyExchangeError extends TapwireError<KeyExchangeErrorCode> {
  constructor(code: KeyExchangeErrorCode, options?: ErrorOptions & { readonly detail?: string }) {
    const { detail, ...rest } = options ?? {};
    super(code, `${KEY_EXCHANGE_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`, rest);
  }
}
