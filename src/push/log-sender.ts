import type { PushMessage, PushSender } from './ports.ts';

/** For development: tells the log that a message would have gone, and nothing of what is in it. */
export function createLogSender(told: (message: Pick<PushMessage, 'reference'>) => void): PushSender {
  return {
    async send({ reference }) {
      told({ reference });
      return { kind: 'sent' };
    },
  };
}

/** Where no push service is set up: every push falls back on its link. */
export const NO_PUSH_SENDER: PushSender = {
  send: async () => ({ kind: 'failed', reason: 'NOT_CONFIGURED' }),
};
