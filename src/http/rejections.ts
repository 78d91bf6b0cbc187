import type { ErrorCode } from '#schemas/problem';
import type { RejectionCode } from '../basics/errors.ts';

interface RejectionResponse {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly detail: string;
}

/** The responses of rejections with one status and error code, each with its detail. */
function refusals<Code extends RejectionCode>(
  status: number,
  errorCode: ErrorCode,
  details: Readonly<Record<Code, string>>,
): Readonly<Record<Code, RejectionResponse>> {
  const responses = Object.entries<string>(details).map(([code, detail]) => [code, { status, errorCode, detail }]);
  return Object.fromEntries(responses) as Record<Code, RejectionResponse>;
}

/** The HTTP response for every rejection of a use case. */
export const REJECTIONS: Readonly<Record<RejectionCode, RejectionResponse>> = {
  ...refusals(400, 104, {
    INVALID_VALUES: 'One or more values are invalid.',
    TOO_MANY_EVENTS: 'Too many events lie between from and to. Choose a shorter time range.',
  }),
  ...refusals(409, 134, {
    NO_OUTCOME_YET: 'The transaction has no outcome yet.',
    SALE_NOT_APPROVED: 'Only an approved sale can be refunded or voided.',
    NO_OPEN_REVERSAL: 'The transaction has no open reversal.',
    NOT_IN_REVIEW: 'The transaction does not need review, or no longer does.',
    REVERSAL_IN_PROGRESS: 'A reversal of the transaction is still being sent. Resolve it when no attempt is under way.',
    RESOLUTION_CONTRADICTS_OUTCOME:
      'The merchant received another outcome, which this would contradict. Have the acquirer correct its books, then resolve the transaction as adjusted.',
    RESOLUTION_HAS_REFUNDS:
      'Refunds of the sale are not settled: resolve them first, or have the acquirer correct its books.',
    RESOLUTION_APPROVED_IN_PART:
      'The switch approved a part of the amount, and the merchant asked for all of it. Have the acquirer reverse that part, then resolve the transaction as voided or adjusted.',
    RESOLUTION_NOT_COMPLETED:
      'The switch posts a sale only after its completion, which is no longer sent, or its processor is not available, so that this is unknown. Have the acquirer correct its books, then resolve the transaction as voided or adjusted.',
    RESOLUTION_OF_VOID: 'A void is resolved with its sale. Resolve the sale.',
    RESOLUTION_OUTDATED: 'The transaction has changed since it was shown. Look at it again.',
    PROPOSAL_PENDING: 'A resolution is proposed already. A second person must confirm or reject it.',
    ACCOUNT_OF_PROVIDER: 'The identity provider manages the second factor of this account.',
    NO_PENDING_ENROLMENT: 'No new one-time codes wait for a confirmation. Set them up again.',
    OTHER_DIRECTORY:
      'The resolution was proposed by a person of another directory, who may be the same person. Confirm it as a user who signs in the same way.',
    TOO_MANY_VIEWS: 'You have 50 views. Remove one first.',
    TOO_MANY_NOTES: 'The transaction has 100 notes, the most that are kept.',
    OWN_PROPOSAL: 'Another person must confirm the resolution that you proposed.',
    PROPOSER_GONE: 'The person who proposed the resolution may no longer act here. Reject it, and propose it yourself.',
    LINK_STATE_CONFLICT: 'The link is not in a state that allows this.',
    LINK_NOT_CANCELLABLE: 'A tap holds the link: it is in progress, approved or uncertain. See its transaction.',
    DEVICE_OF_SEVERAL_MERCHANTS:
      'The device is registered with several merchants. Use the id of the registration instead.',
    DEVICE_LIMIT_REACHED: 'The merchant has reached the limit of registered devices. Remove one first.',
    IN_USE: 'Other settings refer to this. Remove them first, or block this.',
    SETTING_LIMIT_REACHED: 'The acquirer has reached the limit for this kind of setting. Remove one first.',
    API_KEY_EXPIRED: 'The API key has expired. Create a new one.',
    ISSUER_HAS_OTHER_OWNER: 'The issuer belongs to another integrator or merchant of the acquirer.',
    ISSUER_HAS_JWKS: 'The keys of this issuer come from its JWKS. Revoke the JWKS first.',
    INTEGRATOR_HAS_KEYS: 'The integrator has keys, perhaps revoked ones. Block it instead.',
    MERCHANT_INTEGRATOR_FIXED: 'The integrator of a merchant cannot be changed.',
    MERCHANT_HAS_HISTORY: 'The merchant has transactions or keys. Block it instead.',
    PROCESSOR_TYPE_FIXED: 'The type of a processor cannot be changed. Add another processor instead.',
    PROCESSOR_HAS_ROUTES: 'Routes refer to the processor. Remove them first.',
    PROCESSOR_HAS_OPEN_TRANSACTIONS:
      'The processor has open transactions. Wait until each has an outcome or an acknowledged reversal.',
    SWITCH_HAS_OPEN_TRANSACTIONS:
      'The change would lead open transactions of the processor to another switch. Wait until each has an outcome or an acknowledged reversal, or state that it is the same switch (isSameSwitch, --same-switch).',
    ROUTE_JUST_REMOVED:
      'A route to the processor was just removed and taps may still use it. Try again in ten seconds.',
    ROUTE_PROCESSOR_FIXED: 'The processor of a route cannot be changed. Add another route instead.',
    TERMINAL_HAS_ROUTE: 'A route refers to the terminal. Remove the route first.',
    SECRET_OVERLAP_RUNNING:
      'The secret before the current one still signs, as the last replacement promised. Wait until then. If a ' +
      'secret is compromised, set isCompromised to true and overlapHours to 0, which ends all earlier secrets at once.',
    TOO_MANY_DELIVERIES: 'The event had 1,000 delivery attempts, so it is not sent again.',
  }),
  ...refusals(409, 212, {
    CARD_DATA_DELETED: 'The card data of the sale has been deleted.',
    SALE_SETTLED: 'The switch has settled the sale, so it cannot be voided. Refund it instead.',
    SALE_PROCESSOR_REMOVED:
      'The processor that approved the sale was removed, and no other switch knows the sale. Return the money with the acquirer, outside the gateway.',
    SALE_SWITCH_CHANGED:
      'The processor that approved the sale now leads to another switch, which does not know the sale. Return the money with the acquirer, outside the gateway.',
  }),
  ...refusals(409, 213, {
    SALE_IN_REVIEW:
      'It is uncertain what the switch did with the sale, or with a refund or void of it. Have the acquirer resolve it before you refund or void the sale.',
    ALREADY_VOIDED_OR_REFUNDED: 'The sale is voided or refunded, or a void or refund is in progress.',
    REFUND_EXCEEDS_BALANCE: 'The amount exceeds the refundable balance of the sale.',
  }),
  ...refusals(409, 208, {
    REFUNDS_UNSUPPORTED: 'The processor of the sale does not support refunds.',
  }),
  ...refusals(409, 124, {
    TOO_MANY_ATTEMPTS: 'Too many taps with this merchantReference reached no switch. Use a new one.',
    LINK_HELD:
      'Another tap for this payment is in progress or was approved. Continue on the phone that made it, or see its result on ' +
      'the pay page. If it is declined, you can tap again.',
    PAYMENT_REFERENCE_USED: 'The paymentReference belongs to another payment.',
  }),
  ...refusals(410, 118, {
    LINK_EXPIRED: 'The link or intent has expired.',
  }),
  ...refusals(404, 136, {
    DEVICE_NOT_REGISTERED: 'The device is not registered.',
  }),
  ...refusals(500, 104, {
    TOKEN_WITHOUT_TERMINAL: 'The token does not name a merchant and one of its terminals.',
  }),
  ...refusals(409, 119, {
    NAME_TAKEN: 'The name or id is already in use.',
  }),
  ...refusals(422, 104, {
    EXPORT_TOO_LARGE: 'The filter matches more than 1,000,000 transactions. Choose a shorter time range.',
    SEARCH_TOO_SLOW: 'The search takes too long. Choose a shorter time range, or a merchant or outcome as well.',
  }),
};
