import { isDeepStrictEqual } from 'node:util';
import { AwsError, CryptoError, HsmUnavailable } from '../../basics/errors.ts';
import type { ImportKeyRequest, KeyBlockSource, KeyDescription, KeyUsage } from '../../codecs/crypto/hsm.ts';
import type { AwsClient, AwsKey, AwsOperation } from './aws-client.ts';

const control = (name: string): AwsOperation => ({ plane: 'control', name });

/** Aliases of imported keys; the id of the key follows. */
const ALIAS = 'alias/tapwire/';
/** The shortest waiting time before the service destroys a key. */
const DELETE_IN_DAYS = 3;
/** A switch has a few working keys at a time. */
const MAX_IMPORTED = 10_000;

/** Uses of TR-31 for each use of the gateway. */
const USAGES: Readonly<Record<KeyUsage, readonly string[]>> = {
  keyEncryption: [],
  keyBlockProtection: ['TR31_K0_KEY_ENCRYPTION_KEY', 'TR31_K1_KEY_BLOCK_PROTECTION_KEY'],
  pin: ['TR31_P0_PIN_ENCRYPTION_KEY'],
  mac: [
    'TR31_M0_ISO_16609_MAC_KEY',
    'TR31_M1_ISO_9797_1_MAC_KEY',
    'TR31_M3_ISO_9797_3_MAC_KEY',
    'TR31_M6_ISO_9797_5_CMAC_KEY',
  ],
  dukptBase: ['TR31_B0_BASE_DERIVATION_KEY'],
};

const ALGORITHMS: Readonly<Record<string, Pick<KeyDescription, 'algorithm' | 'lengthBytes'>>> = {
  TDES_2KEY: { algorithm: 'tdes', lengthBytes: 16 },
  TDES_3KEY: { algorithm: 'tdes', lengthBytes: 24 },
  AES_128: { algorithm: 'aes', lengthBytes: 16 },
  AES_192: { algorithm: 'aes', lengthBytes: 24 },
  AES_256: { algorithm: 'aes', lengthBytes: 32 },
};

/** Errors that mean that there is no such key for this account. */
const NOT_FOUND = new Set(['ResourceNotFoundException', 'AccessDeniedException', 'ValidationException']);

/** What the service says of a key. */
interface ServiceKey {
  readonly arn: string;
  readonly usage: string;
  readonly algorithm: string;
  readonly kcv: string;
  readonly isUsable: boolean;
}

/** The keys of the configuration and those that were imported, by the gateway's id. */
export class AwsKeyStore {
  readonly #client: AwsClient;
  readonly #keys = new Map<string, AwsKey>();
  /** Ids of the keys of the configuration. */
  #filed: ReadonlySet<string> = new Set();
  /** Keys whose usage and check value were compared with the service's, or are being compared. */
  readonly #checked = new Map<string, Promise<AwsKey>>();

  constructor(client: AwsClient, keys: readonly AwsKey[]) {
    this.#client = client;
    this.replaceFiled(keys);
  }

