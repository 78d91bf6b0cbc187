import { Disposition } from '../../../src/payments/model/disposition.ts';
import { isAwaitingPin } from '../../../src/payments/model/pin.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { OPEN_REVERSAL_STATES, type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Labels } from './labels.ts';

/**
 * What a later decision may depend on. `value`: its value. `labelled`: an identifier or a time, of which only the
 * label matters. `never`: decides nothing, or is equal in all histories of a case.
 */
const MATTERS: Readonly<Record<keyof Transaction, 'value' | 'labelled' | 'never'>> = {
  id: 'value',
  originalId: 'value',
  merchantReference: 'value',
  type: 'value',
  attempt: 'value',
  status: 'value',
  disposition: 'value',
  responseCode: 'value',
  errorCode: 'value',
  authorizationCode: 'value',
  unusableAuthorizationCode: 'value',
  settlementDate: 'value',
  amountMinor: 'value',
  approvedMinor: 'value',
  refundedMinor: 'value',
  needsReview: 'value',
  reversalState: 'value',
  reversalAttempt: 'value',
  voidState: 'value',
  pinState: 'value',
  pinTries: 'value',
  pinFingerprint: 'value',
  routeId: 'value',
  switchRevision: 'value',
  tid: 'value',
  deadlineSeconds: 'value',
  stan: 'labelled',
  sentAtMs: 'labelled',
  reversalArmedAtMs: 'labelled',
  pinExpiresAtMs: 'labelled',
  pinJob: 'labelled',
  rrn: 'never', // it ends with the STAN
  providerReference: 'never',
  providerFields: 'never',
  cardTags: 'never',
  cardType: 'never',
  createdAtMs: 'never',
  updatedAtMs: 'never',
  acquirerId: 'never',
  integratorId: 'never',
  merchantId: 'never',
  deviceInstallationId: 'never',
  userClaim: 'never',
  userId: 'never',
  xTid: 'never',
  mid: 'never',
  consumerId: 'never',
  correlationId: 'never',
  currency: 'never',
  readerId: 'never',
  readerTransactionId: 'never',
  latitude: 'never',
  longitude: 'never',
  scheme: 'never',
  maskedPan: 'never',
  chipTags: 'never',
  fingerprint: 'never',
  panHash: 'never',
  sealedCard: 'never',
  earlierAttempts: 'never',
};

const DECISIVE = Object.entries(MATTERS).flatMap(([name, how]) => (how === 'value' ? [name as keyof Transaction] : []));
/** After a decline every other decline is equal, regardless of the codes. */
const OF_A_DECLINE = DECISIVE.filter((name) => name !== 'responseCode' && name !== 'errorCode');

const known = new WeakMap<Transaction, string>();

/** Everything of a transaction that later decisions may depend on. Transactions are never changed, only replaced. */
export function transactionText(transaction: Transaction, labels: Labels): string {
  let text = known.get(transaction);
  if (text === undefined) {
    const isDeclined = transaction.disposition === Disposition.Declined;
    const names = isDeclined ? OF_A_DECLINE : DECISIVE;
    const status = isReported(transaction) ? Status.RespondedToPhone : transaction.status;
    const decisive = names.map((name) => (name === 'status' ? status : (transaction[name] ?? '')));
    text = `${decisive.join()} ${isDeclined && transaction.responseCode === null}`;
    known.set(transaction, text);
  }
  const { stan, sentAtMs, reversalArmedAtMs, pinExpiresAtMs, reversalState, id, pinJob } = transaction;
  if (labels.isAtRest) return `${text} ${stan === null ? '' : labels.stan(stan)}`;
  const isOpen = OPEN_REVERSAL_STATES.includes(reversalState);
  const sent = isOpen && sentAtMs !== null ? labels.age(sentAtMs) : '';
  const armed = isOpen && reversalArmedAtMs !== null ? labels.age(reversalArmedAtMs) : '';
  const expires = isAwaitingPin(transaction) && pinExpiresAtMs !== null ? labels.left(pinExpiresAtMs) : '';
  const jobs = `${labels.hasJob(id)},${labels.hasJob(pinJob)}`;
  return `${text} ${stan === null ? '' : labels.stan(stan)} ${sent} ${armed} ${expires} ${jobs}`;
}

/** A refund is requested once: when it rests, it does not matter whether its response has reached the client. */
function isReported({ type, status }: Transaction): boolean {
  return type === TransactionType.Refund && status === Status.FailedToRespondToPhone;
}
