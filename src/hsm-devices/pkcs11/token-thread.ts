/**
 * The thread of one token. Calls of a PKCS #11 library block their thread for as long as the token takes, so they have one of
 * their own: a token that hangs then stops nothing else.
 */
import { createRequire } from 'node:module';
import { type MessagePort, workerData } from 'node:worker_threads';
import type { Handle, PKCS11 } from 'pkcs11js';
import { fromHex } from '../../codecs/bytes/hex.ts';
import {
  isRefusalOfPin,
  type TokenOperation,
  type TokenRequest,
  type TokenResponse,
  type TokenThreadData,
} from './token-operation.ts';

/** Required, because an import of this CommonJS package lacks most of its constants. */
const pkcs11js = createRequire(import.meta.url)('pkcs11js') as typeof import('pkcs11js');

const P256 = Buffer.from('06082a8648ce3d030107', 'hex'); // OID 1.2.840.10045.3.1.7, RFC 5480 2.1.1.1
const POINT_BYTES = 65;
const SECRET_BYTES = 32;
const SIGNATURE_BYTES = 64;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SECRET_KEY_BYTES = 32;

/** After these, the session is opened again and the operation repeated once. None of the operations harms if it ran twice. */
const SESSION_ENDED = new Set([
  'CKR_SESSION_HANDLE_INVALID',
  'CKR_SESSION_CLOSED',
  'CKR_USER_NOT_LOGGED_IN',
  'CKR_DEVICE_REMOVED',
  'CKR_DEVICE_ERROR',
  'CKR_TOKEN_NOT_PRESENT',
  'CKR_TOKEN_NOT_RECOGNIZED',
  'CKR_KEY_HANDLE_INVALID',
  'CKR_OBJECT_HANDLE_INVALID',
  'CKR_CRYPTOKI_NOT_INITIALIZED',
]);

/**
 * As these, but they can also be the fault of one operation. Tokens on the network return the first two after a lost
 * connection, the third follows an operation that failed in its middle.
 */
const SESSION_DOUBTFUL = new Set(['CKR_GENERAL_ERROR', 'CKR_FUNCTION_FAILED', 'CKR_OPERATION_ACTIVE']);

class TokenFailure extends Error {
  readonly code: string;
  readonly isAbsent: boolean;

  constructor(code: string, isAbsent = false) {
    super(code);
    this.code = code;
    this.isAbsent = isAbsent;
  }
}

interface Session {
  readonly handle: Handle;
  readonly firmware: string;
  /** Handles of keys by class and id; they are valid for the session. */
  readonly keys: Map<string, Handle>;
}

class TokenSession {
  readonly #data: TokenThreadData;
  readonly #library: PKCS11;
  #session: Session | undefined;
  #refusedPin: TokenFailure | undefined;

  constructor(data: TokenThreadData) {
    this.#data = data;
    this.#library = new pkcs11js.PKCS11();
    this.#library.load(data.modulePath);
  }

  run(operation: TokenOperation): Uint8Array {
    try {
      return this.#runOnce(operation);
    } catch (error) {
      const code = codeOf(error);
      if (!SESSION_ENDED.has(code) && !SESSION_DOUBTFUL.has(code)) throw error;
      this.#close();
      return this.#runAgain(operation);
    }
  }