  /** Replaces the keys of the configuration; those that were imported stay. */
  replaceFiled(keys: readonly AwsKey[]): void {
    const filed = new Map(keys.map((key) => [key.keyId, key]));
    for (const keyId of this.#filed) if (!filed.has(keyId)) this.#remove(keyId);
    for (const key of keys) {
      if (!isDeepStrictEqual(this.#keys.get(key.keyId), key)) this.#checked.delete(key.keyId);
      this.#keys.set(key.keyId, key);
    }
    this.#filed = new Set(filed.keys());
  }

  /**
   * The key, if it is what the configuration says. This is asked once.
   *
   * @throws {CryptoError} KEY_UNKNOWN, KEY_USAGE, KEY_CHECK_VALUE; HsmUnavailable
   */
  use(keyId: string, usage: KeyUsage): Promise<AwsKey> {
    const key = this.#find(keyId);
    if (key.usage !== usage) throw new CryptoError('KEY_USAGE');
    const known = this.#checked.get(keyId);
    if (known) return known;
    const checked = this.#check(key);
    this.#checked.set(keyId, checked);
    // A failure says nothing about the next time.
    checked.catch(() => this.#checked.delete(keyId));
    return checked;
  }

  /** @throws {CryptoError} as `use` */
  async currentKcv(keyId: string): Promise<string> {
    return (await this.#check(this.#find(keyId))).kcv;
  }

  /** TDES_2KEY, AES_128, ...: of keys that are as long as this one. */
  derivationType(keyId: string): string {
    const { algorithm, lengthBytes } = this.#find(keyId);
    const isSame = (each: Pick<KeyDescription, 'algorithm' | 'lengthBytes'>) =>
      each.algorithm === algorithm && each.lengthBytes === lengthBytes;
    const [name] = Object.entries(ALGORITHMS).find(([, each]) => isSame(each)) ?? [];
    if (name === undefined) throw new CryptoError('KEY_LENGTH');
    return name;
  }

  /**
   * Imports a TR-31 key block. Every process of the installation imports the same block, so the key has an alias with its
   * id, and an existing one is used if its check value is that of the block.
   *
   * @param wrappingKey ARN or alias
   */
  async import(request: ImportKeyRequest & KeyBlockSource, wrappingKey: string): Promise<KeyDescription> {
    const { keyId, usage, block, kcv } = request;
    if (this.#keys.has(keyId)) throw new CryptoError('KEY_EXISTS');
    if (this.#keys.size >= MAX_IMPORTED) throw new CryptoError('TOO_MANY_KEYS');
    const found = await this.#findAlias(aliasOf(keyId));
    // Without a check value, only an import shows whether the existing key is that of the block.
    const service =
      found !== undefined && kcv !== undefined
        ? await this.#describe(found)
        : await this.#importBlock(block, wrappingKey, aliasOf(keyId));
    const shape = ALGORITHMS[service.algorithm];
    if (!shape || !USAGES[usage].includes(service.usage)) throw new CryptoError('KEY_USAGE');
    if (kcv !== undefined && !isSameKcv(kcv, service.kcv)) throw new CryptoError('KEY_CHECK_VALUE');
    const { algorithm, lengthBytes } = shape;
    const key = { keyId, usage, algorithm, lengthBytes, key: service.arn, kcv: service.kcv } as AwsKey;
    this.#keys.set(keyId, key);
    this.#checked.set(keyId, Promise.resolve(key));
    return { keyId, usage, algorithm, lengthBytes, kcv: service.kcv };
  }

  /** Imported keys are deleted in the service; those of the configuration belong to an operator. */
  async forget(keyId: string): Promise<void> {
    const alias = aliasOf(keyId);
    this.#remove(keyId);
    const arn = await this.#findAlias(alias);
    if (arn === undefined) return;
    await this.#ignoringMissing('DeleteAlias', { AliasName: alias });
    await this.#ignoringMissing('DeleteKey', { KeyIdentifier: arn, DeleteKeyInDays: DELETE_IN_DAYS });
  }

  /** Any response of the service shows that it is there; which key is asked for does not matter. */
  async askForOne(): Promise<void> {
    const [first] = this.#keys.values();
    if (first) await this.#describe(first.key);
  }

  #remove(keyId: string): void {
    this.#checked.delete(keyId);
    this.#keys.delete(keyId);
  }

  #find(keyId: string): AwsKey {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new CryptoError('KEY_UNKNOWN');
    return key;
  }

  async #check(key: AwsKey): Promise<AwsKey> {
    const { arn, usage, algorithm, kcv, isUsable } = await this.#describe(key.key);
    const shape = ALGORITHMS[algorithm];
    const isFit = isUsable && USAGES[key.usage].includes(usage);
    if (!isFit || shape?.algorithm !== key.algorithm || shape.lengthBytes !== key.lengthBytes)
      throw new CryptoError('KEY_USAGE');
    if (!isSameKcv(key.kcv, kcv)) throw new CryptoError('KEY_CHECK_VALUE');
    // The key that was compared, even if its alias is given to another one later.
    return { ...key, key: arn };
  }

  async #describe(identifier: string): Promise<ServiceKey> {
    try {
      return readKey(await this.#client.call(control('GetKey'), { KeyIdentifier: identifier }));
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      throw NOT_FOUND.has(error.code) ? new CryptoError('KEY_UNKNOWN') : new HsmUnavailable({ cause: error });
    }
  }

  async #importBlock(block: string, wrappingKey: string, alias: string): Promise<ServiceKey> {
    const material = { Tr31KeyBlock: { WrappingKeyIdentifier: wrappingKey, WrappedKeyBlock: block } };
    let made: ServiceKey;
    try {
      made = readKey(await this.#client.call(control('ImportKey'), { KeyMaterial: material, Enabled: true }));
    } catch (error) {
      throw error instanceof AwsError ? new CryptoError('KEY_BLOCK') : error;
    }
    try {
      await this.#client.call(control('CreateAlias'), { AliasName: alias, KeyArn: made.arn });
      return made;
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      // Another process was faster, and has the same key.
      const other = await this.#findAlias(alias);
      if (other === undefined) throw new CryptoError('KEY_EXISTS');
      // Or this request was repeated after its first response was lost.
      if (other === made.arn) return made;
      await this.#ignoringMissing('DeleteKey', { KeyIdentifier: made.arn, DeleteKeyInDays: DELETE_IN_DAYS });
      const existing = await this.#describe(other);
      if (existing.kcv !== made.kcv) throw new CryptoError('KEY_EXISTS');
      return existing;
    }
  }

  async #findAlias(alias: string): Promise<string | undefined> {
    try {
      const { Alias } = await this.#client.call(control('GetAlias'), { AliasName: alias });
      const arn = (Alias as { readonly KeyArn?: unknown } | undefined)?.KeyArn;
      return typeof arn === 'string' ? arn : undefined;
    } catch (error) {
      if (error instanceof AwsError && error.code === 'ResourceNotFoundException') return undefined;
      throw error instanceof AwsError ? new HsmUnavailable({ cause: error }) : error;
    }
  }

  async #ignoringMissing(name: string, body: object): Promise<void> {
    try {
      await this.#client.call(control(name), body);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
    }
  }
}

/**
 * An alias has letters, digits, `/`, `_` and `-`. Any other character of an id, and `_`, becomes `_` and its code in two hex
 * digits, so that two ids never have the same alias.
 */
function aliasOf(keyId: string): string {
  const coded = (character: string) => `_${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return ALIAS + keyId.replace(/[^a-zA-Z0-9/-]/g, coded);
}

function readKey({ Key }: Readonly<Record<string, unknown>>): ServiceKey {
  const key = Key as Partial<Record<string, unknown>> | undefined;
  const { KeyArn: arn, KeyCheckValue: kcv, Enabled, KeyState, KeyAttributes } = key ?? {};
  const { KeyUsage: usage, KeyAlgorithm: algorithm } = (KeyAttributes ?? {}) as Partial<Record<string, unknown>>;
  const values = [arn, kcv, usage, algorithm];
  if (!values.every((value) => typeof value === 'string')) throw new AwsError('InvalidResponse', 'Key');
  const isUsable = Enabled === true && KeyState === 'CREATE_COMPLETE';
  const [text, check, use, kind] = values as [string, string, string, string];
  return { arn: text, kcv: check.toUpperCase().slice(0, 6), usage: use, algorithm: kind, isUsable };
}

/** The service returns 3 bytes or more of a check value. */
function isSameKcv(expected: string, current: string): boolean {
  return current.length >= 6 && expected.toUpperCase().slice(0, 6) === current.slice(0, 6);
}
