import { createPrivateKey, randomUUID } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import { ATTESTATION_TYPE } from '#schemas/attestation';
import type { CardDataPublicKey } from '#schemas/card-data';
import { type Client, createClient, ProblemError } from '#schemas/client';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { createCardDataSealer, type SampleCardName, sampleTap } from '../../card/sample-tap.ts';
import type { TapBinding } from '../../kits/reader-kit/reader-format.ts';
import { currencyOf, parseAmount } from '../../payments/model/money.ts';
import type { TapRequest } from '../../payments/ports/switch-ports.ts';
import type { Profile } from './profile.ts';
import type { VirtualCard } from './virtual-card.ts';
import { PinPad } from './virtual-reader.ts';

/** A simulated attestation service: its issuer, and its private key as PEM (P-256). */
export interface SimulatedAttester {
  readonly iss: string;
  readonly privateKey: string;
}

export interface Attested {
  readonly audience: string;
  readonly deviceInstallationId: string;
  readonly verdict?: 'trusted' | 'untrusted' | undefined;
  readonly appVersion?: string | undefined;
}

/** An attestation as an acquirer's service would sign it for a device. */
export function signAttestation(
  { iss, privateKey }: SimulatedAttester,
  { audience, deviceInstallationId, verdict = 'trusted', appVersion }: Attested,
): Promise<string> {
  return new SignJWT({ verdict, ...(appVersion !== undefined && { appVersion }) })
    .setProtectedHeader({ alg: 'ES256', typ: ATTESTATION_TYPE })
    .setIssuer(iss)
    .setAudience(audience)
    .setSubject(deviceInstallationId)
    .setIssuedAt()
    .sign(createPrivateKey(privateKey));
}

/** A careful backend issues tokens that are valid for an hour. */
const TOKEN_SECONDS = 3_600;

/** The properties of one tap. */
export interface PhoneTap {
  /** Decimal text in major units. */
  readonly amount: string;
  readonly currency: string;
  readonly card?: SampleCardName | undefined;
  /** A chip card to present instead of the sample card: its cryptogram is a real one. */
  readonly chipCard?: VirtualCard | undefined;
  readonly merchantReference?: string | undefined;
  /** Changes the card's values before they are sealed, to simulate a faulty card. */
  readonly tamper?: ((values: Map<number, Uint8Array>) => void) | undefined;
  /** Submitted when the issuer requests a PIN. */
  readonly pin?: string | undefined;
}

/** The reader's values of one tap, kept until the phone is done, because its PIN step seals the same values again. */
export interface TapReading {
  readonly merchantReference: string;
  readonly values: ReadonlyMap<number, Uint8Array>;
}

/** A PIN request (interface 4.5). */
export interface PinSubmission extends TapRequest {
  readonly transactionId: string;
  readonly pinToken: string;
  /** Hex, for readers that do not seal the block. */
  readonly pinBlock?: string;
  readonly ksn?: string;
}

export interface PhoneResponse {
  readonly status: number;
  readonly body: unknown;
  readonly ms: number;
}

/** A phone with its reader and the merchant's backend: signs tokens, seals card data, submits taps. */
export class Phone {
  readonly #profile: Profile;
  readonly deviceInstallationId: string;
  readonly #client: Client;
  readonly #pinPad = new PinPad();
  #token: string | undefined;
  #keys: readonly CardDataPublicKey[] | undefined;

  /** @param fetcher replaces the runtime's `fetch` */
  constructor(profile: Profile, deviceInstallationId: string = randomUUID(), fetcher: typeof fetch = fetch) {
    this.#profile = profile;
    const credentials = { token: () => this.token() };
    this.#client = createClient({ baseUrl: profile.url, credentials, fetch: fetcher });
    this.deviceInstallationId = deviceInstallationId;
  }

