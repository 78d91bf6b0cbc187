import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import type { SigningAlgorithm } from '../../schemas/tokens.ts';
import type {
  IssuerKey,
  KeySetRegistration,
  Merchants,
  OwnedMerchant,
  RegisteredIssuers,
  ScopedIssuer,
} from '../../src/auth/issuers/issuer-keys.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';

export const AUDIENCE = 'https://tap.example';
export const ISSUER = 'https://shop.example';
export const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
export const NOW = NOW_MS / 1_000;
export const OWNER: Tenant = { acquirerId: 1, integratorId: 11 };

export interface TestSigner {
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly registered: IssuerKey;
}

let made = 0;

/** A key pair, and the row that an integrator would have registered for it. */
export function createSigner(algorithm: SigningAlgorithm, registered: Partial<IssuerKey> = {}): TestSigner {
  const { privateKey, publicKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2_048 });
  made++;
  const row = {
    id: `key-${made}`,
    kid: `kid-${made}`,
    algorithms: [algorithm],
    publicKey,
    owner: OWNER,
    standing: 'proven' as const,
  };
  return { algorithm, privateKey, registered: { ...row, ...registered } };
}

export const CLAIMS = {
  iss: ISSUER,
  sub: '1001',
  usr: 'till-3',
  aud: AUDIENCE,
  iat: NOW,
  exp: NOW + 3_600,
} as const;

/** A valid token, with the changes that the test makes. */
export function signToken(
  { algorithm, privateKey, registered }: TestSigner,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT({ ...CLAIMS, ...claims })
    .setProtectedHeader({ alg: algorithm, ...(registered.kid === undefined ? {} : { kid: registered.kid }), ...header })
    .sign(privateKey);
}

/** The registrations of a test, as a store would hold them; each change creates a new generation. */
export class TestRegistry implements RegisteredIssuers, Merchants {
  readonly keys = new Map<string, IssuerKey[]>();
  readonly sets = new Map<string, KeySetRegistration[]>();
  /** Key: the id, or `<acquirer> <id>` if several acquirers have that id. */
  readonly merchants = new Map<string, OwnedMerchant>();
  /** Acquirers as their id, integrators as `<acquirer> <integrator>`. */
  readonly blocked = new Set<string>();
  /** What the verifier looked up, in order. */
  readonly asked: string[] = [];
  #generation = 0;

  change(how: (registry: this) => void): void {
    how(this);
    this.#generation++;
  }

  acquirersOf(name: string): readonly number[] {
    const registrations = [...(this.keys.get(name) ?? []), ...(this.sets.get(name) ?? [])];
    return [...new Set(registrations.map(({ owner }) => owner.acquirerId))];
  }

  async find({ acquirerId, name }: ScopedIssuer): Promise<readonly IssuerKey[]> {
    this.asked.push(`keys of ${name}`);
    return (this.keys.get(name) ?? []).filter(({ owner }) => owner.acquirerId === acquirerId);
  }

  known({ acquirerId, name }: ScopedIssuer): readonly IssuerKey[] {
    return (this.keys.get(name) ?? []).filter(({ owner }) => owner.acquirerId === acquirerId);
  }

  keySets({ acquirerId, name }: ScopedIssuer): readonly KeySetRegistration[] {
    return (this.sets.get(name) ?? []).filter(({ owner }) => owner.acquirerId === acquirerId);
  }

  generation(): string {
    this.asked.push('generation');
    return String(this.#generation);
  }

  findOwned(owner: Tenant, merchantId: string): OwnedMerchant | undefined {
    this.asked.push(`merchant ${merchantId}`);
    const merchant = this.merchants.get(`${owner.acquirerId} ${merchantId}`) ?? this.merchants.get(merchantId);
    const isOwned =
      merchant?.acquirerId === owner.acquirerId &&
      (owner.integratorId === undefined || owner.integratorId === merchant.integratorId) &&
      (owner.merchantId === undefined || owner.merchantId === merchant.merchantId);
    return isOwned ? merchant : undefined;
  }

  isBlocked({ acquirerId, integratorId, merchantId }: Tenant): boolean {
    const named = [`${acquirerId}`, `${acquirerId} ${integratorId}`];
    return named.some((each) => this.blocked.has(each)) || this.merchants.get(merchantId ?? '')?.isBlocked === true;
  }
}

/** A registry with one merchant of integrator 11 and one of another tenant. */
export function createRegistry(...signers: TestSigner[]): TestRegistry {
  const registry = new TestRegistry();
  registry.keys.set(
    ISSUER,
    signers.map(({ registered }) => registered),
  );
  registry.merchants.set('1001', { acquirerId: 1, integratorId: 11, merchantId: '1001', isBlocked: false });
  registry.merchants.set('2002', { acquirerId: 2, integratorId: 22, merchantId: '2002', isBlocked: false });
  return registry;
}
