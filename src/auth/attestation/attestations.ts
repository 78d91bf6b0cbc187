import { hash, type KeyObject } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { ATTESTATION_TYPE, attestationClaims } from '#schemas/attestation';
import { MAX_TOKEN_CHARS, type SigningAlgorithm } from '#schemas/tokens';
import { type AttestationCode, AttestationRefused } from '../../basics/errors.ts';
import { LruMap } from '../../codecs/bytes/lru-map.ts';

/** Clocks of servers differ by seconds; this is the leeway of merchants' tokens. */
const LEEWAY_SECONDS = 60;
/** Devices that tap at once; an entry takes about half a kilobyte. Evicted attestations are verified again. */
const MAX_CACHED = 16_384;

/** A service of an acquirer that attests devices, as the directory knows it. */
export interface Attester {
  readonly issuer: string;
  /** Undefined if the stored key cannot be read; it then verifies nothing. */
  readonly key: { readonly publicKey: KeyObject; readonly algorithms: readonly SigningAlgorithm[] } | undefined;
  readonly maxAgeSeconds: number;
  readonly leastAppVersion: string | null;
  /** Whether taps without an attestation are refused; one such attester is enough. */
  readonly isRequired: boolean;
}

/** The attesters of acquirers, from memory. */
export interface Attesters {
  /** Empty if the acquirer requires no attestation. The objects are new after each change. */
  attesters(acquirerId: number): readonly Attester[];
}

/** `accepted`, or why not. */
export type AttestationResult = 'accepted' | AttestationCode;

/** An attestation that was accepted. */
interface Accepted {
  readonly attester: Attester;
  readonly deviceInstallationId: string;
  readonly validUntilMs: number;
}

/**
 * Checks the attestations of devices. An acquirer that has a required attester requires an attestation for every tap and
 * PIN, and refuses one that cannot be verified.
 */
export class Attestations {
  readonly #options;
  /** Keyed by SHA-256, because a heap dump must not contain valid attestations. */
  readonly #accepted = new LruMap<string, Accepted>(MAX_CACHED);

  constructor(options: {
    readonly attesters: Attesters;
    /** Required in `aud`. */
    readonly audience: string;
    /** Milliseconds since 1970. */
    readonly nowMs: () => number;
    /** Called with the result of each check, also of those that refuse nothing. */
    readonly count: (result: AttestationResult) => void;
  }) {
    this.#options = options;
  }

  /**
   * @param token undefined without the header
   * @throws AttestationRefused if the acquirer requires an attestation and this one is not usable
   */
  async check(acquirerId: number, deviceInstallationId: string, token: string | undefined): Promise<void> {
    const { attesters, count } = this.#options;
    const known = attesters.attesters(acquirerId);
    if (known.length === 0) return;
    try {
      await this.#accept(known, `${acquirerId}`, deviceInstallationId, token);
      count('accepted');
    } catch (error) {
      if (!(error instanceof AttestationRefused)) throw error;
      count(error.code);
      if (known.some(({ isRequired }) => isRequired)) throw error;
    }
  }

  async #accept(
    attesters: readonly Attester[],
    acquirer: string,
    deviceInstallationId: string,
    token: string | undefined,
  ): Promise<void> {
    if (token === undefined || token === '') throw new AttestationRefused('ATTESTATION_MISSING');
    if (token.length > MAX_TOKEN_CHARS) throw new AttestationRefused('ATTESTATION_INVALID');
    const fingerprint = `${acquirer} ${hash('sha256', token, 'base64')}`;
    const known = this.#accepted.get(fingerprint);
    const accepted =
      known && attesters.includes(known.attester) ? known : await this.#verify(attesters, deviceInstallationId, token);
    if (accepted.deviceInstallationId !== deviceInstallationId) throw new AttestationRefused('ATTESTATION_INVALID');
    if (accepted.validUntilMs < this.#options.nowMs()) throw new AttestationRefused('ATTESTATION_EXPIRED');
    this.#accepted.set(fingerprint, accepted);
  }

  /** Tries each attester of the issuer, because two of them exist while a key is replaced. */
  async #verify(attesters: readonly Attester[], deviceInstallationId: string, token: string): Promise<Accepted> {
    const issuer = issuerOf(token);
    let fault: unknown;
    for (const attester of attesters) {
      const { key } = attester;
      if (attester.issuer !== issuer || key === undefined) continue;
      try {
        return accept(attester, deviceInstallationId, await this.#payloadOf({ ...attester, ...key }, token));
      } catch (error) {
        fault = error;
      }
    }
    if (fault instanceof AttestationRefused) throw fault;
    throw new AttestationRefused(fault instanceof errors.JWTExpired ? 'ATTESTATION_EXPIRED' : 'ATTESTATION_INVALID');
  }

  async #payloadOf(
    { publicKey, algorithms, issuer, maxAgeSeconds }: Attester & NonNullable<Attester['key']>,
    token: string,
  ): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [...algorithms],
      issuer,
      audience: this.#options.audience,
      typ: ATTESTATION_TYPE,
      maxTokenAge: maxAgeSeconds,
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(this.#options.nowMs()),
    });
    return payload;
  }
}

/** @throws AttestationRefused for a device or an app that is not trusted */
function accept(attester: Attester, deviceInstallationId: string, payload: JWTPayload): Accepted {
  const claims = attestationClaims.safeParse(payload);
  if (!claims.success || claims.data.sub !== deviceInstallationId) throw new AttestationRefused('ATTESTATION_INVALID');
  const { verdict, appVersion } = claims.data;
  if (verdict !== 'trusted') throw new AttestationRefused('DEVICE_UNTRUSTED');
  const { leastAppVersion, maxAgeSeconds } = attester;
  if (leastAppVersion !== null && (appVersion === undefined || compareVersions(appVersion, leastAppVersion) < 0))
    throw new AttestationRefused('APP_OUTDATED');
  const untilSeconds = Math.min(payload.iat! + maxAgeSeconds, payload.exp ?? Number.POSITIVE_INFINITY);
  return { attester, deviceInstallationId, validUntilMs: (untilSeconds + LEEWAY_SECONDS) * 1_000 };
}

/** The issuer that an unverified token names. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** Negative if `one` is lower. A missing number counts as zero. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split('.').map(Number));
  for (let index = 0; index < Math.max(left!.length, right!.length); index++) {
    const difference = (left![index] ?? 0) - (right![index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
