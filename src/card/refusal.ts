/** Why a blob was refused: for the operator's metrics and a kernel team's log in dev, never for the response. */
export type CardDataRefusalReason =
  | 'too-large'
  | 'not-base64'
  | 'not-compact-jwe'
  | 'header'
  | 'algorithm'
  | 'other-device'
  | 'other-reference'
  | 'unknown-key'
  | 'retired-key'
  | 'ephemeral-key'
  | 'decryption'
  | 'tlv'
  | 'digest'
  | 'tags-differ';

/**
 * Carries the reason from where it is found to `open-card-data.ts`, which turns every reason into the same
 * CardDataError.
 */
export class CardDataRefusal extends Error {
  readonly reason: CardDataRefusalReason;

  constructor(reason: CardDataRefusalReason) {
    super(reason);
    this.reason = reason;
  }
}
