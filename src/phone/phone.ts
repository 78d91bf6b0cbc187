import { randomUUID } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import type { CardDataPublicKey } from '#schemas/card-data';
import { type SampleCardName, sampleTap } from '../card/sample-tap.ts';
import { createCardDataSealer } from '../card/seal-card-data.ts';
import { currencyOf, parseAmount } from '../transactions/money.ts';
import type { TapRequest } from '../transactions/ports.ts';
import type { Profile } from './profile.ts';

/** A token per hour is what a careful backend issues. */
const TOKEN_SECONDS = 3_600;

/** What one tap is to be. */
export interface PhoneTap {
  /** Decimal text in major units. */
  readonly amount: string;
  readonly currency: string;
  readonly card?: SampleCardName | undefined;
  readonly merchantReference?: string | undefined;
  /** Changes the card's values before they are sealed: to make a card misbehave. */
  readonly tamper?: ((values: Map<number, Uint8Array>) => void) | undefined;
}

export interface PhoneAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly ms: number;
}

/** A phone with a reader and a merchant's backend in one: signs tokens, seals card data, submits taps. */
export class Phone {
  readonly #profile: Profile;
  readonly deviceInstallationId: string;
  #token: string | undefined;
  #keys: readonly CardDataPublicKey[] | undefined;

  constructor(profile: Profile, deviceInstallationId: string = randomUUID()) {
    this.#profile = profile;
    this.deviceInstallationId = deviceInstallationId;
  }

  /** Submits a tap as 4.4 has it and waits for the answer. */
  async tap(tap: PhoneTap): Promise<PhoneAnswer> {
    return this.submit(await this.seal(tap));
  }

  /** The request of a tap, with both blobs built and encrypted. */
  async seal({ amount, currency, card, merchantReference = randomUUID(), tamper }: PhoneTap): Promise<TapRequest> {
    const known = currencyOf(currency);
    const values = sampleTap({
      card,
      amountMinor: parseAmount(amount, known),
      currencyNumeric: known.numeric,
      at: new Date(),
    });
    tamper?.(values);
    const [key] = await this.#cardDataKeys();
    const { deviceInstallationId } = this;
    return createCardDataSealer(key!).seal(values, { deviceInstallationId, merchantReference });
  }

  async submit({ merchantReference, generalCardData, paymentCardData }: TapRequest): Promise<PhoneAnswer> {
    const startMs = performance.now();
    const response = await fetch(new URL('/transactions/mobile', this.#profile.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await this.token()}`,
        'content-type': 'application/json',
        'x-device-installation-id': this.deviceInstallationId,
      },
      body: JSON.stringify({ merchantReference, generalCardData, paymentCardData }),
    });
    const body: unknown = await response.json();
    return { status: response.status, body, ms: performance.now() - startMs };
  }

  /** A merchant JWT, signed as an integrator's backend would. */
  async token(): Promise<string> {
    this.#token ??= await signMerchantToken(this.#profile);
    return this.#token;
  }

  async #cardDataKeys(): Promise<readonly CardDataPublicKey[]> {
    if (this.#keys) return this.#keys;
    const response = await fetch(new URL('/.well-known/card-data-keys.json', this.#profile.url));
    this.#keys = ((await response.json()) as { keys: CardDataPublicKey[] }).keys;
    return this.#keys;
  }
}

/** Signs a merchant JWT with the issuer key of a profile; `claims` overrides any of its claims. */
export async function signMerchantToken(profile: Profile, claims: Record<string, unknown> = {}): Promise<string> {
  const { issuer, merchant } = profile;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const payload = {
    iss: issuer.iss,
    aud: issuer.audience,
    sub: merchant.id,
    usr: merchant.user,
    mbn: merchant.name,
    mcc: merchant.mcc,
    'x-tid': merchant.xTid,
    iat: nowSeconds,
    exp: nowSeconds + TOKEN_SECONDS,
    ...claims,
  };
  const key = await importPKCS8(issuer.privateKey, issuer.algorithm);
  return new SignJWT(payload).setProtectedHeader({ alg: issuer.algorithm, kid: issuer.kid }).sign(key);
}
