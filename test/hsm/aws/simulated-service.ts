import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CryptoError } from '../../../src/basics/errors.ts';
import { fromHex, toHex } from '../../../src/codecs/bytes/hex.ts';
import { Secret } from '../../../src/codecs/bytes/secret.ts';
import type { KeyUsage } from '../../../src/codecs/crypto/hsm.ts';
import type { MacMethod } from '../../../src/codecs/crypto/mac.ts';
import { SoftHsm } from '../../../src/codecs/crypto/soft-hsm.ts';
import { inputFaults, MODEL } from './api-model.ts';
import { isSigned } from './signature.ts';

export interface ServiceKey {
  readonly arn: string;
  readonly usage: KeyUsage;
  readonly algorithm: 'tdes' | 'aes';
  readonly bytes: Uint8Array;
}

/** A member of a body, used as the text or the object that the API model has checked it to be. */
type Value = { readonly [member: string]: Value } & string;
type Body = { readonly [member: string]: Value };

const USAGES: Partial<Record<KeyUsage, string>> = {
  keyBlockProtection: 'TR31_K1_KEY_BLOCK_PROTECTION_KEY',
  pin: 'TR31_P0_PIN_ENCRYPTION_KEY',
  mac: 'TR31_M3_ISO_9797_3_MAC_KEY',
  dukptBase: 'TR31_B0_BASE_DERIVATION_KEY',
};
const NAMES: Record<string, string> = { tdes16: 'TDES_2KEY', tdes24: 'TDES_3KEY', aes16: 'AES_128', aes32: 'AES_256' };
const PATHS: Record<string, string> = {
  '/pindata/translate': 'TranslatePinData',
  '/mac/generate': 'GenerateMac',
  '/mac/verify': 'VerifyMac',
};

class ServiceError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export function arnOf(name: string): string {
  return `arn:aws:payment-cryptography:eu-west-1:111122223333:key/${name.padEnd(16, '0')}`;
}

/**
 * AWS Payment Cryptography as far as the gateway uses it. It refuses a request whose signature or whose input, according to
 * the API model, is wrong, and lists it in `faults`.
 */
export class SimulatedService {
  readonly faults: string[] = [];
  readonly calls: string[] = [];
  /** Errors for the next requests, as the API model names them; `hang` never responds. */
  readonly next: string[] = [];
  readonly keys = new Map<string, ServiceKey & { isEnabled: boolean }>();
  /** An operation that takes effect once without its response: the sender repeats the request. */
  losesNext: string | undefined;
  readonly #aliases = new Map<string, string>();
  readonly #hsm: SoftHsm;
  readonly #server: Server;
  #imported = 0;

  static async start(keys: readonly ServiceKey[]): Promise<SimulatedService> {
    const service = new SimulatedService(keys);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  private constructor(keys: readonly ServiceKey[]) {
    for (const key of keys) this.keys.set(key.arn, { ...key, isEnabled: true });
    const named = keys.map(({ arn, bytes, ...key }) => ({ ...key, keyId: arn, bytes: new Secret(bytes) }));
    this.#hsm = new SoftHsm({ environment: 'qa', keys: named });
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  setAlias(name: string, arn: string): void {
    this.#aliases.set(name, arn);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const send = (status: number, content: object, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(content));
    try {
      if (!isSigned(request, body)) throw new ServiceError('InvalidSignatureException');
      const planned = this.next.shift();
      if (planned === 'hang') return;
      if (planned !== undefined) throw new ServiceError(planned);
      const content = await this.#carryOut(request, JSON.parse(body.toString()) as Body);
      if (this.calls.at(-1) === this.losesNext) {
        this.losesNext = undefined;
        throw new ServiceError('InternalServerException');
      }
      send(200, content);
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : 'InternalServerException';
      if (!(error instanceof ServiceError)) this.faults.push(String(error));
      if (code === 'InvalidSignatureException') this.faults.push(`${request.method} ${request.url}: signature`);
      // The data plane names the error in a header, the control plane in the body.
      const isData = request.headers['x-amz-target'] === undefined;
      const status = code === 'InternalServerException' ? 500 : code === 'ThrottlingException' ? 429 : 400;
      if (isData) send(status, { Message: 'no' }, { 'x-amzn-errortype': `${code}:http://internal.amazon.com/coral/` });
      else send(status, { __type: `com.amazonaws.paymentcryptography#${code}`, Message: 'no' });
    }
  }

  async #carryOut({ url = '', headers }: IncomingMessage, body: Body): Promise<object> {
    const target = headers['x-amz-target'] as string | undefined;
    if (target !== undefined) {
      const operation = target.replace(`${MODEL.control.targetPrefix}.`, '');
      this.#check('control', operation, body);
      return this.#control(operation, body);
    }
    const decrypt = /^\/keys\/([^/]+)\/decrypt$/.exec(url)?.[1];
    const operation = decrypt === undefined ? PATHS[url]! : 'DecryptData';
    const input = decrypt === undefined ? body : { ...body, KeyIdentifier: decodeURIComponent(decrypt) as Value };
    this.#check('data', operation, input);
    return this.#data(operation, input);
  }

  #check(plane: 'data' | 'control', operation: string, input: Body): void {
    this.calls.push(operation);
    const faults = inputFaults(plane, operation, input);
    this.faults.push(...faults);
    if (faults.length > 0) throw new ServiceError('ValidationException');
  }