  /**
   * Submits a tap (4.4) and waits for the response. If the response requests a PIN and the tap has one, submits it,
   * too.
   */
  async tap(tap: PhoneTap): Promise<PhoneResponse> {
    const reading = this.read(tap);
    const response = await this.submit(await this.sealReading(reading));
    const { serviceReference, pinToken } = authorizationOf(response) ?? {};
    if (tap.pin === undefined || serviceReference === undefined || pinToken === undefined) return response;
    const request = await this.sealReading(this.enterPin(reading, tap.pin));
    return this.submitPin({ ...request, transactionId: serviceReference, pinToken });
  }

  /** The request of a tap, with both blobs built and encrypted. */
  async seal(tap: PhoneTap): Promise<TapRequest> {
    return this.sealReading(this.read(tap));
  }

  /** The values that the reader reads from a card. */
  read({ amount, currency, card, chipCard, merchantReference = randomUUID(), tamper }: PhoneTap): TapReading {
    const known = currencyOf(currency);
    const values = sampleTap({
      card: chipCard?.scheme ?? card,
      pan: chipCard?.pan,
      amountMinor: parseAmount(amount, known),
      currencyNumeric: known.numeric,
      at: new Date(),
    });
    chipCard?.sign(values);
    tamper?.(values);
    return { merchantReference, values };
  }

  /** Adds a PIN, enciphered by the reader, to a tap. */
  enterPin({ merchantReference, values }: TapReading, pin: string): TapReading {
    return { merchantReference, values: this.#pinPad.addTo(values, pin) };
  }

  async sealReading({ merchantReference, values }: TapReading): Promise<TapRequest> {
    const [key] = await this.#cardDataKeys();
    return createCardDataSealer(key!).seal(values, this.bindingOf(merchantReference));
  }

  /** What the reader seals a tap for. */
  bindingOf(merchantReference: string): TapBinding {
    const { acquirerId, merchant } = this.#profile;
    const bound = acquirerId === undefined ? undefined : { acquirerId, merchantId: merchant.id };
    return { deviceInstallationId: this.deviceInstallationId, merchantReference, merchant: bound };
  }

  submit({ merchantReference, generalCardData, paymentCardData }: TapRequest): Promise<PhoneResponse> {
    const body = { merchantReference, generalCardData, paymentCardData };
    return this.#responseTo(this.#headers().then((headers) => this.#client.submitTap({ headers, body })));
  }

  submitPin({ transactionId, deviceInstallationId: _device, ...body }: PinSubmission): Promise<PhoneResponse> {
    const params = { transactionId };
    return this.#responseTo(this.#headers().then((headers) => this.#client.submitPin({ params, headers, body })));
  }

  async #headers() {
    const { attester, issuer } = this.#profile;
    const { deviceInstallationId } = this;
    const signed = attester && (await signAttestation(attester, { audience: issuer.audience, deviceInstallationId }));
    return { 'x-device-installation-id': deviceInstallationId, ...(signed && { 'x-device-attestation': signed }) };
  }

  /** A refusal is also a result, not an error. */
  async #responseTo(asked: Promise<object>): Promise<PhoneResponse> {
    const startedAtMs = performance.now();
    const [status, body] = await asked.then(
      (response) => [200, response] as const,
      (error) => {
        if (error instanceof ProblemError) return [error.status, error.problem] as const;
        throw error;
      },
    );
    return { status, body, ms: performance.now() - startedAtMs };
  }

  /** A merchant JWT, signed as an integrator's backend would sign it. */
  async token(): Promise<string> {
    this.#token ??= await signMerchantToken(this.#profile);
    return this.#token;
  }

  async #cardDataKeys(): Promise<readonly CardDataPublicKey[]> {
    if (this.#keys) return this.#keys;
    this.#keys = (await this.#client.getCardDataKeys()).keys;
    return this.#keys;
  }
}

/** The result of a processed tap; undefined for a refused one. */
export function authorizationOf({ status, body }: PhoneResponse): OnlineAuthorization | undefined {
  if (status !== 200) return undefined;
  return (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse;
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
