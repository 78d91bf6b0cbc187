import type { TransactionObserver } from '../../src/payments/ports/transaction-dependencies.ts';

/** Runs the work of use cases, and observes nothing. */
export const UNOBSERVED: TransactionObserver = {
  commit: (_name, _written, write) => write(),
  roundTrip: (_message, _processorType, _about, send) => send(),
  wait: (wait) => wait(),
};