  async #data(operation: string, body: Body): Promise<object> {
    try {
      switch (operation) {
        case 'TranslatePinData':
          return await this.#translate(body);
        case 'GenerateMac':
          return { Mac: toHex(await this.#hsm.mac(this.#mac(body, body.GenerationAttributes))) };
        case 'VerifyMac':
          return await this.#verify(body);
        default: {
          const { KeySerialNumber: ksn } = body.DecryptionAttributes.Dukpt;
          const request = {
            keyId: this.#arn(body.KeyIdentifier),
            ksn: fromHex(ksn),
            ciphertext: fromHex(body.CipherText),
          };
          return { PlainText: toHex(await this.#hsm.decipherDukpt(request)) };
        }
      }
    } catch (error) {
      throw error instanceof CryptoError ? new ServiceError('ValidationException') : error;
    }
  }

  async #translate(body: Body): Promise<object> {
    const sideOf = (identifier: string, formats: Body, dukpt: Body | undefined) => {
      const [name] = Object.keys(formats);
      const ksn = dukpt && fromHex(dukpt.KeySerialNumber);
      return { keyId: this.#arn(identifier), format: Number(name!.at(-1)) as 0, ksn };
    };
    const from = sideOf(body.IncomingKeyIdentifier, body.IncomingTranslationAttributes, body.IncomingDukptAttributes);
    const to = sideOf(body.OutgoingKeyIdentifier, body.OutgoingTranslationAttributes, body.OutgoingDukptAttributes);
    const pan = Object.values(body.OutgoingTranslationAttributes as Body)[0].PrimaryAccountNumber;
    const block = fromHex(body.EncryptedPinBlock);
    return { PinBlock: toHex((await this.#hsm.translatePin({ from: { ...from, block }, to, pan })).block) };
  }

  async #verify(body: Body): Promise<object> {
    const attributes = body.VerificationAttributes as Body;
    const mac = fromHex(body.Mac);
    const dukpt = attributes.DukptIso9797Algorithm3 ?? attributes.DukptCmac;
    const isSame = dukpt
      ? await this.#verifyDukpt(body, dukpt, mac)
      : await this.#hsm.verifyMac({ ...this.#mac(body, attributes), mac });
    if (!isSame) throw new ServiceError('VerificationFailedException');
    return {};
  }

  /** The software HSM pads with method 2 itself, which the service leaves to its caller. */
  #verifyDukpt(body: Body, dukpt: Body, mac: Uint8Array): Promise<boolean> {
    const data = fromHex(body.MessageData);
    const message = 'DukptCmac' in body.VerificationAttributes ? data : data.subarray(0, data.lastIndexOf(0x80));
    return this.#hsm.verifyDukptMac({
      keyId: this.#arn(body.KeyIdentifier),
      ksn: fromHex(dukpt.KeySerialNumber),
      message,
      mac,
    });
  }

  /** Padding method 1, as the service applies it. */
  #mac({ KeyIdentifier, MessageData, MacLength }: Body, { Algorithm }: Body) {
    const name = Algorithm === 'CMAC' ? 'cmac' : Algorithm === 'ISO9797_ALGORITHM3' ? 'retail' : 'cbc';
    const method = (name === 'cmac' ? { algorithm: name } : { algorithm: name, padding: 1 }) as MacMethod;
    return { keyId: this.#arn(KeyIdentifier), method, message: fromHex(MessageData), lengthBytes: Number(MacLength) };
  }

  #control(operation: string, body: Body): object | Promise<object> {
    switch (operation) {
      case 'GetKey':
        return this.#described(this.#arn(body.KeyIdentifier));
      case 'GetAlias':
        if (!this.#aliases.has(body.AliasName)) throw new ServiceError('ResourceNotFoundException');
        return { Alias: { AliasName: body.AliasName, KeyArn: this.#aliases.get(body.AliasName) } };
      case 'CreateAlias':
        if (this.#aliases.has(body.AliasName)) throw new ServiceError('ConflictException');
        this.#aliases.set(body.AliasName, body.KeyArn);
        return { Alias: body };
      case 'DeleteAlias':
        this.#aliases.delete(body.AliasName);
        return {};
      case 'DeleteKey':
        this.keys.delete(body.KeyIdentifier);
        return {};
      default:
        return this.#import(body);
    }
  }

  async #import(body: Body): Promise<object> {
    const { WrappingKeyIdentifier, WrappedKeyBlock } = body.KeyMaterial.Tr31KeyBlock;
    const arn = arnOf(`imported${this.#imported++}`);
    const usage = ({ M: 'mac', P: 'pin', B: 'dukptBase' } as const)[WrappedKeyBlock[5] as 'M'];
    const transportKeyId = this.#arn(WrappingKeyIdentifier);
    try {
      const { algorithm, lengthBytes } = await this.#hsm.importKey({
        keyId: arn,
        usage,
        transportKeyId,
        block: WrappedKeyBlock,
      });
      this.keys.set(arn, { arn, usage, algorithm, bytes: new Uint8Array(lengthBytes), isEnabled: true });
    } catch {
      throw new ServiceError('ValidationException');
    }
    return this.#described(arn);
  }

  async #described(arn: string): Promise<object> {
    const key = this.keys.get(arn)!;
    return {
      Key: {
        KeyArn: arn,
        KeyCheckValue: await this.#hsm.kcv(arn),
        Enabled: key.isEnabled,
        KeyState: 'CREATE_COMPLETE',
        KeyAttributes: { KeyUsage: USAGES[key.usage], KeyAlgorithm: NAMES[`${key.algorithm}${key.bytes.length}`] },
      },
    };
  }

  #arn(identifier: string): string {
    const arn = this.#aliases.get(identifier) ?? identifier;
    if (!this.keys.has(arn)) throw new ServiceError('ResourceNotFoundException');
    return arn;
  }
}
