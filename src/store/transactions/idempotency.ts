import { randomUUID } from 'node:crypto';
import type { KeyRing } from '../../card/key-ring.ts';
import { openBytes, sealBytes } from '../../card/seal-bytes.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';

/** Contract, "Idempotency, tracing, versioning". */
const KEPT_FOR = '24 hours';
/** Longer than any request can take (a processor's deadline, 5 s and the grace): its process has died. */
const ABANDONED_AFTER = '120 seconds';
/**
 * A created resource is a few KB. A longer response is not stored, and a repeat receives the response that the request
 * was carried out.
 */
const MAX_RESPONSE_CHARS = 65_536;
/**
 * An entry that is purged between two statements is claimed at the next look-up; more than this is not a coincidence.
 */
const MAX_CHECKS = 3;
const PURGE_EVERY_MS = 10 * 60_000;
/** A purge must not hold its locks for long. The rest follows in the next run, or at once after a full batch. */
const PURGE_BATCH = 5_000;

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  /** Names the caller: a key belongs to its credential and route. */
  readonly credential: string;
  readonly route: string;
  readonly key: string;
  /** SHA-256 of the request. */
  readonly fingerprint: Uint8Array;
}

/** A request that runs with its key; no other request runs with this key. */
export interface Claim extends KeyedRequest {
  readonly id: string;
}

/** A response for replay; `body` is null if it was too long to store. */
export interface KeptResponse {
  readonly status: number;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  | { readonly kind: 'running' }
  | { readonly kind: 'otherRequest' }
  | { readonly kind: 'responded'; readonly response: KeptResponse };

const CLAIM = `
insert into idempotency_keys as k (credential, route, key, claim, fingerprint, acquirer_id)
values ($1, $2, $3, $4, $5, acquirer_of_credential($1))
on conflict (credential, route, key) do update
set claim = excluded.claim, fingerprint = excluded.fingerprint, status = null, sealed_response = null, started_at = clock_timestamp()
where k.started_at < clock_timestamp() - interval '${KEPT_FOR}'
  or (k.status is null and k.fingerprint = excluded.fingerprint
    and k.started_at < clock_timestamp() - interval '${ABANDONED_AFTER}')
returning claim`;

const FIND = `select fingerprint, status, sealed_response as "sealedResponse" from idempotency_keys
  where credential = $1 and route = $2 and key = $3`;

const KEEP = `update idempotency_keys set status = $5, sealed_response = $6
  where credential = $1 and route = $2 and key = $3 and claim = $4`;

const RELEASE = `delete from idempotency_keys where credential = $1 and route = $2 and key = $3 and claim = $4`;

const PURGE = `delete from idempotency_keys where (credential, route, key) in (
  select credential, route, key from idempotency_keys
  where started_at < clock_timestamp() - interval '${KEPT_FOR}' limit ${PURGE_BATCH} for update skip locked)`;

/** Responses to requests with Idempotency-Keys, stored for a day and shared by all processes. */
export class IdempotencyKeys {
  readonly #database: Database;
  readonly #keys: KeyRing['webhookSealing'];
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, { webhookSealing }: Pick<KeyRing, 'webhookSealing'>) {
    this.#database = database;
    this.#keys = webhookSealing;
    this.#schedule(PURGE_EVERY_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** @throws StoreUnavailable */
  async claim(request: KeyedRequest): Promise<ClaimOutcome> {
    for (let checks = 1; checks <= MAX_CHECKS; checks++) {
      const claim: Claim = { ...request, id: randomUUID() };
      const { rowCount } = await mapConnectionLoss(this.#run('claim-key', CLAIM, claim, request.fingerprint));
      if (rowCount === 1) return { kind: 'claimed', claim };
      const { rows } = await mapConnectionLoss(
        this.#database.query<KeptRow>({ name: 'find-key', text: FIND, values: valuesOf(request) }),
      );
      if (rows[0]) return this.#outcomeOf(rows[0], request);
    }
    return { kind: 'running' };
  }

  /** Stores the response, unless the claim has passed to another request. */
  async keep(claim: Claim, { status, headers, body }: KeptResponse): Promise<void> {
    const isKept = body !== null && body.length <= MAX_RESPONSE_CHARS;
    const text = JSON.stringify({ headers, body });
    const sealed = isKept ? sealBytes(this.#keys, sealedFor(claim), Buffer.from(text)) : null;
    await mapConnectionLoss(this.#run('keep-response', KEEP, claim, status, sealed));
  }

  /** The request has no result that may be replayed: the next one runs. */
  async release(claim: Claim): Promise<void> {
    await mapConnectionLoss(this.#run('release-key', RELEASE, claim));
  }

  /** Removes entries older than a day. @returns the number of rows */
  async purge(): Promise<number> {
    const { rowCount } = await this.#database.query(PURGE);
    return rowCount ?? 0;
  }

  #run(name: string, text: string, claim: Claim, ...more: unknown[]) {
    return this.#database.query({ name, text, values: [...valuesOf(claim), claim.id, ...more] });
  }

  #outcomeOf({ fingerprint, status, sealedResponse }: KeptRow, request: KeyedRequest): ClaimOutcome {
    if (Buffer.compare(fingerprint, request.fingerprint) !== 0) return { kind: 'otherRequest' };
    if (status === null) return { kind: 'running' };
    if (sealedResponse === null) return { kind: 'responded', response: { status, body: null, headers: {} } };
    const { headers, body } = JSON.parse(openBytes(this.#keys, sealedFor(request), sealedResponse).toString());
    return { kind: 'responded', response: { status, headers, body } };
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(async () => {
      const purged = await this.purge().catch(() => 0); // readiness reports that the database is unavailable
      this.#schedule(purged === PURGE_BATCH ? 0 : PURGE_EVERY_MS);
    }, afterMs).unref();
  }
}

interface KeptRow {
  readonly fingerprint: Uint8Array;
  readonly status: number | null;
  readonly sealedResponse: Uint8Array | null;
}

function valuesOf({ credential, route, key }: KeyedRequest): string[] {
  return [credential, route, key];
}

/** A response can be opened only of its own request. */
function sealedFor({ credential, route, key }: KeyedRequest) {
  return { purpose: 'idempotent response', owner: [credential, route, key].join('\0') };
}
