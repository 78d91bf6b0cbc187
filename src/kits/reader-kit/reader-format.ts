import type { z } from 'zod';
import type { ReaderKeys } from './reader-keys.ts';

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

/** What a format may use to open a blob. */
export interface OpenContext<Settings = unknown> {
  /** From the terminal profile. */
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
 */
export interface ReaderFormat<Settings = unknown> {
  /** Its name in terminal profiles: lower-case letters, digits and hyphens. */
  readonly format: string;
  /** For people, such as `TLV under DUKPT keys`. */
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

/** Seals blobs as a reader does. */
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
