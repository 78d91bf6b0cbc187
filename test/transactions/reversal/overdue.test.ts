import { expect, test, vi } from 'vitest';
import { PinState } from '../../../src/payments/model/pin.ts';
import { Status } from '../../../src/payments/model/status.ts';
import type { PhoneResponseRecord } from '../../../src/payments/ports/store-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { Outcomes } from '../../../src/payments/reversals/outcomes.ts';
import { sampleTransaction } from '../sample-transaction.ts';

/** Dependencies that record what was committed, and can do nothing else. */
function recordingWorld() {
  const recordOverdueResponse = vi.fn(async (_record: PhoneResponseRecord) => {});
  const deps = { clock: { nowMs: () => 0 }, store: { recordOverdueResponse } } as unknown as TransactionDependencies;
  return { deps, recordOverdueResponse };
}

test.each([
  ['the switch’s response', Status.ResponseReceivedFromPaymentProcessor],
  ['a block that no HSM could open', Status.ReadyToSubmitToPaymentProcessor],
])('a phone that did not learn that a PIN is required, after %s, counts as disconnected; the PIN remains awaited', async (_what, status) => {
  const { deps, recordOverdueResponse } = recordingWorld();
  const awaiting = sampleTransaction({ status, pinState: PinState.awaiting });
  expect(await new Outcomes(deps).decideOverdue(awaiting)).toBe('rests');
  expect(recordOverdueResponse.mock.calls).toMatchObject([
    [{ fromStatus: status, status: Status.FailedToRespondToPhone, attempt: awaiting.attempt }],
  ]);
});

test('a PIN that is awaited in a status that may rest is left to its own job', async () => {
  const { deps, recordOverdueResponse } = recordingWorld();
  const awaiting = sampleTransaction({ status: Status.RespondedToPhone, pinState: PinState.awaiting });
  expect(await new Outcomes(deps).decideOverdue(awaiting)).toBe('rests');
  expect(recordOverdueResponse).not.toHaveBeenCalled();
});
