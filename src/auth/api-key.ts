import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { AuthError } from '../basics/errors.ts';
import { LruMap } from '../codecs/bytes/lru-map.ts';
import { Secret } from '../codecs/bytes/secret.ts';
import type { Tenant } from '../payments/ports/store-ports.ts';

interface RecentRead<Value> {
  readonly value: Promise<Value>;
  /** When the read started. */
  readonly readAtMs: number;
}

/** A revoked key and a blocked user must stop working within 5 s (contract, "Authentication"). */
const TRUSTED_FOR_MS = 4_000;
/** Ids in use at once, including unknown ones. */
const MAX_READS = 4_096;

/** Rows of credentials by id, at most 4 s old. A failed read is not cached. */
export class RecentReads<Value> {
  readonly #read: (id: string) => Promise<Value>;
  readonly #monotonicMs: () => number;
  readonly #reads = new LruMap<string, RecentRead<Value>>(MAX_READS);

  constructor(read: (id: string) => Promise<Value>, monotonicMs: () => number = () => performance.now()) {
    this.#read = read;
    this.#monotonicMs = monotonicMs;
  }

  get(id: string): Promise<Value> {
    const nowMs = this.#monotonicMs();
    const recent = this.#reads.get(id);
    if (recent !== undefined && nowMs - recent.readAtMs < TRUSTED_FOR_MS) return recent.value;
    const value = this.#read(id);
    this.#reads.set(id, { value, readAtMs: nowMs });
    value.catch(() => this.#reads.delete(id));
    return value;
  }
}

const ID_BYTES = 8;
const SECRET_BYTES = 32;
/**
 * The form of an API key, `tw_test_<id>_<secret>` or `tw_live_<id>_<secret>`. The id finds the row. The secret has 256
 * bits and is stored only as SHA-256: it cannot be guessed, so a slow hash would bring only delay. Both are hex, so there
 * is a single spelling, and a double click selects the whole key.
 */
const API_KEY = /^tw_(test|live)_([0-9a-f]{16})_([0-9a-f]{64})$/;
/** Keys in use at once whose last use was recorded. */
const MAX_KEYS_IN_USE = 4_096;
/** The last use is recorded to the minute. A write per request would be the most expensive part of the check. */
const USE_RECORDED_EVERY_MS = 60_000;
/** Compared if the id is unknown, so that the check takes as long as with a wrong secret. */
const NOBODYS_HASH = randomBytes(32);

/** `live` keys work only in prod, `test` keys everywhere else. */
export type ApiKeyMode = 'test' | 'live';

/** Owner of a key: the operator of the installation, or a tenant. */
export type ApiKeyOwner = 'operator' | Tenant;

/** A key as it is stored. */
export interface ApiKeyRecord {
  /** 16 hex digits. */
  readonly id: string;
  readonly mode: ApiKeyMode;
  /** SHA-256 of the secret's text, 32 bytes. */
  readonly secretHash: Uint8Array;
  readonly owner: ApiKeyOwner;
  readonly scopes: readonly string[];
  /** Name of the key, for people. */
  readonly name: string;
  /** Milliseconds since 1970; null for never. */
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}

export interface ApiKeys {
  find(id: string): Promise<ApiKeyRecord | undefined>;
  /** Called at most once a minute for a key in use; must not throw. */
  recordUse(id: string, atMs: number): void;
}

interface ApiKeyPrincipal {
  readonly keyId: string;
  readonly owner: ApiKeyOwner;
  readonly scopes: ReadonlySet<string>;
}

/** The caller of an administrative operation: the holder of an API key, or a person at the console. */
export interface Administrator {
  /** As the admin events name it: `key 0123…` or `user alice`. */
  readonly actor: string;
  readonly owner: ApiKeyOwner;
  readonly scopes: ReadonlySet<string>;
}

/** Creates a key. `text` is shown once and never again; `record` is stored. */
export function createApiKey(wanted: Pick<ApiKeyRecord, 'mode' | 'owner' | 'scopes' | 'name' | 'expiresAtMs'>): {
  readonly text: Secret<string>;
  readonly record: ApiKeyRecord;
} {
  const id = randomBytes(ID_BYTES).toString('hex');
  const secret = randomBytes(SECRET_BYTES).toString('hex');
  return {
    text: new Secret(`tw_${wanted.mode}_${id}_${secret}`),
    record: { ...wanted, id, secretHash: hashSecret(secret), revokedAtMs: null },
  };
}

/** @throws {AuthError} FORBIDDEN if the caller does not have the scope */
export function requireScope({ scopes }: Pick<Administrator, 'scopes'>, scope: string): void {
  if (!scopes.has(scope)) throw new AuthError('FORBIDDEN', 'scope');
}

/**
 * A caller can grant only scopes that it has. Every route that creates a credential, or adds to the rights of one, calls
 * this. @throws {AuthError} FORBIDDEN
 */
export function checkGrant({ scopes: own }: Pick<Administrator, 'scopes'>, scopes: Iterable<string>): void {
  for (const scope of scopes) if (!own.has(scope)) throw new AuthError('FORBIDDEN', 'scope');
}

/** Verifies API keys, with the records of recent ones in memory. */
export class ApiKeyVerifier {
  readonly #keys: ApiKeys;
  readonly #mode: ApiKeyMode;
  readonly #nowMs: () => number;
  readonly #records: RecentReads<ApiKeyRecord | undefined>;
  readonly #usedAtMs = new LruMap<string, number>(MAX_KEYS_IN_USE);

  constructor({
    keys,
    mode,
    nowMs = Date.now,
    monotonicMs,
  }: {
    readonly keys: ApiKeys;
    readonly mode: ApiKeyMode;
    readonly nowMs?: () => number;
    readonly monotonicMs?: () => number;
  }) {
    this.#keys = keys;
    this.#mode = mode;
    this.#nowMs = nowMs;
    this.#records = new RecentReads((id) => keys.find(id), monotonicMs);
  }

  /**
   * @param text the `x-api-key` header
   * @throws {AuthError} API_KEY_INVALID, the same for a key that is malformed, unknown, wrong, expired, revoked or of
   * another mode
   */
  async verify(text: string): Promise<ApiKeyPrincipal> {
    const [, mode, id, secret] = API_KEY.exec(text) ?? [];
    if (mode === undefined || id === undefined || secret === undefined) throw invalid('shape');
    const record = await this.#records.get(id);
    const isRight = timingSafeEqual(hashSecret(secret), record?.secretHash ?? NOBODYS_HASH);
    if (record === undefined) throw invalid('unknown');
    if (!isRight) throw invalid('secret');
    // The mode of the row decides, so that a test key cannot be rewritten as a live one.
    if (mode !== record.mode || mode !== this.#mode) throw invalid('mode');
    if (record.revokedAtMs !== null) throw invalid('revoked');
    const nowMs = this.#nowMs();
    if (record.expiresAtMs !== null && nowMs >= record.expiresAtMs) throw invalid('expired');
    this.#recordUse(id, nowMs);
    return { keyId: id, owner: record.owner, scopes: new Set(record.scopes) };
  }

  #recordUse(id: string, nowMs: number): void {
    if (nowMs - (this.#usedAtMs.get(id) ?? Number.NEGATIVE_INFINITY) < USE_RECORDED_EVERY_MS) return;
    this.#usedAtMs.set(id, nowMs);
    this.#keys.recordUse(id, nowMs);
  }
}

function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

function invalid(check: string): AuthError {
  return new AuthError('API_KEY_INVALID', check);
}
