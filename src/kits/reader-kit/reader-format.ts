import type { z } from 'zod';

/** A merchant of an acquirer. Merchant ids are unique per acquirer only. */
export interface BoundMerchant {
  readonly acquirerId: number;
  readonly merchantId: string;
}

/** What a reader sealed a blob for; the blob opens for nothing else. */
export interface TapBinding {
  readonly deviceInstallationId: string;
  readonly merchantReference: string;
  /** Undefined for a reader that binds its blobs to no merchant. */
  readonly merchant?: BoundMerchant | undefined;
}

/** The device and the reference that a request states, and the merchant that its token names. */
export interface RequestBinding extends TapBinding {
  readonly merchant: BoundMerchant;
}

/** The two blobs of a tap (interface 4.4) without their Base64. */
export interface SealedBlobs {
  /** BER-TLV without secrets. The sealed blob authenticates it with its digest (tag DF8A21). */
  readonly general: Uint8Array;
  readonly payment: Uint8Array;
}

/**
 * What a format may use to open a blob.
 *
 * @example
 * async function open({ payment }: SealedBlobs, { settings, keys, binding }: OpenContext<Settings>) {
 *   const { ksn, ciphertext, mac } = readBlob(payment);
 *   const key = { keyId: settings.baseKeyId, ksn };
 *   const isAuthentic = await keys.verifyDukptMac(key, authenticated(ciphertext, binding), mac);
 *   if (!isAuthentic) throw new CardDataRefusal('mac');
 *   return { payment: await keys.decipherDukpt(key, ciphertext), boundTo: binding };
 * }
 */
export interface OpenContext<Settings = unknown> {
  /** Settings from the terminal profile. */
  readonly settings: Settings;
  readonly keys: ReaderKeys;
  /** What the request states. A format whose reader sends no binding in clear authenticates these values. */
  readonly binding: RequestBinding;
}

/** A blob after it was opened. */
export interface OpenedBlob {
  /** BER-TLV. */
  readonly payment: Uint8Array;
  /** The binding that the reader has authenticated. The gateway refuses a blob whose binding is not that of the request. */
  readonly boundTo: TapBinding;
}

/**
 * How a kind of reader encrypts card data. A plug-in is a folder in `readers/`, or a package that READERS names. It has no
 * state and reads no clock: keys, which can be in a device, are behind `OpenContext.keys`.
 *
 * @example
 * const acme: ReaderFormat<{ baseKeyId: string }> = {
 *   format: 'acme',
 *   name: 'Acme readers',
 *   settingsSchema: z.strictObject({ baseKeyId: z.string() }),
 *   keysNamedBy: ({ baseKeyId }) => [{ path: ['baseKeyId'], keyId: baseKeyId }],
 *   open: async ({ payment }, { settings, keys }) => openAcme(payment, settings, keys),
 *   sampleReaders: (keys) => [sampleReader(keys)],
 * };
 */
export interface ReaderFormat<Settings = unknown> {
  /** Its name in terminal profiles: lower-case letters, digits and hyphens. */
  readonly format: string;
  /** Name for people, such as `TLV under DUKPT keys`. */
  readonly name: string;
  /** What a terminal profile may set for it. */
  readonly settingsSchema: z.ZodType<Settings>;

  /** The keys of the HSM that the settings name. They must belong to the acquirer whose profile it is. */
  keysNamedBy(settings: Settings): readonly NamedKey[];

  /**
   * Opens `paymentCardData`.
   *
   * @throws CardDataRefusal for a blob that is not of this format, was changed, or was sealed for another key, device,
   * reference or merchant; what the keys throw
   */
  open(blobs: SealedBlobs, context: OpenContext<Settings>): Promise<OpenedBlob>;

  /**
   * One reader for each variant of the format (curve, cipher), with keys that anyone may know: for the conformance suite,
   * tests and simulated phones.
   */
  sampleReaders(keys: SampleKeys): readonly SampleReader<Settings>[];
}

/** A key of the HSM, and where the settings name it. */
export interface NamedKey {
  readonly path: readonly PropertyKey[];
  readonly keyId: string;
}

/**
 * Seals blobs as a reader does.
 *
 * @example
 * const [reader] = acme.sampleReaders(sampleKeys);
 * const blob = reader.seal(payment, { deviceInstallationId: 'device-1', merchantReference: 'order-1' });
 */
export interface SampleReader<Settings = unknown> {
  /** Names the variant. */
  readonly name: string;
  readonly settings: Settings;
  /** Whether a blob of this reader opens only for the merchant in its binding, and its settings accept no other blob. */
  readonly bindsMerchant?: boolean;
  /** `paymentCardData` without its Base64. Each call uses new keys, as a reader does for each tap. */
  seal(payment: Uint8Array, binding: TapBinding): Uint8Array;
}

