import type {
  IssuerKey,
  IssuerKeys,
  KeySetRegistration,
  PublishedKey,
  RegisteredIssuers,
  ScopedIssuer,
} from './issuer-keys.ts';
import type { KeySets, OwnedKeySet } from './key-sets.ts';

/** The keys of issuers that registered each key, and of those that registered a URL. */
export class PublishedIssuerKeys implements IssuerKeys {
  readonly #registered: RegisteredIssuers;
  readonly #sets: Pick<KeySets, 'find' | 'known' | 'changes'>;

  constructor(registered: RegisteredIssuers, sets: Pick<KeySets, 'find' | 'known' | 'changes'>) {
    this.#registered = registered;
    this.#sets = sets;
  }

  acquirersOf(name: string): readonly number[] {
    return this.#registered.acquirersOf(name);
  }

  async find(issuer: ScopedIssuer, kid?: string): Promise<readonly IssuerKey[]> {
    const own = await this.#registered.find(issuer, kid);
    const registrations = this.#registered.keySets(issuer);
    if (registrations.length === 0 || (kid !== undefined && own.some((key) => key.kid === kid))) return own;
    const published = registrations.map(async (registration) =>
      (await this.#sets.find(setOf(registration), kid)).map((key) => issuerKey(registration, key)),
    );
    return [...own, ...(await Promise.all(published)).flat()];
  }

  known(issuer: ScopedIssuer): readonly IssuerKey[] {
    const published = this.#registered
      .keySets(issuer)
      .flatMap((registration) => this.#sets.known(setOf(registration)).map((key) => issuerKey(registration, key)));
    return [...this.#registered.known(issuer), ...published];
  }

  async generation(): Promise<string> {
    return `${await this.#registered.generation()}.${this.#sets.changes}`;
  }
}

function setOf({ url, owner }: KeySetRegistration): OwnedKeySet {
  return { url, acquirerId: owner.acquirerId };
}

function issuerKey({ url, algorithms, owner }: KeySetRegistration, key: PublishedKey): IssuerKey {
  return {
    id: `${url} ${key.kid ?? ''}`,
    kid: key.kid,
    publicKey: key.publicKey,
    algorithms: key.algorithms.filter((algorithm) => algorithms.includes(algorithm)),
    owner,
    standing: 'published',
  };
}
