import { TapwireError } from './tapwire-error.ts';

/**
 * Why a well-formed request was rejected: the state or the settings of the resource do not allow it.
 * `src/http/rejections.ts` has the HTTP response for each code.
 */
export type RejectionCode =
  | 'ACCOUNT_OF_PROVIDER'
  | 'ALREADY_VOIDED_OR_REFUNDED'
  | 'API_KEY_EXPIRED'
  | 'CARD_DATA_DELETED'
  | 'DEVICE_LIMIT_REACHED'
  | 'DEVICE_NOT_REGISTERED'
  | 'DEVICE_OF_SEVERAL_MERCHANTS'
  | 'INTEGRATOR_HAS_KEYS'
  | 'INVALID_VALUES'
  | 'IN_USE'
  | 'ISSUER_HAS_JWKS'
  | 'ISSUER_HAS_OTHER_OWNER'
  | 'LINK_EXPIRED'
  | 'LINK_HELD'
  | 'LINK_NOT_CANCELLABLE'
  | 'LINK_STATE_CONFLICT'
  | 'MERCHANT_HAS_HISTORY'
  | 'MERCHANT_INTEGRATOR_FIXED'
  | 'NAME_TAKEN'
  | 'NOT_IN_REVIEW'
  | 'NO_PENDING_ENROLMENT'
  | 'NO_OPEN_REVERSAL'
  | 'NO_OUTCOME_YET'
  | 'OTHER_DIRECTORY'
  | 'OWN_PROPOSAL'
  | 'PAYMENT_REFERENCE_USED'
  | 'PROCESSOR_HAS_OPEN_TRANSACTIONS'
  | 'PROCESSOR_HAS_ROUTES'
  | 'PROCESSOR_TYPE_FIXED'
  | 'PROPOSAL_PENDING'
  | 'PROPOSER_GONE'
  | 'REFUND_EXCEEDS_BALANCE'
  | 'REFUNDS_UNSUPPORTED'
  | 'RESOLUTION_CONTRADICTS_OUTCOME'
  | 'RESOLUTION_HAS_REFUNDS'
  | 'RESOLUTION_APPROVED_IN_PART'
  | 'RESOLUTION_NOT_COMPLETED'
  | 'RESOLUTION_OF_VOID'
  | 'RESOLUTION_OUTDATED'
  | 'REVERSAL_IN_PROGRESS'
  | 'ROUTE_JUST_REMOVED'
  | 'ROUTE_PROCESSOR_FIXED'
  | 'SALE_IN_REVIEW'
  | 'SALE_NOT_APPROVED'
  | 'SALE_PROCESSOR_REMOVED'
  | 'SALE_SETTLED'
  | 'SALE_SWITCH_CHANGED'
  | 'SEARCH_TOO_SLOW'
  | 'SECRET_OVERLAP_RUNNING'
  | 'EXPORT_TOO_LARGE'
  | 'SETTING_LIMIT_REACHED'
  | 'SWITCH_HAS_OPEN_TRANSACTIONS'
  | 'TERMINAL_HAS_ROUTE'
  | 'TOKEN_WITHOUT_TERMINAL'
  | 'TOO_MANY_ATTEMPTS'
  | 'TOO_MANY_DELIVERIES'
  | 'TOO_MANY_EVENTS'
  | 'TOO_MANY_NOTES'
  | 'TOO_MANY_VIEWS';

/** One invalid value: its JSON pointer (RFC 6901), and a short phrase that completes "the value ...". */
export interface InvalidValue {
  readonly pointer: string;
  readonly detail: string;
}

export class RequestRejected extends TapwireError<RejectionCode> {
  readonly errors: readonly InvalidValue[] | undefined;

  constructor(code: RejectionCode, errors?: readonly InvalidValue[]) {
    super(code);
    this.errors = errors;
  }
}

/** An invalid value, located by the property names that lead to it. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

/** A condition that must be false, the name of the value at fault, and the detail for the caller. */
export type Rule = readonly [isBroken: boolean, path: string, detail: string];

export function brokenRules(rules: readonly Rule[]): Fault[] {
  return rules.filter(([isBroken]) => isBroken).map(([, path, detail]) => ({ path: [path], detail }));
}

export function invalidValues(faults: readonly Fault[]): RequestRejected {
  const errors = faults.map(({ path, detail }) => ({ pointer: path.map(step).join(''), detail }));
  return new RequestRejected('INVALID_VALUES', errors);
}

export function invalidValue(name: string, detail: string): RequestRejected {
  return invalidValues([{ path: [name], detail }]);
}

function step(name: PropertyKey): string {
  return `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
