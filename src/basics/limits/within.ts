import { setTimeout as after } from 'node:timers/promises';

const TIMEOUT = 'TimeoutError';

/** Resolves with the promise's value unless it takes too long. @throws Error named `TimeoutError` */
export async function within<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value> {
  const giveUp = new AbortController();
  const timeout = after(milliseconds, undefined, { signal: giveUp.signal, ref: false }).then(() => {
    throw Object.assign(new Error('it took too long'), { name: TIMEOUT });
  });
  timeout.catch(() => {}); // a rejection after the wait has ended is not a fault
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    giveUp.abort();
  }
}

export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === TIMEOUT;
}
