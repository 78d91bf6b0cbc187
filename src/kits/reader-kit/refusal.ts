/** Why a blob was refused: for the operator's metrics and a kernel team's log in dev, never for the response. */
export type CardDataRefusalReason =
  | 'too-large'
  | 'not-base64'
  | 'not-of-format'
  | 'header'
  | 'algorithm'
  | 'other-device'
  | 'other-reference'
  | 'other-acquirer'
  | 'other-merchant'
  | 'no-merchant'
  | 'unknown-key'
  | 'retired-key'
  | 'ephemeral-key'
  | 'key-serial-number'
  | 'mac'
  | 'decryption'
  | 'tlv'
  | 'digest'
  | 'tags-differ';

/** Carries the reason from where it is found to the gateway, which turns every reason into the same response. */
export class CardDataRefusal extends Error {
  readonly reason: CardDataRefusalReason;

  constructor(reason: CardDataRefusalReason) {
    super(reason);
    this.reason = reason;
  }
}
