/** Values of every outcome, if the response has them. */
export interface OutcomeFacts {
  /**
   * DE39 in the codes of 7.5 of the interface, two characters and not always digits; a code without a meaning there as
   * the switch sent it. Empty if the response has none.
   */
  readonly responseCode: string;
  /** DE38. */
  readonly authorizationCode?: string | undefined;
  /** DE37 as the switch returned it. */
  readonly rrn?: string | undefined;
  /** Tags 91, 71, 72, 8A for the card, as hex. */
  readonly cardTags: readonly CardTag[];
  readonly cardType?: string | undefined;
}

export interface CardTag {
  readonly tag: string;
  readonly value: string;
}

/**
 * What a response means. `unknown` is everything a processor cannot stand behind: a code in no table, a response that
 * does not belong to the request, an echoed field that differs. The gateway reverses an unknown; it is never an approval.
 */
export type Outcome = OutcomeFacts &
  (
    | { readonly kind: 'approved'; readonly approvedMinor: number }
    /** `needsReview`: the switch may hold another transaction under our numbers (94); a person has to look. */
    | { readonly kind: 'declined'; readonly needsReview?: boolean | undefined }
    | { readonly kind: 'pinRequired' }
    | { readonly kind: 'unknown'; readonly why: string }
  );

/**
 * What the answer to a reversal means. The gateway decides by all answers to a reversal, not by one alone.
 *
 * - `acknowledged`: the switch has taken the reversal over.
 * - `unableToLocate`: it found no original, or took no action. After a timeout that is an acknowledgement worth one more
 *   repeat, because the original may still be on its way. For a void it is a refusal.
 * - `duplicate`: it has had the message before. That acknowledges a repeat with the STAN of an earlier attempt, and not
 *   of the original, if no response to that attempt was received. Otherwise the reversal needs review.
 * - `refused`: it understood the reversal and will not do it. Final, if it says so twice.
 * - `undecided`: the switch or the issuer is in trouble, or the code is unknown. The reversal may have taken effect.
 */
export type ReversalAnswer = 'acknowledged' | 'unableToLocate' | 'duplicate' | 'refused' | 'undecided';
