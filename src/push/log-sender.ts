import type { PushMessage, PushSender } from './ports.ts';

/** For development: logs that a message would have been sent, without its content. */
export function createLogSender(log: (message: Pick<PushMessage, 'reference'>) => void): PushSender {
  return {
    async send({ reference }) {
      log({ reference });
      return { kind: 'sent' };
    },
  };
}

/** Used if no push service is configured: every push falls back to its link. */
export const NO_PUSH_SENDER: PushSender = {
  send: async () => ({ kind: 'failed', reason: 'NOT_CONFIGURED' }),
};
