import { pointedFaults } from '../../basics/errors/issue-texts.ts';
import { AwsError, CryptoError, HsmUnavailable, StartError } from '../../basics/errors.ts';
import { fromHex, toHex } from '../../codecs/bytes/hex.ts';
import type {
  CardDataHsm,
  DukptDataRequest,
  DukptMacRequest,
  DukptRequest,
  EncipheredPin,
  Hsm,
  ImportKeyRequest,
  KeyDescription,
  KeyUsage,
  MacRequest,
  PinKey,
  TranslatedPin,
  TranslatePinRequest,
} from '../../codecs/crypto/hsm.ts';
import { type MacMethod, padMessage } from '../../codecs/crypto/mac.ts';
import type { HsmDeviceState, HsmDevices } from '../../switching/hsm/hsm-calls.ts';
import { AwsClient, type AwsFile, type AwsKey, type AwsOperation, awsFile, NodeSha256 } from './aws-client.ts';
import { AwsKeyStore } from './aws-key-store.ts';

const TRANSLATE: AwsOperation = { plane: 'data', name: 'TranslatePinData', path: '/pindata/translate' };
const GENERATE_MAC: AwsOperation = { plane: 'data', name: 'GenerateMac', path: '/mac/generate' };
const VERIFY_MAC: AwsOperation = { plane: 'data', name: 'VerifyMac', path: '/mac/verify' };

/** MessageData: 8,192 hex digits. */
const MAX_MAC_MESSAGE_BYTES = 4_096;
/** CipherText: 4,224 hex digits. */
const MAX_CIPHERTEXT_BYTES = 2_112;
/** PrimaryAccountNumber: 12 to 19 digits. */
const PAN_DIGITS_LEAST = 12;
const MAC_BYTES_LEAST = 4;
const CHECK_EVERY_MS = 10_000;
const BLOCK_BYTES = { tdes: 8, aes: 16 } as const;

/**
 * An Hsm made of AWS Payment Cryptography. This process has no key and no clear PIN, but opens card data with
 * `decipherDukpt`.
 *
 * The names of operations and members are those of the API models payment-cryptography-data 2022-02-03 and
 * payment-cryptography 2021-09-14. What the service cannot do is refused with KEY_USAGE: cryptograms without a key block.
 */
export class AwsHsm implements Hsm, CardDataHsm, HsmDevices {
  readonly #client: AwsClient;
  readonly #keys: AwsKeyStore;

  /** Runs until `close`, so that health does not depend on taps. */
  readonly #checks: NodeJS.Timeout;

  constructor(client: AwsClient, keys: readonly AwsKey[]) {
    this.#client = client;
    this.#keys = new AwsKeyStore(client, keys);
    this.#checks = setInterval(() => void this.check(), CHECK_EVERY_MS).unref();
  }

  /** Replaces the keys of the file; those of a key exchange stay. */
  replaceFiledKeys(keys: readonly AwsKey[]): void {
    this.#keys.replaceFiled(keys);
  }

  /** Asks the service for a key. `deviceStates` then says whether it responds, and accepts the credentials. */
  async check(): Promise<void> {
    await this.#keys.askForOne().catch(() => {});
  }