  #runAgain(operation: TokenOperation): Uint8Array {
    try {
      return this.#runOnce(operation);
    } catch (error) {
      throw SESSION_ENDED.has(codeOf(error)) ? new TokenFailure(codeOf(error), true) : error;
    }
  }

  #runOnce(operation: TokenOperation): Uint8Array {
    this.#session ??= this.#connect();
    const { handle } = this.#session;
    const library = this.#library;
    switch (operation.do) {
      case 'check':
        library.C_GetSessionInfo(handle);
        return Buffer.from(this.#session.firmware);
      case 'agree':
        return this.#agree(handle, operation);
      case 'sign':
        library.C_SignInit(handle, { mechanism: pkcs11js.CKM_ECDSA }, this.#privateKey(operation.id));
        return library.C_Sign(handle, Buffer.from(operation.digest), Buffer.alloc(SIGNATURE_BYTES));
      case 'seal': {
        const nonce = library.C_GenerateRandom(handle, Buffer.alloc(NONCE_BYTES));
        library.C_EncryptInit(handle, gcm(nonce, operation.associated), this.#secretKey(operation.id));
        const room = Buffer.alloc(operation.bytes.length + TAG_BYTES);
        return Buffer.concat([nonce, library.C_Encrypt(handle, Buffer.from(operation.bytes), room)]);
      }
      case 'open': {
        const sealed = Buffer.from(operation.bytes);
        const nonce = sealed.subarray(0, NONCE_BYTES);
        library.C_DecryptInit(handle, gcm(nonce, operation.associated), this.#secretKey(operation.id));
        return library.C_Decrypt(handle, sealed.subarray(NONCE_BYTES), Buffer.alloc(sealed.length));
      }
      case 'createPair':
        return this.#createPair(handle, operation);
      case 'createSecret':
        library.C_GenerateKey(handle, { mechanism: pkcs11js.CKM_AES_KEY_GEN }, [
          ...confined(pkcs11js.CKO_SECRET_KEY, operation),
          { type: pkcs11js.CKA_VALUE_LEN, value: SECRET_KEY_BYTES },
          { type: pkcs11js.CKA_ENCRYPT, value: true },
          { type: pkcs11js.CKA_DECRYPT, value: true },
        ]);
        return new Uint8Array(0);
    }
  }

  /** The shared secret is an object of the session until its value was read. */
  #agree(handle: Handle, { id, point }: Extract<TokenOperation, { do: 'agree' }>): Uint8Array {
    const library = this.#library;
    const parameter = { type: pkcs11js.CK_PARAMS_EC_DH, kdf: pkcs11js.CKD_NULL, publicData: Buffer.from(point) };
    const derived = library.C_DeriveKey(
      handle,
      { mechanism: pkcs11js.CKM_ECDH1_DERIVE, parameter },
      this.#privateKey(id),
      [
        { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_SECRET_KEY },
        { type: pkcs11js.CKA_KEY_TYPE, value: pkcs11js.CKK_GENERIC_SECRET },
        { type: pkcs11js.CKA_TOKEN, value: false },
        { type: pkcs11js.CKA_SENSITIVE, value: false },
        { type: pkcs11js.CKA_EXTRACTABLE, value: true },
        { type: pkcs11js.CKA_VALUE_LEN, value: SECRET_BYTES },
      ],
    );
    try {
      const value = this.#attribute(handle, derived, pkcs11js.CKA_VALUE);
      if (value.length !== SECRET_BYTES) throw new TokenFailure('SECRET_LENGTH');
      return value;
    } finally {
      library.C_DestroyObject(handle, derived);
    }
  }

  #createPair(handle: Handle, { id, label, use }: Extract<TokenOperation, { do: 'createPair' }>): Uint8Array {
    const library = this.#library;
    const isForAgreement = use === 'agree';
    const named = [
      { type: pkcs11js.CKA_ID, value: Buffer.from(fromHex(id)) },
      { type: pkcs11js.CKA_LABEL, value: label },
    ];
    const pair = library.C_GenerateKeyPair(
      handle,
      { mechanism: pkcs11js.CKM_EC_KEY_PAIR_GEN },
      [
        ...named,
        { type: pkcs11js.CKA_TOKEN, value: true },
        { type: pkcs11js.CKA_EC_PARAMS, value: P256 },
        { type: pkcs11js.CKA_VERIFY, value: !isForAgreement },
      ],
      [
        ...confined(pkcs11js.CKO_PRIVATE_KEY, { id, label }),
        { type: pkcs11js.CKA_DERIVE, value: isForAgreement },
        { type: pkcs11js.CKA_SIGN, value: !isForAgreement },
      ],
    );
    const value = this.#attribute(handle, pair.publicKey, pkcs11js.CKA_EC_POINT);
    // An OCTET STRING in DER around the point (PKCS #11 2.40, mechanisms 2.3.3); its header has two bytes.
    return value.length === POINT_BYTES ? value : value.subarray(value.length - POINT_BYTES);
  }

  #attribute(handle: Handle, object: Handle, type: number): Buffer {
    return this.#library.C_GetAttributeValue(handle, object, [{ type }])[0]!.value as Buffer;
  }

  #privateKey(id: string): Handle {
    return this.#key(pkcs11js.CKO_PRIVATE_KEY, id);
  }

  #secretKey(id: string): Handle {
    return this.#key(pkcs11js.CKO_SECRET_KEY, id);
  }

  #key(objectClass: number, id: string): Handle {
    const { handle, keys } = this.#session!;
    const name = `${objectClass} ${id}`;
    const known = keys.get(name);
    if (known !== undefined) return known;
    const library = this.#library;
    library.C_FindObjectsInit(handle, [
      { type: pkcs11js.CKA_CLASS, value: objectClass },
      { type: pkcs11js.CKA_ID, value: Buffer.from(fromHex(id)) },
    ]);
    let found: Handle | null;
    try {
      found = library.C_FindObjects(handle);
    } finally {
      library.C_FindObjectsFinal(handle);
    }
    if (!found) throw new TokenFailure('KEY_MISSING');
    keys.set(name, found);
    return found;
  }

  /** A PIN that the token has refused is not sent again, because a few wrong logins lock the token. */
  #connect(): Session {
    if (this.#refusedPin) throw this.#refusedPin;
    try {
      return this.#open();
    } catch (error) {
      const failure = new TokenFailure(codeOf(error), true);
      if (isRefusalOfPin(failure.code)) this.#refusedPin = failure;
      throw failure;
    }
  }

  #open(): Session {
    const library = this.#library;
    ignoring('CKR_CRYPTOKI_ALREADY_INITIALIZED', () => library.C_Initialize());
    const { label, pin } = this.#data;
    const slot = library.C_GetSlotList(true).find((each) => library.C_GetTokenInfo(each).label.trim() === label);
    if (!slot) throw new TokenFailure('CKR_TOKEN_NOT_PRESENT');
    const { firmwareVersion, flags } = library.C_GetTokenInfo(slot);
    // A process that is started again and again would otherwise lock the token.
    if (flags & pkcs11js.CKF_USER_PIN_FINAL_TRY) throw new TokenFailure('CKR_PIN_FINAL_TRY');
    const handle = library.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION | pkcs11js.CKF_RW_SESSION);
    ignoring('CKR_USER_ALREADY_LOGGED_IN', () => library.C_Login(handle, pkcs11js.CKU_USER, pin));
    return { handle, firmware: `${firmwareVersion.major}.${firmwareVersion.minor}`, keys: new Map() };
  }

  /** The session may be gone already, so its closing may fail. */
  #close(): void {
    const handle = this.#session?.handle;
    this.#session = undefined;
    try {
      if (handle) this.#library.C_CloseSession(handle);
    } catch {}
  }
}

