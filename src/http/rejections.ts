import type { ErrorCode } from '#schemas/problem';
import type { RejectionCode } from '../basics/errors.ts';

interface RejectionResponse {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly detail: string;
}

/** The HTTP response for every rejection of a use case. */
export const REJECTIONS: Readonly<Record<RejectionCode, RejectionResponse>> = {
  INVALID_VALUES: { status: 400, errorCode: 104, detail: 'One or more values are invalid.' },

  // Taps, refunds and voids.
  NO_OUTCOME_YET: { status: 409, errorCode: 134, detail: 'The transaction has no outcome yet.' },
  SALE_NOT_APPROVED: { status: 409, errorCode: 134, detail: 'Only an approved sale can be refunded or voided.' },
  NO_OPEN_REVERSAL: { status: 409, errorCode: 134, detail: 'The transaction has no open reversal.' },
  NOT_IN_REVIEW: { status: 409, errorCode: 134, detail: 'The transaction does not need review, or no longer does.' },
  REVERSAL_IN_PROGRESS: {
    status: 409,
    errorCode: 134,
    detail: 'A reversal of the transaction is still being sent. Resolve it when no attempt is under way.',
  },
  RESOLUTION_CONTRADICTS_OUTCOME: {
    status: 409,
    errorCode: 134,
    detail:
      'The merchant received another outcome, which this would contradict. Have the acquirer correct its books, then resolve the transaction as adjusted.',
  },
  RESOLUTION_HAS_REFUNDS: {
    status: 409,
    errorCode: 134,
    detail: 'Refunds of the sale are not settled: resolve them first, or have the acquirer correct its books.',
  },
  RESOLUTION_APPROVED_IN_PART: {
    status: 409,
    errorCode: 134,
    detail:
      'The switch approved a part of the amount, and the merchant asked for all of it. Have the acquirer reverse that part, then resolve the transaction as voided or adjusted.',
  },
  RESOLUTION_NOT_COMPLETED: {
    status: 409,
    errorCode: 134,
    detail:
      'The switch posts a sale only after its completion, which is no longer sent, or its processor is not available, so that this is unknown. Have the acquirer correct its books, then resolve the transaction as voided or adjusted.',
  },
  RESOLUTION_OF_VOID: { status: 409, errorCode: 134, detail: 'A void is resolved with its sale. Resolve the sale.' },
  RESOLUTION_OUTDATED: {
    status: 409,
    errorCode: 134,
    detail: 'The transaction has changed since it was shown. Look at it again.',
  },
  PROPOSAL_PENDING: {
    status: 409,
    errorCode: 134,
    detail: 'A resolution is proposed already. A second person must confirm or reject it.',
  },
  ACCOUNT_OF_PROVIDER: {
    status: 409,
    errorCode: 134,
    detail: 'The identity provider manages the second factor of this account.',
  },
  NO_PENDING_ENROLMENT: {
    status: 409,
    errorCode: 134,
    detail: 'No new one-time codes wait for a confirmation. Set them up again.',
  },
  OTHER_DIRECTORY: {
    status: 409,
    errorCode: 134,
    detail:
      'The resolution was proposed by a person of another directory, who may be the same person. Confirm it as a user who signs in the same way.',
  },
  OWN_PROPOSAL: {
    status: 409,
    errorCode: 134,
    detail: 'Another person must confirm the resolution that you proposed.',
  },
  PROPOSER_GONE: {
    status: 409,
    errorCode: 134,
    detail: 'The person who proposed the resolution may no longer act here. Reject it, and propose it yourself.',
  },
  CARD_DATA_DELETED: { status: 409, errorCode: 212, detail: 'The card data of the sale has been deleted.' },
  SALE_SETTLED: {
    status: 409,
    errorCode: 212,
    detail: 'The switch has settled the sale, so it cannot be voided. Refund it instead.',
  },
  SALE_IN_REVIEW: {
    status: 409,
    errorCode: 213,
    detail:
      'It is uncertain what the switch did with the sale, or with a refund or void of it. Have the acquirer resolve it before you refund or void the sale.',
  },
  SALE_PROCESSOR_REMOVED: {
    status: 409,
    errorCode: 212,
    detail:
      'The processor that approved the sale was removed, and no other switch knows the sale. Return the money with the acquirer, outside the gateway.',
  },
  SALE_SWITCH_CHANGED: {
    status: 409,
    errorCode: 212,
    detail:
      'The processor that approved the sale now leads to another switch, which does not know the sale. Return the money with the acquirer, outside the gateway.',
  },
  ALREADY_VOIDED_OR_REFUNDED: {
    status: 409,
    errorCode: 213,
    detail: 'The sale is voided or refunded, or a void or refund is in progress.',
  },
  REFUND_EXCEEDS_BALANCE: {
    status: 409,
    errorCode: 213,
    detail: 'The amount exceeds the refundable balance of the sale.',
  },
  REFUNDS_UNSUPPORTED: { status: 409, errorCode: 208, detail: 'The processor of the sale does not support refunds.' },

  TOO_MANY_ATTEMPTS: {
    status: 409,
    errorCode: 124,
    detail: 'Too many taps with this merchantReference reached no switch. Use a new one.',
  },

  // Links, push and tokens.
  LINK_STATE_CONFLICT: { status: 409, errorCode: 134, detail: 'The link is not in a state that allows this.' },
  LINK_HELD: {
    status: 409,
    errorCode: 124,
    detail:
      'Another tap for this payment is in progress or was approved. Continue on the phone that made it, or see its result on ' +
      'the pay page. If it is declined, you can tap again.',
  },
  LINK_NOT_CANCELLABLE: {
    status: 409,
    errorCode: 134,
    detail: 'A tap holds the link: it is in progress, approved or uncertain. See its transaction.',
  },
  LINK_EXPIRED: { status: 410, errorCode: 118, detail: 'The link or intent has expired.' },
  PAYMENT_REFERENCE_USED: {
    status: 409,
    errorCode: 124,
    detail: 'The paymentReference belongs to another payment.',
  },
  DEVICE_NOT_REGISTERED: { status: 404, errorCode: 136, detail: 'The device is not registered.' },
  DEVICE_OF_SEVERAL_MERCHANTS: {
    status: 409,
    errorCode: 134,
    detail: 'The device is registered with several merchants. Use the id of the registration instead.',
  },
  DEVICE_LIMIT_REACHED: {
    status: 409,
    errorCode: 134,
    detail: 'The merchant has reached the limit of registered devices. Remove one first.',
  },
  TOKEN_WITHOUT_TERMINAL: {
    status: 500,
    errorCode: 104,
    detail: 'The token does not name a merchant and one of its terminals.',
  },

  // Settings.
  NAME_TAKEN: { status: 409, errorCode: 119, detail: 'The name or id is already in use.' },
  IN_USE: { status: 409, errorCode: 134, detail: 'Other settings refer to this. Remove them first, or block this.' },
  SETTING_LIMIT_REACHED: {
    status: 409,
    errorCode: 134,
    detail: 'The acquirer has reached the limit for this kind of setting. Remove one first.',
  },
  API_KEY_EXPIRED: { status: 409, errorCode: 134, detail: 'The API key has expired. Create a new one.' },
  ISSUER_HAS_OTHER_OWNER: {
    status: 409,
    errorCode: 134,
    detail: 'The issuer belongs to another integrator or merchant of the acquirer.',
  },
  ISSUER_HAS_JWKS: {
    status: 409,
    errorCode: 134,
    detail: 'The keys of this issuer come from its JWKS. Revoke the JWKS first.',
  },
  INTEGRATOR_HAS_KEYS: {
    status: 409,
    errorCode: 134,
    detail: 'The integrator has keys, perhaps revoked ones. Block it instead.',
  },
  MERCHANT_INTEGRATOR_FIXED: {
    status: 409,
    errorCode: 134,
    detail: 'The integrator of a merchant cannot be changed.',
  },
  MERCHANT_HAS_HISTORY: {
    status: 409,
    errorCode: 134,
    detail: 'The merchant has transactions or keys. Block it instead.',
  },
  PROCESSOR_TYPE_FIXED: {
    status: 409,
    errorCode: 134,
    detail: 'The type of a processor cannot be changed. Add another processor instead.',
  },
  PROCESSOR_HAS_ROUTES: {
    status: 409,
    errorCode: 134,
    detail: 'Routes refer to the processor. Remove them first.',
  },
  PROCESSOR_HAS_OPEN_TRANSACTIONS: {
    status: 409,
    errorCode: 134,
    detail: 'The processor has open transactions. Wait until each has an outcome or an acknowledged reversal.',
  },
  SWITCH_HAS_OPEN_TRANSACTIONS: {
    status: 409,
    errorCode: 134,
    detail:
      'The change would lead open transactions of the processor to another switch. Wait until each has an outcome or an acknowledged reversal, or state that it is the same switch (isSameSwitch, --same-switch).',
  },
  ROUTE_JUST_REMOVED: {
    status: 409,
    errorCode: 134,
    detail: 'A route to the processor was just removed and taps may still use it. Try again in ten seconds.',
  },
  ROUTE_PROCESSOR_FIXED: {
    status: 409,
    errorCode: 134,
    detail: 'The processor of a route cannot be changed. Add another route instead.',
  },
  TERMINAL_HAS_ROUTE: {
    status: 409,
    errorCode: 134,
    detail: 'A route refers to the terminal. Remove the route first.',
  },

  SECRET_OVERLAP_RUNNING: {
    status: 409,
    errorCode: 134,
    detail:
      'The secret before the current one still signs, as the last replacement promised. Wait until then. If a ' +
      'secret is compromised, set isCompromised to true and overlapHours to 0, which ends all earlier secrets at once.',
  },

  // Operations.
  EXPORT_TOO_LARGE: {
    status: 422,
    errorCode: 104,
    detail: 'The filter matches more than 1,000,000 transactions. Choose a shorter time range.',
  },
  SEARCH_TOO_SLOW: {
    status: 422,
    errorCode: 104,
    detail: 'The search takes too long. Choose a shorter time range, or a merchant or outcome as well.',
  },
  TOO_MANY_DELIVERIES: {
    status: 409,
    errorCode: 134,
    detail: 'The event had 1,000 delivery attempts, so it is not sent again.',
  },
  TOO_MANY_EVENTS: {
    status: 400,
    errorCode: 104,
    detail: 'Too many events lie between from and to. Choose a shorter time range.',
  },
  TOO_MANY_VIEWS: { status: 409, errorCode: 134, detail: 'You have 50 views. Remove one first.' },
  TOO_MANY_NOTES: { status: 409, errorCode: 134, detail: 'The transaction has 100 notes, the most that are kept.' },
};
