import { expect } from 'vitest';
import { MerchantTokenVerifier } from '../../src/auth/issuers/verify-merchant-token.ts';
import { AuthError } from '../../src/basics/errors.ts';
import { problemOf } from '../../src/http/problem.ts';
import { AUDIENCE, NOW_MS, type TestRegistry } from './merchant-token.ts';

/** A verifier whose clocks the test controls. */
export class VerifierBench {
  readonly registry: TestRegistry;
  readonly verifier: MerchantTokenVerifier;
  nowMs = NOW_MS;

  constructor(registry: TestRegistry) {
    this.registry = registry;
    this.verifier = new MerchantTokenVerifier({
      keys: registry,
      merchants: registry,
      audience: AUDIENCE,
      nowMs: () => this.nowMs,
    });
  }

  /** The check that a token fails; also verifies that the response is the right one. */
  async refusal(token: string): Promise<string> {
    const error = await this.verifier.verify(token).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AuthError);
    const { code, check, message } = error as AuthError;
    expect(message).toBe(code);
    const responses = { JWT_INVALID: [401, 117], JWT_EXPIRED: [401, 118], FORBIDDEN: [403, 101] };
    const { status, errorCode } = problemOf(error)!;
    expect([status, errorCode]).toEqual(responses[code as keyof typeof responses]);
    return `${code} ${check}`;
  }
}
