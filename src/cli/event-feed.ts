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

/** The events of an integrator, looked at again and again over HTTP. */
export class EventFeed {
  readonly url: string;
  readonly #apiKey: string;
  /** Attempts of each event, as last seen. */
  readonly #seen = new Map<string, number>();

  constructor(url: string, apiKey: string) {
    this.url = url;
    this.#apiKey = apiKey;
  }

  /**
   * What is new, oldest first.
   *
   * @throws StartError when the gateway refuses the key; TypeError when it cannot be reached
   */
  async look(): Promise<Change[]> {
    const changes: Change[] = [];
    let after = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const events = await this.#get<WebhookEventView[]>(`/integrator/events?limit=${PAGE}${after}`);
      const isAllNew = events.every(({ id }) => !this.#seen.has(id));
      for (const event of events) {
        const before = this.#seen.get(event.id);
        if (before !== event.attempts) changes.push({ event, isNew: before === undefined });
        this.#seen.set(event.id, event.attempts);
      }
      // Newest first: where a page ends in what is known, everything behind it is.
      if (events.length < PAGE || !isAllNew) break;
      after = `&after=${events.at(-1)!.id}`;
    }
    return changes.reverse();
  }

  attempts(eventId: string): Promise<WebhookAttemptView[]> {
    return this.#get(`/integrator/events/${eventId}/attempts`);
  }

  async #get<Answer>(path: string): Promise<Answer> {
    const response = await fetch(new URL(path, this.url), { headers: { 'x-api-key': this.#apiKey } });
    const body: unknown = await response.json();
    if (response.ok) return body as Answer;
    const { detail = '' } = body as { detail?: string };
    throw new StartError('BAD_CONFIG', `${this.url} answers ${response.status}: ${detail}`);
  }
}