/** The secrets on the reader's side. */
export interface SampleKeys {
  /** Public keys of the installation, for key agreement. */
  readonly publicKeys: readonly SamplePublicKey[];
  /** Base derivation keys, from which readers have their initial keys. */
  readonly baseKeys: readonly SampleBaseKey[];
}

export interface SamplePublicKey {
  readonly kid: string;
  readonly kty: 'EC' | 'OKP';
  readonly crv: 'P-256' | 'X25519';
  readonly x: string;
  readonly y?: string | undefined;
}

export interface SampleBaseKey {
  readonly keyId: string;
  readonly algorithm: 'tdes' | 'aes';
  readonly bytes: Uint8Array;
}

/** Why a blob was refused: for the operator's metrics and a kernel team's log in dev, never for the response. */
export type CardDataRefusalReason =
  | 'too-large'
  | 'not-base64'
  | 'not-of-format'
  | 'header'
  | 'algorithm'
  | 'other-device'
  | 'other-reference'
  | 'other-acquirer'
  | 'other-merchant'
  | 'no-merchant'
  | 'unknown-key'
  | 'retired-key'
  | 'ephemeral-key'
  | 'key-serial-number'
  | 'mac'
  | 'decryption'
  | 'tlv'
  | 'digest'
  | 'tags-differ';

/**
 * Carries the reason from where it is found to the gateway, which turns every reason into the same response.
 *
 * @example
 * if (blob.length > MAX_BLOB_BYTES) throw new CardDataRefusal('too-large');
 */
export class CardDataRefusal extends Error {
  readonly reason: CardDataRefusalReason;

  constructor(reason: CardDataRefusalReason) {
    super(reason);
    this.reason = reason;
  }
}

/** A point of a curve as a JSON Web Key has it (RFC 7517); its coordinates have 32 bytes in Base64url. */
export interface EphemeralKey {
  readonly kty: 'EC' | 'OKP';
  readonly crv: 'P-256' | 'X25519';
  readonly x: string;
  /** P-256 only. */
  readonly y?: string | undefined;
}

/** The private key of the installation for which a reader sealed: its id, or the SHA-256 of its public key. */
export type KeyName = { readonly kid: string } | { readonly publicKeyHash: Uint8Array };

/** What two parties agreed on. */
export interface SharedSecret {
  /** 32 bytes. */
  readonly secret: Uint8Array;
  /** Keeps the secret for the next blobs with the same ephemeral key. Call it only after a blob was authentic. */
  keep(): void;
}

/** A transaction of a DUKPT device (ANSI X9.24-1 with TDES, X9.24-3 with AES). */
export interface DukptKey {
  /** The base derivation key in the HSM. */
  readonly keyId: string;
  /** 10 bytes with a TDES key, 12 with an AES key. */
  readonly ksn: Uint8Array;
}

/**
 * The keys of an installation as a reader format may use them; none of them leaves the port.
 *
 * @example
 * const shared = await keys.agree({ kid }, ephemeralKey);
 * const plaintext = decrypt(shared.secret, ciphertext); // throws CardDataRefusal('decryption')
 * shared.keep();
 */
export interface ReaderKeys {
  /**
   * Key agreement (ECDH) with a private key for card data.
   *
   * @throws CardDataRefusal if no key that still opens has the name, or the point is not of its curve; HsmUnavailable
   */
  agree(name: KeyName, ephemeral: EphemeralKey): Promise<SharedSecret> | SharedSecret;

  /**
   * Whether `mac` authenticates `message` under the device's MAC key for requests: ISO 9797-1 algorithm 3 with padding
   * method 2 (8 bytes) for TDES, CMAC (16 bytes) for AES.
   *
   * @throws CardDataRefusal if the KSN is impossible or the key cannot be used for it; HsmUnavailable
   */
  verifyDukptMac(key: DukptKey, message: Uint8Array, mac: Uint8Array): Promise<boolean>;

  /**
   * Deciphers CBC with an initialization vector of zeros under the device's key for data in requests.
   *
   * @param ciphertext whole blocks
   * @throws as `verifyDukptMac`
   */
  decipherDukpt(key: DukptKey, ciphertext: Uint8Array): Promise<Uint8Array>;
}

const NAME = /^[a-z][a-z0-9-]{0,31}$/;

/**
 * A reader format, checked.
 *
 * @throws Error if its name could not be stored in a profile
 * @example
 * export default defineReader({
 *   ...{ format: 'acme', name: 'Acme readers' },
 *   ...{ settingsSchema, keysNamedBy, open, sampleReaders },
 * });
 */
export function defineReader<Settings>(definition: ReaderFormat<Settings>): ReaderFormat<Settings> {
  if (!NAME.test(definition.format)) throw new Error(`format must match ${NAME.source}`);
  return Object.freeze(definition);
}
