import { type Client, createClient, ProblemError } from '#schemas/client';
import type { WebhookAttemptView, WebhookEventView } from '#schemas/webhook';
import { StartError } from '../basics/errors.ts';

/** A change since the last poll: a new event, or a new delivery attempt for an event. */
export interface Change {
  readonly event: WebhookEventView;
  readonly isNew: boolean;
}

/** Page size of the list. */
const PAGE = 100;
/** Most pages that one poll reads; attempts for older events are not noticed. */
const MAX_PAGES = 20;
/** A page normally takes milliseconds; after this time the request is abandoned and the next poll asks again. */
const TIMEOUT_MS = 10_000;

/** The events of an integrator, polled over HTTP. */
export class EventFeed {
  readonly url: string;
  readonly #client: Client;
  /** Number of attempts per event at the last poll. */
  readonly #seen = new Map<string, number>();

  constructor(url: string, apiKey: string) {
    this.url = url;
    // The next poll is the retry.
    this.#client = createClient({ baseUrl: url, credentials: { apiKey }, timeoutMs: TIMEOUT_MS, repeats: 0 });
  }

  /**
   * The changes, oldest first.
   *
   * @throws StartError when the gateway refuses the key; the client's errors when it is unreachable or busy
   */
  async look(): Promise<Change[]> {
    const changes: Change[] = [];
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const events = await this.#asked(this.#client.listWebhookEvents({ query: { limit: PAGE, after } }));
      const isAllNew = events.every(({ id }) => !this.#seen.has(id));
      for (const event of events) {
        const before = this.#seen.get(event.id);
        if (before !== event.attempts) changes.push({ event, isNew: before === undefined });
        this.#seen.set(event.id, event.attempts);
      }
      // The list is newest first: when a page ends in a known event, all further events are known.
      if (events.length < PAGE || !isAllNew) break;
      after = events.at(-1)!.id;
    }
    return changes.reverse().sort(byTimeOfStatus);
  }

  attempts(eventId: string): Promise<WebhookAttemptView[]> {
    return this.#asked(this.#client.listAttemptsOfWebhookEvent({ params: { id: eventId } }));
  }

  /** A refusal that polling again would not change is reported to the user. */
  #asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return answer.catch((cause) => {
      const isLasting = cause instanceof ProblemError && cause.status < 500 && cause.status !== 429;
      if (!isLasting) throw cause;
      throw new StartError('BAD_CONFIG', `${this.url} answers ${cause.status}: ${cause.problem.detail}`, { cause });
    });
  }
}

/** Events that are created within a millisecond or two are listed in any order: their statuses have the right one. */
function byTimeOfStatus({ event: one }: Change, { event: other }: Change): number {
  const elapsed = Date.parse(one.payload.timestamp) - Date.parse(other.payload.timestamp);
  return elapsed === 0 ? one.payload.sequence - other.payload.sequence : elapsed;
}
