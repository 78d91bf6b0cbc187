import type { LookupAllOptions } from 'node:dns';
import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { LruMap } from '../codecs/bytes/lru-map.ts';

/** `dns.lookup` for all addresses of a name. */
export type LookUpAll = (
  name: string,
  options: dns.LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void;

type LookUpResult = readonly [error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]];

/** The name servers do not respond, or have a fault. */
const TEMPORARY = 'EAI_AGAIN';

interface Name {
  readonly key: string;
  readonly name: string;
  readonly options: dns.LookupAllOptions;
  readonly callers: ((...response: LookUpResult) => void)[];
}

/** A lookup that takes longer waits for a name server that does not respond. */
const SLOW_MS = 1_000;
/** No resolver waits for so long. Its thread is lost, and the other names go on. */
const LOST_MS = 60_000;
/** Names whose addresses or slowness are remembered. A process has fewer switches. */
const MAX_REMEMBERED = 1_024;

/**
 * The operating system's lookups of host names, which know /etc/hosts and search domains, one at a time.
 *
 * A lookup cannot be cancelled. It holds a thread until the resolver stops waiting for the name servers, which is often
 * later than the end of the dial, and Node has two such threads for all lookups, those of the database included. So the
 * names of one acquirer, whose name servers are silent, must not use more than one of them, nor keep the lookups of others
 * waiting:
 *
 * - Each name has at most one lookup at a time, which serves all connections that need it.
 * - Names that were slow the last time wait for the others.
 * - A name that was found before has its earlier addresses if the lookup is slow or fails for now.
 */
export class NameLookups {
  readonly #lookUp: LookUpAll;
  readonly #asked = new Map<string, Name>();
  readonly #found = new LruMap<string, dns.LookupAddress[]>(MAX_REMEMBERED);
  readonly #slow = new LruMap<string, true>(MAX_REMEMBERED);
  readonly #prompt: Name[] = [];
  readonly #late: Name[] = [];
  #isBusy = false;

  constructor(lookUp: LookUpAll = dns.lookup) {
    this.#lookUp = lookUp;
  }

  readonly resolve: LookUpAll = (name, options, done) => {
    const key = `${options.family ?? 0} ${options.hints ?? 0} ${name}`;
    let timer: NodeJS.Timeout | undefined;
    let isDone = false;
    const respond = (...[error, addresses]: LookUpResult) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      const earlier = error?.code === TEMPORARY ? this.#found.get(key) : undefined;
      if (earlier) done(null, earlier);
      else done(error, addresses);
    };
    const earlier = this.#found.get(key);
    if (earlier) timer = setTimeout(() => respond(null, earlier), SLOW_MS).unref();
    const asked = this.#asked.get(key);
    if (asked) asked.callers.push(respond);
    else this.#ask({ key, name, options, callers: [respond] });
  };

  #ask(name: Name): void {
    this.#asked.set(name.key, name);
    (this.#slow.get(name.key) ? this.#late : this.#prompt).push(name);
    this.#next();
  }

  #next(): void {
    if (this.#isBusy) return;
    const next = this.#prompt.shift() ?? this.#late.shift();
    if (!next) return;
    this.#isBusy = true;
    const startedAtMs = performance.now();
    let isEnded = false;
    const end = (...[error, addresses]: LookUpResult) => {
      if (isEnded) return;
      isEnded = true;
      clearTimeout(lost);
      this.#isBusy = false;
      this.#asked.delete(next.key);
      if (performance.now() - startedAtMs > SLOW_MS) this.#slow.set(next.key, true);
      else this.#slow.delete(next.key);
      if (!error) this.#found.set(next.key, addresses);
      for (const caller of next.callers) caller(error, addresses);
      this.#next();
    };
    const lost = setTimeout(() => end(temporarily(), []), LOST_MS).unref();
    this.#lookUp(next.name, next.options, end);
  }
}

function temporarily(): NodeJS.ErrnoException {
  return Object.assign(new Error('The name was not resolved in time.'), { code: TEMPORARY });
}

/** Whether the process may connect to an address, IPv4 or IPv6 as text. */
export type MayDial = (address: string, port: number) => boolean;

/** The detail of a connection that was refused here, see `CloseReason`. */
const ADDRESS_REFUSED = 'ADDRESS_REFUSED';

export function addressRefused(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address may not be dialled.'), { code: ADDRESS_REFUSED });
}

const ofThisProcess = new NameLookups();

/**
 * Replaces the system's lookup in `net.connect`. The addresses that are checked are those that are dialled, so a name
 * that changes its address in between (DNS rebinding) gains nothing. One refused address refuses the name, because it
 * is random which address would be dialled.
 *
 * @param resolve by default the operating system's resolver, with one lookup at a time for all switches of the process
 */
export function guardedLookup(
  port: number,
  mayDial: MayDial,
  resolve: LookUpAll = ofThisProcess.resolve,
): LookupFunction {
  return (name, { family, hints, all }, done) => {
    const asked: LookupAllOptions = { all: true };
    if (family !== undefined) asked.family = family;
    if (hints !== undefined) asked.hints = hints;
    resolve(name, asked, (error, addresses) => {
      if (error) return done(error, []);
      if (!addresses.every(({ address }) => mayDial(address, port))) return done(addressRefused(), []);
      if (all) return done(null, addresses);
      return done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}
