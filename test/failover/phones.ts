import { randomUUID } from 'node:crypto';
import { createClient } from '../../schemas/client.ts';
import { type ClientCall, Fleet, RequestWriter } from '../../src/tools/load/clients/fleet.ts';
import { CARD_NAMES, tapCall } from '../../src/tools/load/clients/tap-calls.ts';
import { ConnectionPool, type HttpResponse } from '../../src/tools/load/connection-pool.ts';
import { OpenLoop } from '../../src/tools/load/open-loop.ts';
import { type Slice, Tally } from '../../src/tools/load/tally.ts';
import type { Merchants } from '../support/two-switches.ts';

const PHONES = 400;
/** A full run takes an hour. */
const TOKEN_SECONDS = 6 * 3_600;
/** As many as wait at once while a database is unavailable: a gateway responds within seconds. */
const CONNECTIONS = 4_000;
/** A request ends after the deadline of its switch and 27 s (src/observe/README.md). */
const RESPONSE_WITHIN_MS = 75_000;
const TEN = 10_00;
/** 10.00 to 409.00 are approved; each tenth tap ends in .51 and is declined. */
const WHOLE_AMOUNTS = 400;
const DECLINED_EVERY = 10;
const DECLINE_CENTS = 51;

/** One tap, as its phone remembers it. */
export interface Tap {
  readonly reference: string;
  /** Complete, to be repeated as it was. */
  readonly request: Buffer;
  /** Of the response; undefined without one. */
  respondedAtMs?: number;
  status?: number;
  errorCode?: number | undefined;
  /** Whether the response was 503 before it was sent again; undefined if it was sent once. */
  wasRefused?: boolean;
  /** Of a response with an outcome. */
  id?: string;
  outcome?: string;
}

/** The phones of two acquirers, which send taps at a constant rate and keep every response. */
export class Phones {
  readonly #fleets: readonly Fleet[];
  readonly #requests: RequestWriter;
  readonly #port: number;
  #made = 0;

  private constructor(fleets: readonly Fleet[], port: number, origin: string) {
    this.#fleets = fleets;
    this.#port = port;
    this.#requests = new RequestWriter(new URL(origin), false);
  }

  /** @param origin the URL in requests, if a proxy chooses the gateway from it; `keysUrl` leads to any gateway then */
  static async create(
    port: number,
    acquirers: readonly Merchants[],
    urls: { readonly origin?: string; readonly keysUrl?: string } = {},
  ): Promise<Phones> {
    const { origin = urlOf(port), keysUrl = origin } = urls;
    const [cardDataKey] = (await createClient({ baseUrl: keysUrl }).getCardDataKeys()).keys;
    const common = { cardDataKey: cardDataKey!, phones: PHONES / acquirers.length, seconds: TOKEN_SECONDS };
    const fleets = await Promise.all(acquirers.map((merchants) => Fleet.create({ ...merchants, ...common })));
    return new Phones(fleets, port, origin);
  }

  /** Sends new taps until it is stopped. */
  start(perSecond: number): Traffic {
    const taps: Tap[] = [];
    const tally = new Tally();
    const makeCall = () => this.#newTap(taps);
    return new Traffic(taps, this.#loop(everyMs(1_000 / perSecond), makeCall, tally), tally);
  }

  /** Sends taps again, unchanged, as phones do that got no outcome. Their responses replace the former ones. */
  async repeat(taps: readonly Tap[], perSecond: number): Promise<void> {
    for (const tap of taps) tap.wasRefused = tap.status === 503;
    const waiting = taps.values();
    const makeCall = () => {
      const tap = waiting.next().value ?? taps[0]!; // the loop makes more than it sends
      return { scenario: 'repeat', request: tap.request, read: (response: HttpResponse) => keep(tap, response) };
    };
    const loop = this.#loop(everyMs(1_000 / perSecond, taps.length), makeCall, new Tally());
    await loop.run(performance.now());
  }

  #loop(dueTimes: Iterator<number>, makeCall: () => ClientCall, tally: Tally): OpenLoop {
    const target = { host: '127.0.0.1', port: this.#port, isTls: false };
    const lines = new ConnectionPool({ target, kept: 0, most: CONNECTIONS, isNewEach: false });
    return new OpenLoop({ dueTimes, makeCall, pool: lines, tally, responseWithinMs: RESPONSE_WITHIN_MS });
  }

  #newTap(taps: Tap[]): ClientCall {
    const number = this.#made++;
    const fleet = this.#fleets[number % this.#fleets.length]!;
    const cents = number % DECLINED_EVERY === 0 ? DECLINE_CENTS : 0;
    const reference = randomUUID();
    const { request } = tapCall(
      { fleet, requests: this.#requests, backend: undefined },
      {
        scenario: 'tap',
        phone: fleet.next(),
        card: CARD_NAMES[number % CARD_NAMES.length]!,
        amountMinor: TEN + (number % WHOLE_AMOUNTS) * 100 + cents,
        expects: 'Approved',
        merchantReference: reference,
      },
    );
    const tap: Tap = { reference, request };
    taps.push(tap);
    return { scenario: 'tap', request, read: (response) => keep(tap, response) };
  }
}

/** Taps that are being sent. */
export class Traffic {
  readonly #made: readonly Tap[];
  readonly #loop: OpenLoop;
  readonly #tally: Tally;
  readonly #ended: Promise<void>;
  /** In the slices that were taken. */
  #dueBefore = 0;

  constructor(made: readonly Tap[], loop: OpenLoop, tally: Tally) {
    this.#made = made;
    this.#loop = loop;
    this.#tally = tally;
    this.#ended = loop.run(performance.now());
  }

  /** In the order in which they were due; the last ones that were made are not due yet. */
  get taps(): readonly Tap[] {
    return this.#made.slice(0, this.#dueBefore + this.#tally.sum().due);
  }

  /** Counts and latencies since the last call. */
  takeSlice(): Slice {
    const slice = this.#tally.take();
    this.#dueBefore += slice.due;
    return slice;
  }

  async stop(): Promise<void> {
    this.#loop.stop(RESPONSE_WITHIN_MS);
    await this.#ended;
  }
}

interface ResponseBody {
  readonly errorCode?: number;
  readonly onlineAuthorizationResponse?: { readonly type: string; readonly serviceReference: string };
}

/** A proxy without a gateway responds with a page. */
function bodyOf(text: string): ResponseBody {
  return text.startsWith('{') ? (JSON.parse(text) as ResponseBody) : {};
}

function keep(tap: Tap, { status, body }: HttpResponse) {
  const { errorCode, onlineAuthorizationResponse: response } = bodyOf(body.toString());
  tap.status = status;
  tap.errorCode = errorCode;
  tap.respondedAtMs = performance.now();
  if (status === 200 && response) {
    tap.id = response.serviceReference;
    tap.outcome = response.type;
  }
  return { outcome: tap.outcome ?? `HTTP ${status}`, isExpected: true, isError: false };
}

function* everyMs(ms: number, most = Number.POSITIVE_INFINITY): Generator<number> {
  for (let count = 0; count < most; count++) yield count * ms;
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