  async close(): Promise<void> {
    clearInterval(this.#checks);
  }

  async importKey(request: ImportKeyRequest): Promise<KeyDescription> {
    if (!('block' in request)) throw new CryptoError('KEY_USAGE');
    const wrapping = await this.#keys.use(request.transportKeyId, 'keyBlockProtection');
    return this.#keys.import(request, wrapping.key);
  }

  forgetKey(keyId: string): Promise<void> {
    return this.#keys.forget(keyId);
  }

  kcv(keyId: string): Promise<string> {
    return this.#keys.currentKcv(keyId);
  }

  async translatePin({ from, to, pan }: TranslatePinRequest): Promise<TranslatedPin> {
    if (![0, 3, 4].includes(to.format) || pan.length < PAN_DIGITS_LEAST) throw new CryptoError('PIN_BLOCK');
    const [incoming, outgoing] = await Promise.all([this.#pinKey(from), this.#pinKey(to)]);
    const body = {
      IncomingKeyIdentifier: incoming.key,
      OutgoingKeyIdentifier: outgoing.key,
      IncomingTranslationAttributes: formatOf(from.format, pan),
      OutgoingTranslationAttributes: formatOf(to.format, pan),
      EncryptedPinBlock: toHex(from.block),
      ...(incoming.dukpt && { IncomingDukptAttributes: incoming.dukpt }),
      ...(outgoing.dukpt && { OutgoingDukptAttributes: outgoing.dukpt }),
    };
    try {
      const { PinBlock } = await this.#client.call(TRANSLATE, body);
      return { block: hexBytes(PinBlock), ksn: to.ksn };
    } catch (error) {
      throw refusalOf(error, 'PIN_BLOCK');
    }
  }

  async mac(request: MacRequest): Promise<Uint8Array> {
    const body = await this.#macBody(request, 'GenerationAttributes');
    try {
      const { Mac } = await this.#client.call(GENERATE_MAC, body);
      const mac = hexBytes(Mac);
      if (mac.length < request.lengthBytes) throw new CryptoError('DATA_LENGTH');
      return mac.subarray(0, request.lengthBytes);
    } catch (error) {
      throw refusalOf(error, 'KEY_USAGE');
    }
  }

  async verifyMac({ mac, ...request }: MacRequest & { readonly mac: Uint8Array }): Promise<boolean> {
    const body = await this.#macBody(request, 'VerificationAttributes');
    if (mac.length !== request.lengthBytes) return false;
    return this.#verify(body, mac);
  }

  async verifyDukptMac({ message, mac, ...request }: DukptMacRequest): Promise<boolean> {
    const { key, algorithm } = await this.#keys.use(request.keyId, 'dukptBase');
    if (mac.length !== BLOCK_BYTES[algorithm]) return false;
    const isTdes = algorithm === 'tdes';
    const attributes = {
      KeySerialNumber: toHex(request.ksn),
      DukptKeyVariant: 'REQUEST',
      ...this.#derivationOf(request),
    };
    const padded = isTdes ? padMessage(message, 2, BLOCK_BYTES.tdes) : message;
    return this.#verify(
      {
        KeyIdentifier: key,
        MessageData: dataOf(padded),
        VerificationAttributes: isTdes ? { DukptIso9797Algorithm3: attributes } : { DukptCmac: attributes },
        MacLength: mac.length,
      },
      mac,
    );
  }

  async decipherDukpt({ ciphertext, ...request }: DukptDataRequest): Promise<Uint8Array> {
    const { key, algorithm } = await this.#keys.use(request.keyId, 'dukptBase');
    const isWhole = ciphertext.length > 0 && ciphertext.length % BLOCK_BYTES[algorithm] === 0;
    if (!isWhole || ciphertext.length > MAX_CIPHERTEXT_BYTES) throw new CryptoError('DATA_LENGTH');
    const path = `/keys/${encodeURIComponent(key)}/decrypt`;
    const dukpt = {
      KeySerialNumber: toHex(request.ksn),
      Mode: 'CBC',
      DukptKeyVariant: 'REQUEST',
      InitializationVector: '0'.repeat(2 * BLOCK_BYTES[algorithm]),
    };
    try {
      const { PlainText } = await this.#client.call(
        { plane: 'data', name: 'DecryptData', path },
        {
          CipherText: toHex(ciphertext),
          DecryptionAttributes: { Dukpt: { ...dukpt, ...derivation('DukptKeyDerivationType', this.#keys, request) } },
        },
      );
      return hexBytes(PlainText);
    } catch (error) {
      throw refusalOf(error, 'KSN');
    }
  }

  deviceStates(): readonly HsmDeviceState[] {
    return [this.#client.state()];
  }

  async #verify(body: object, mac: Uint8Array): Promise<boolean> {
    try {
      await this.#client.call(VERIFY_MAC, { ...body, Mac: toHex(mac) });
      return true;
    } catch (error) {
      if (error instanceof AwsError && error.code === 'VerificationFailedException') return false;
      throw refusalOf(error, 'KEY_USAGE');
    }
  }

  async #macBody({ keyId, method, message, lengthBytes }: MacRequest, attributes: string): Promise<object> {
    const { key, algorithm, lengthBytes: keyBytes } = await this.#keys.use(keyId, 'mac');
    const isFit = method.keys?.some((shape) => shape.algorithm === algorithm && shape.lengthBytes === keyBytes) ?? true;
    if (!isFit) throw new CryptoError('KEY_LENGTH');
    const blockBytes = BLOCK_BYTES[algorithm];
    const isLength = Number.isInteger(lengthBytes) && lengthBytes >= MAC_BYTES_LEAST && lengthBytes <= blockBytes;
    if (!isLength) throw new CryptoError('DATA_LENGTH');
    return {
      KeyIdentifier: key,
      MessageData: dataOf(paddedFor(method, message, blockBytes)),
      [attributes]: { Algorithm: ALGORITHMS[method.algorithm] },
      MacLength: lengthBytes,
    };
  }

  async #pinKey({ keyId, ksn, keyType }: PinKey): Promise<{ key: string; dukpt: object | undefined }> {
    const usage: KeyUsage = ksn === undefined ? 'pin' : 'dukptBase';
    const { key } = await this.#keys.use(keyId, usage);
    if (ksn === undefined) return { key, dukpt: undefined };
    const type = keyType === undefined ? this.#keys.derivationType(keyId) : DERIVATION_TYPES[keyType];
    return { key, dukpt: { KeySerialNumber: toHex(ksn), DukptKeyDerivationType: type } };
  }

  #derivationOf(request: DukptRequest): object {
    return derivation('DukptDerivationType', this.#keys, request);
  }
}

const ALGORITHMS: Readonly<Record<MacMethod['algorithm'], string>> = {
  retail: 'ISO9797_ALGORITHM3',
  cbc: 'ISO9797_ALGORITHM1',
  cmac: 'CMAC',
};

const DERIVATION_TYPES = {
  '2TDEA': 'TDES_2KEY',
  '3TDEA': 'TDES_3KEY',
  AES128: 'AES_128',
  AES192: 'AES_192',
  AES256: 'AES_256',
} as const;

/** The working keys are as long as the base derivation key. */
function derivation(member: string, keys: AwsKeyStore, { keyId }: DukptRequest): object {
  return { [member]: keys.derivationType(keyId) };
}

/**
 * The service pads with method 1, and only a message that is not a whole number of blocks (user guide, "Generate and verify
 * MAC"). Other padding is applied here.
 */
function paddedFor(method: MacMethod, message: Uint8Array, blockBytes: 8 | 16): Uint8Array {
  return method.algorithm === 'cmac' ? message : padMessage(message, method.padding, blockBytes);
}

function dataOf(message: Uint8Array): string {
  if (message.length === 0 || message.length > MAX_MAC_MESSAGE_BYTES) throw new CryptoError('DATA_LENGTH');
  return toHex(message);
}

function formatOf(format: EncipheredPin['format'], pan: string): object {
  return { [`IsoFormat${format}`]: format === 1 ? {} : { PrimaryAccountNumber: pan } };
}

/** @throws AwsError if the response lacks what its model requires */
function hexBytes(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !/^(?:[0-9a-fA-F]{2})+$/.test(value)) throw new AwsError('InvalidResponse');
  return fromHex(value);
}

/**
 * @param code of a request that the service finds invalid: the values of keys are checked at first use
 * @returns HsmUnavailable for errors that say nothing of the key or the data, such as those of a proxy
 */
function refusalOf(error: unknown, code: 'PIN_BLOCK' | 'KEY_USAGE' | 'KSN'): unknown {
  if (!(error instanceof AwsError)) return error;
  if (error.code === 'ResourceNotFoundException') return new CryptoError('KEY_UNKNOWN');
  if (error.code === 'AccessDeniedException') return new CryptoError('KEY_USAGE');
  return error.code === 'ValidationException' ? new CryptoError(code) : new HsmUnavailable({ cause: error });
}

const SERVICE = 'payment-cryptography';

/**
 * Opens the keys of a configuration in AWS Payment Cryptography, and asks for one of them. A service that does not respond
 * now is used when it does. Credentials are those that programs on this machine have:
 * from the environment, a shared configuration file, a web identity, the container, or the instance.
 *
 * @param json the parsed content of the file
 * @throws StartError BAD_CONFIG naming the place in the file, or the packages that are missing
 */
export async function openAws(json: unknown, path: string): Promise<AwsHsm> {
  const { region, endpoints = endpointsOf(region), timeLimitMs, requests, keys } = parseAwsFile(json, path);
  const { SignatureV4, defaultProvider } = await packages();
  const signer = new SignatureV4({ service: SERVICE, region, credentials: defaultProvider(), sha256: NodeSha256 });
  const hsm = new AwsHsm(new AwsClient({ region, endpoints, timeLimitMs, requests, signer }), keys);
  await hsm.check();
  return hsm;
}

/** @throws StartError BAD_CONFIG naming the place in the file */
export function parseAwsFile(json: unknown, path: string): AwsFile {
  const parsed = awsFile.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new StartError('BAD_CONFIG', `the HSM file ${path} is wrong: ${pointedFaults(parsed.error).join(', ')}`);
}

function endpointsOf(region: string): { data: string; control: string } {
  const at = (plane: string) => `https://${plane}.${SERVICE}.${region}.amazonaws.com`;
  return { data: at('dataplane'), control: at('controlplane') };
}

/** The packages of AWS. They are optional, so that an installation without AWS does not have them. */
async function packages() {
  try {
    const [{ SignatureV4 }, { defaultProvider }] = await Promise.all([
      import('@smithy/signature-v4'),
      import('@aws-sdk/credential-provider-node'),
    ]);
    return { SignatureV4, defaultProvider };
  } catch (cause) {
    const names = '@smithy/signature-v4 @aws-sdk/credential-provider-node';
    throw new StartError('BAD_CONFIG', `packages for AWS are missing: npm install ${names}`, { cause });
  }
}
