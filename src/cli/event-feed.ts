import { type Client, createClient, ProblemError } from '#schemas/client';
import type { WebhookAttemptView, WebhookEventView } from '#schemas/webhook';
import { StartError } from '../errors.ts';

/** What changed since the last look: an event that is new, or one that the gateway attempted to deliver again. */
export interface Change {
  readonly event: WebhookEventView;
  readonly isNew: boolean;
}

/** A page of the list. */
const PAGE = 100;
/** A look goes back so far; an attempt at an older event goes unnoticed. */
const MAX_PAGES = 20;
/** A page comes within milliseconds; what takes this long is asked again. */
const TIMEOUT_MS = 10_000;

/** The events of an integrator, looked at again and again over HTTP. */
export class EventFeed {
  readonly url: string;
  readonly #client: Client;
  /** Attempts of each event, as last seen. */
  readonly #seen = new Map<string, number>();

  constructor(url: string, apiKey: string) {
    this.url = url;
    // Whoever follows the feed looks again by himself.
    this.#client = createClient({ baseUrl: url, credentials: { apiKey }, timeoutMs: TIMEOUT_MS, repeats: 0 });
  }

  /**
   * What is new, oldest first.
   *
   * @throws StartError when the gateway refuses the key; the client's errors when it cannot be reached, or is busy
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
      // Newest first: where a page ends in what is known, everything behind it is.
      if (events.length < PAGE || !isAllNew) break;
      after = events.at(-1)!.id;
    }
    return changes.reverse();
  }

  attempts(eventId: string): Promise<WebhookAttemptView[]> {
    return this.#asked(this.#client.listAttemptsOfWebhookEvent({ params: { id: eventId } }));
  }

  /** A refusal that will be the same the next time is for whoever started this. */
  #asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return answer.catch((cause) => {
      const isLasting = cause instanceof ProblemError && cause.status < 500 && cause.status !== 429;
      if (!isLasting) throw cause;
      throw new StartError('BAD_CONFIG', `${this.url} answers ${cause.status}: ${cause.problem.detail}`, { cause });
    });
  }
}