/** A key that is stored in the token and cannot leave it. */
function confined(objectClass: number, { id, label }: { readonly id: string; readonly label: string }) {
  return [
    { type: pkcs11js.CKA_CLASS, value: objectClass },
    { type: pkcs11js.CKA_ID, value: Buffer.from(fromHex(id)) },
    { type: pkcs11js.CKA_LABEL, value: label },
    { type: pkcs11js.CKA_TOKEN, value: true },
    { type: pkcs11js.CKA_PRIVATE, value: true },
    { type: pkcs11js.CKA_SENSITIVE, value: true },
    { type: pkcs11js.CKA_EXTRACTABLE, value: false },
  ];
}

function gcm(nonce: Uint8Array, associated: Uint8Array) {
  const parameter = {
    type: pkcs11js.CK_PARAMS_AES_GCM,
    iv: Buffer.from(nonce),
    ivBits: NONCE_BYTES * 8,
    aad: Buffer.from(associated),
    tagBits: TAG_BYTES * 8,
  };
  return { mechanism: pkcs11js.CKM_AES_GCM, parameter };
}

function ignoring(code: string, call: () => void): void {
  try {
    call();
  } catch (error) {
    if (codeOf(error) !== code) throw error;
  }
}

/** The message of the library's error begins with the name of the return value. */
function codeOf(error: unknown): string {
  if (error instanceof TokenFailure) return error.code;
  return /\bCKR_[A-Z0-9_]+/.exec((error as Error)?.message ?? '')?.[0] ?? 'UNKNOWN';
}

let session: TokenSession | undefined;

function respond(port: MessagePort, { number, done, ...operation }: TokenRequest): void {
  let response: TokenResponse;
  try {
    session ??= new TokenSession(workerData as TokenThreadData);
    response = { number, result: Uint8Array.from(session.run(operation)) };
  } catch (error) {
    response = { number, code: codeOf(error), isAbsent: !session || (error instanceof TokenFailure && error.isAbsent) };
  }
  port.postMessage(response);
  if (done === undefined) return;
  const flag = new Int32Array(done);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

const port = workerData.port as MessagePort;
port.on('message', (request: TokenRequest) => respond(port, request));
