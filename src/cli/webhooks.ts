import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient, ProblemError } from '#schemas/client';
import type { WebhookAttemptView, WebhookEventView } from '#schemas/webhook';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { StartError } from '../basics/errors.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import { readProfileOrDemo } from '../tools/phone/profile.ts';
import { createWebhookSecret, signWebhook } from '../webhooks/webhook-signature.ts';
import { flag, readOptions, text } from './arguments.ts';
import { untilAskedToStop } from './command-end.ts';
import { type Commands, command } from './commands.ts';
import { bad, showMajor } from './output.ts';

const USAGE = `usage: tapwire webhooks listen --forward-to URL [--secret whsec_…] [--all] [--profile FILE]

  --forward-to  the address of your receiver
  --secret      the secret that signs the webhooks; default: a new one, which is printed
  --all         forward the existing events first
  --profile     the credentials (tapwire profile); default: those of npm start

Forwards each event of the integrator to your receiver, signed like the webhooks of the gateway, until Ctrl-C.`;

/** `tapwire webhooks ...`: tools for integrators that receive webhooks. */
export const commands: Commands = {
  listen: command(
    '--forward-to URL [--secret whsec_…] [--all] [--profile FILE]: forward signed events to your receiver',
    listen,
    USAGE,
  ),
};

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
  #asked<Value>(response: Promise<Value>): Promise<Value> {
    return response.catch((cause) => {
      const isLasting = cause instanceof ProblemError && cause.status < 500 && cause.status !== 429;
      if (!isLasting) throw cause;
      throw new StartError('BAD_CONFIG', `${this.url} responds with ${cause.status}: ${cause.problem.detail}`, {
        cause,
      });
    });
  }
}

/** Events that are created within a millisecond or two are listed in any order: their statuses have the right one. */
function byTimeOfStatus({ event: one }: Change, { event: other }: Change): number {
  const elapsed = Date.parse(one.payload.timestamp) - Date.parse(other.payload.timestamp);
  return elapsed === 0 ? one.payload.sequence - other.payload.sequence : elapsed;
}

const LOOK_EVERY_MS = 500;
/** The gateway gives a receiver the same time. */
const FORWARD_TIMEOUT_MS = 15_000;
/** Most characters shown of the response in which a receiver refuses a webhook. */
const SHOWN_CHARS = 120;

/**
 * `tapwire webhooks listen --forward-to URL`: forwards every event of an integrator to a receiver under
 * development, signed like the gateway's webhooks. It shows the result of each delivery, here and at the registered
 * callback. With `--all` it begins with the existing events.
 */
async function listen(args: string[]): Promise<void> {
  const values = readOptions(args, { 'forward-to': text, secret: text, profile: text, all: flag });
  const target = targetOf(values['forward-to']);
  const { url, apiKey } = readProfileOrDemo(values.profile);
  const secret = values.secret === undefined ? createWebhookSecret() : new Secret(values.secret);
  const feed = new EventFeed(url, apiKey);
  if (!values.all) await lookAt(feed);
  console.log(`Forwarding events of ${url} to ${target.href} (stop with Ctrl-C).`);
  if (values.secret === undefined) console.log(`While this command runs, events are signed with ${secret.reveal()}.`);
  await new Listener(feed, target, secret).run(untilAskedToStop());
}

function targetOf(given: string | undefined): URL {
  if (given === undefined) throw new StartError('BAD_USAGE', `Missing: --forward-to.\n\n${USAGE}`);
  const target = URL.parse(given);
  if (target?.protocol === 'http:' || target?.protocol === 'https:') return target;
  throw new StartError('BAD_USAGE', `--forward-to ${given}: expected an http or https URL`);
}

/** Existing events are not new. */
async function lookAt(feed: EventFeed): Promise<void> {
  await feed.look().catch((cause) => {
    if (cause instanceof StartError) throw cause;
    throw new StartError('BAD_CONFIG', `No response from ${feed.url}. Is the gateway running?`, { cause });
  });
}

/** Polls a feed and forwards its changes. */
export class Listener {
  readonly #feed: EventFeed;
  readonly #target: URL;
  readonly #secret: Secret<string>;
  readonly #print: (line: string) => void;

  constructor(feed: EventFeed, target: URL, secret: Secret<string>, print: (line: string) => void = console.log) {
    this.#feed = feed;
    this.#target = target;
    this.#secret = secret;
    this.#print = print;
  }

  /** Runs until `stop` resolves. @throws StartError when the gateway refuses the key */
  async run(stop: Promise<unknown>): Promise<void> {
    let isStopped = false;
    let isUnavailable = false;
    const stopped = stop.then(() => {
      isStopped = true;
    });
    while (!isStopped) {
      try {
        for (const change of await this.#feed.look()) await this.#show(change);
        isUnavailable = false;
      } catch (error) {
        if (error instanceof StartError) throw error;
        if (!isUnavailable) this.#print('The gateway does not respond; waiting for it.');
        isUnavailable = true;
      }
      await Promise.race([sleep(LOOK_EVERY_MS), stopped]);
    }
  }

  async #show({ event, isNew }: Change): Promise<void> {
    if (isNew) this.#print(`${describe(event)}\n  forwarded   ${await this.#forward(event)}`);
    if (event.attempts === 0) return;
    const last = (await this.#feed.attempts(event.id)).at(-1);
    if (last) this.#print(`  ${isNew ? 'registered ' : `${event.id} `} ${describeAttempt(last, event)}`);
  }

  /** @returns the result of the delivery, as text */
  async #forward({ id, payload }: WebhookEventView): Promise<string> {
    const body = JSON.stringify(payload);
    const signed = signWebhook([this.#secret], { id, body, atMs: Date.now() });
    try {
      const response = await fetch(this.#target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...signed },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
      });
      return outcomeOf(response.status, await response.text());
    } catch (error) {
      return reasonOf(error as Error);
    }
  }
}

function describe({ id, createdAt, payload }: WebhookEventView): string {
  const { type, sequence, disposition, currency, amount, merchantReference } = payload;
  return `${createdAt}  ${type} ${sequence}  ${disposition}  ${showMajor(amount, currency)}  ${merchantReference}  (${id})`;
}

function outcomeOf(status: number, response: string): string {
  if (status >= 200 && status < 300) return `${status}`;
  const said = response.trim().replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARS);
  const why = status >= 300 && status < 400 ? 'a redirect, which is not followed' : said;
  return `${bad('NOT TAKEN')}  ${status}${why && `  ${why}`}`;
}

function reasonOf({ name, cause }: Error): string {
  if (name === 'TimeoutError') return `${bad('NOT TAKEN')}  no response within ${FORWARD_TIMEOUT_MS / 1_000} s`;
  return `${bad('NOT TAKEN')}  ${cause === undefined ? name : describeSystemError(cause)}`;
}

/** The result of the last attempt at the registered callback, and the next step. */
function describeAttempt(
  { number, url, status, error, response }: WebhookAttemptView,
  event: WebhookEventView,
): string {
  const outcome = status === null ? `${bad('NOT TAKEN')}  ${error}` : outcomeOf(status, response ?? '');
  const next = event.nextAttemptAt === null ? event.state : `next at ${event.nextAttemptAt}`;
  return `${outcome}  attempt ${number} at ${url}, ${event.state === 'delivered' ? 'delivered' : next}`;
}
