import type { IsoMessage } from './iso-message.ts';

/** A switch that sends more requests than this while the HSM seals one reply floods the connection. */
const MAX_WAITING = 64;

interface Queue {
  last: Promise<unknown>;
  waiting: number;
}

/** Replies to requests of the switch. They keep the order of their connection, however long the HSM takes for each. */
export class SealedReplies {
  readonly #seal: ((message: IsoMessage) => Promise<void>) | undefined;
  readonly #queues = new WeakMap<object, Queue>();

  /** @param seal undefined if messages are written as they are */
  constructor(seal: ((message: IsoMessage) => Promise<void>) | undefined) {
    this.#seal = seal;
  }

  /** Resolves when the reply is written. Rejects if it has no MAC or too many wait: it is not written then. */
  async send(line: object, response: IsoMessage, write: (response: IsoMessage) => void): Promise<void> {
    if (this.#seal === undefined) return write(response);
    const queue = this.#queueOf(line);
    if (queue.waiting >= MAX_WAITING) throw new Error('Too many replies wait for their MAC');
    queue.waiting++;
    const sent = this.#sendAfter(queue.last, this.#seal(response), () => write(response));
    queue.last = sent.catch(() => {});
    await sent.finally(() => {
      queue.waiting--;
    });
  }

  /** Resolves when the replies of a connection so far have been written or given up. */
  lastOf(line: object): Promise<unknown> {
    return this.#queues.get(line)?.last ?? Promise.resolve();
  }

  async #sendAfter(before: Promise<unknown>, sealed: Promise<void>, write: () => void): Promise<void> {
    const [, result] = await Promise.allSettled([before, sealed]);
    if (result.status === 'rejected') throw result.reason;
    write();
  }

  #queueOf(line: object): Queue {
    const known = this.#queues.get(line);
    if (known) return known;
    const queue = { last: Promise.resolve(), waiting: 0 };
    this.#queues.set(line, queue);
    return queue;
  }
}
