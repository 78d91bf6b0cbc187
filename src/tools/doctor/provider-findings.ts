import { limitedFetch } from '../../auth/oidc/oidc-provider.ts';
import { SignInError } from '../../basics/errors.ts';
import { type Finding, fault, good } from './finding.ts';

/** How far the times of an ID token may be from the clock of the gateway: what openid-client tolerates. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30;
/** What the sign-in needs of the discovery document (OpenID Connect Discovery 1.0, 3). */
const NEEDED = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const PART = 'identity provider';

type Metadata = Readonly<Record<string, unknown>>;

/**
 * Whether people can sign in with the identity provider: it responds, its document is of this issuer and complete, it has
 * keys, and its clock agrees. No person and no secret is involved.
 *
 * @param issuer undefined if people sign in only with passwords
 */
export async function providerFindings(issuer: string | undefined, nowMs: () => number): Promise<Finding[]> {
  if (issuer === undefined) return [];
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const { document, clockDifferenceSeconds } = await read(address, nowMs);
    const finding = faultOfDocument(document, issuer) ?? (await faultOfKeys(String(document.jwks_uri), nowMs));
    const ofClock = faultOfClock(clockDifferenceSeconds);
    return finding || ofClock ? [finding, ofClock].flatMap((each) => each ?? []) : [good(PART, `${issuer} responds`)];
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const reason = `${address} gives no usable response (${error.check})`;
    return [fault(PART, reason, 'check OIDC_ISSUER and the network; until then people sign in with passwords')];
  }
}

/** @throws SignInError PROVIDER_UNAVAILABLE */
async function read(address: string, nowMs: () => number) {
  const headers = { accept: 'application/json' };
  const response = await limitedFetch(address, { headers, method: 'GET', body: undefined, redirect: 'manual' });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (response.status !== 200) throw new SignInError('PROVIDER_UNAVAILABLE', `status ${response.status}`);
  const document: unknown = await response.json().catch(() => undefined);
  if (typeof document !== 'object' || document === null) throw new SignInError('PROVIDER_UNAVAILABLE', 'no JSON');
  return { document: document as Metadata, clockDifferenceSeconds: Math.round((date - nowMs()) / 1_000) };
}

function faultOfDocument(document: Metadata, issuer: string): Finding | undefined {
  if (document.issuer !== issuer) {
    const advice = 'set OIDC_ISSUER to the issuer in its document, character by character';
    return fault(PART, `the document at ${issuer} is of another issuer`, advice);
  }
  const missing = NEEDED.filter((name) => typeof document[name] !== 'string');
  if (missing.length === 0) return undefined;
  return fault(PART, `its document lacks ${missing.join(', ')}`, 'use a provider with the authorization code flow');
}

async function faultOfKeys(address: string, nowMs: () => number): Promise<Finding | undefined> {
  const { keys } = (await read(address, nowMs)).document;
  if (Array.isArray(keys) && keys.length > 0) return undefined;
  return fault(PART, 'it publishes no keys, so no ID token can be verified', 'add a signing key at the provider');
}

/** A provider without a Date header gives no clock to compare. */
function faultOfClock(seconds: number): Finding | undefined {
  if (Number.isNaN(seconds) || Math.abs(seconds) <= MAX_CLOCK_DIFFERENCE_SECONDS) return undefined;
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  const advice = 'synchronize the clock of this machine; ID tokens of the provider are refused';
  return fault(PART, `its clock is ${Math.abs(seconds)} s ${direction} the clock of this machine`, advice);
}
