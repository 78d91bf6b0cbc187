import { createHash, createHmac } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import type { SignatureV4 } from '@smithy/signature-v4';
import { z } from 'zod';
import { AwsError, HsmUnavailable } from '../../basics/errors.ts';
import { RoundTrips } from '../../switching/connection/pool-stats.ts';
import type { HsmDeviceState, HsmDeviceStatus } from '../../switching/hsm/hsm-calls.ts';

/** An operation of the service, as its API model names it. */
export type AwsOperation =
  | { readonly plane: 'data'; readonly name: string; readonly path: string }
  | { readonly plane: 'control'; readonly name: string };

const SERVICE = 'payment-cryptography';
const CONTROL_TARGET = 'PaymentCryptographyControlPlane';
/** No response of the service is longer: a MAC, a PIN block, a description of a key, or 4 KB of plaintext. */
const MAX_RESPONSE_CHARS = 65_536;
/** After throttling and faults of the service; doubled for each attempt, with jitter. */
const FIRST_PAUSE_MS = 25;
/** Errors after which the same request may succeed, as the API model names them. */
const REPEATABLE = new Set(['ThrottlingException', 'InternalServerException', 'ServiceUnavailableException']);
/** The service does not know the sender: not the fault of a key or a PIN. */
const UNTRUSTED = new Set([
  'UnrecognizedClientException',
  'ExpiredTokenException',
  'InvalidSignatureException',
  'IncompleteSignatureException',
  'MissingAuthenticationTokenException',
]);

/** SHA-256 for the signer, from node:crypto. */
export class NodeSha256 {
  readonly #hash: ReturnType<typeof createHash> | ReturnType<typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

/** Signed requests to AWS Payment Cryptography, with a time limit and a limit of their number. */
export class AwsClient {
  readonly #options;
  readonly #roundTrips = new RoundTrips();
  readonly #failures: Record<string, number> = {};
  readonly #refusals: Record<string, number> = {};
  #outstanding = 0;
  /** Also after their callers have given up, so that credentials that never come do not collect requests. */
  #signing = 0;
  #succeeded = 0;
  #status: HsmDeviceStatus = 'starting';
  #lastFailure: string | undefined;

  constructor(options: {
    readonly region: string;
    readonly endpoints: { readonly data: string; readonly control: string };
    readonly timeLimitMs: number;
    /** Outstanding at once. */
    readonly requests: number;
    readonly signer: SignatureV4;
  }) {
    this.#options = options;
  }

  /**
   * @returns the body of the response
   * @throws AwsError with the name of the API model if the service refuses the request; HsmUnavailable if it does not
   * respond in time, or does not accept the credentials
   */
  async call(operation: AwsOperation, body: object): Promise<Readonly<Record<string, unknown>>> {
    const { timeLimitMs, requests } = this.#options;
    if (this.#outstanding >= requests) throw this.#unavailable('BUSY');
    this.#outstanding++;
    const limit = AbortSignal.timeout(timeLimitMs);
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
        const result = await this.#send(operation, body, limit);
        if (!('error' in result)) return result.body;
        if (UNTRUSTED.has(result.error)) throw this.#unavailable(result.error);
        if (!REPEATABLE.has(result.error)) throw this.#refused(operation.name, result.error);
        this.#failures[result.error] = (this.#failures[result.error] ?? 0) + 1;
        await after(pauseMs * (0.5 + Math.random()), undefined, { signal: limit });
      }
    } catch (error) {
      if (error instanceof AwsError || error instanceof HsmUnavailable) throw error;
      throw this.#unavailable(limit.aborted ? 'TIMEOUT' : 'UNREACHABLE');
    } finally {
      this.#outstanding--;
    }
  }

  /** As of a device: the service is the one that a switch or a reader needs. */
  state(): HsmDeviceState {
    const { region, endpoints, requests } = this.#options;
    return {
      kind: 'service',
      name: `${SERVICE} ${region}`,
      address: new URL(endpoints.data).host,
      status: this.#status,
      connectionsReady: this.#status === 'ready' ? 1 : 0,
      connections: 1,
      outstanding: this.#outstanding,
      queued: Math.max(0, this.#outstanding - requests),
      succeeded: this.#succeeded,
      failures: this.#failures,
      refusals: this.#refusals,
      connectionsLost: 0,
      circuitOpenings: 0,
      lastFailure: this.#lastFailure,
      firmware: undefined,
      lmkCheckValue: undefined,
      roundTrips: this.#roundTrips.snapshot(),
    };
  }

  async #send(
    operation: AwsOperation,
    body: object,
    signal: AbortSignal,
  ): Promise<{ readonly body: Readonly<Record<string, unknown>> } | { readonly error: string }> {
    const { endpoints } = this.#options;
    const url = new URL(endpoints[operation.plane]);
    const isData = operation.plane === 'data';
    const text = JSON.stringify(body);
    const signed = await this.#sign(signal, {
      method: 'POST',
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port !== '' && { port: Number(url.port) }),
      path: isData ? operation.path : '/',
      query: {},
      headers: {
        host: url.host,
        'content-type': isData ? 'application/json' : 'application/x-amz-json-1.0',
        ...(!isData && { 'x-amz-target': `${CONTROL_TARGET}.${operation.name}` }),
      },
      body: text,
    });
    const startedAtMs = performance.now();
    const { host: _host, ...headers } = signed.headers;
    const response = await fetch(new URL(signed.path, url), {
      method: 'POST',
      headers,
      body: text,
      signal,
      redirect: 'error',
    });
    const json = await readJson(response);
    this.#roundTrips.record(performance.now() - startedAtMs);
    this.#status = 'ready';
    if (response.ok) {
      this.#succeeded++;
      return { body: json };
    }
    return { error: nameOfError(response, json) };
  }

  /** Credentials can come from a program or another machine, without a time limit of their own. */
  #sign(limit: AbortSignal, request: Parameters<SignatureV4['sign']>[0]): ReturnType<SignatureV4['sign']> {
    const { requests, signer } = this.#options;
    if (this.#signing >= requests) throw this.#unavailable('BUSY');
    this.#signing++;
    const aborted = new Promise<never>((_, reject) =>
      limit.addEventListener('abort', () => reject(limit.reason), { once: true }),
    );
    const signing = signer.sign(request).finally(() => this.#signing--);
    return Promise.race([signing, aborted]);
  }

  #refused(operation: string, code: string): AwsError {
    this.#refusals[code] = (this.#refusals[code] ?? 0) + 1;
    return new AwsError(code, operation);
  }

  #unavailable(code: string): HsmUnavailable {
    this.#failures[code] = (this.#failures[code] ?? 0) + 1;
    this.#lastFailure = code;
    if (code !== 'BUSY') this.#status = 'unreachable';
    return new HsmUnavailable({ cause: new AwsError(code) });
  }
}

/** `Name`, `Name:http://...` in the header, or `namespace#Name` in the body (Smithy protocols restJson1 and awsJson1.0). */
function nameOfError(response: Response, body: Readonly<Record<string, unknown>>): string {
  const named = response.headers.get('x-amzn-errortype') ?? body.__type ?? body.code;
  const name = typeof named === 'string' ? named.split(':', 1)[0]!.split('#').at(-1)! : '';
  return /^[A-Za-z]{1,64}$/.test(name) ? name : response.status >= 500 ? 'InternalServerException' : 'UnknownError';
}

async function readJson(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const length = Number(response.headers.get('content-length') ?? 0);
  if (length > MAX_RESPONSE_CHARS) throw new Error('the response is too long');
  const text = await readAtMost(response, MAX_RESPONSE_CHARS);
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

async function readAtMost({ body }: Response, most: number): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > most) throw new Error('the response is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

const MAX_KEYS = 1_000;
/** A switch gives its HSM 3 seconds (src/switching/hsm/hsm-calls.ts); longer is of no use. */
const MAX_TIME_LIMIT_MS = 3_000;
const MAX_REQUESTS = 512;

const ARN =
  /^arn:aws[a-z-]*:payment-cryptography:[a-z0-9-]+:[0-9]{12}:(key\/[0-9a-zA-Z]{16,64}|alias\/[a-zA-Z0-9/_-]+)$/;
const ALIAS = /^alias\/[a-zA-Z0-9/_-]+$/;

const awsKey = z.strictObject({
  keyId: z.string().min(1).max(64),
  usage: z.enum(['keyBlockProtection', 'pin', 'mac', 'dukptBase']),
  algorithm: z.enum(['tdes', 'aes']).default('tdes'),
  lengthBytes: z.union([z.literal(16), z.literal(24), z.literal(32)]).default(16),
  key: z
    .string()
    .max(322)
    .refine((text) => ARN.test(text) || ALIAS.test(text), 'must be the ARN or the alias of a key'),
  kcv: z.string().regex(/^[0-9A-F]{6}$/),
});

/** The configuration of AWS Payment Cryptography: the file that HSM_MODULE names. It has no keys, only their names. */
export const awsFile = z.strictObject({
  kind: z.literal('aws-payment-cryptography'),
  region: z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/),
  /** Endpoints in place of those of the region, such as VPC endpoints. */
  endpoints: z.strictObject({ data: z.url(), control: z.url() }).optional(),
  timeLimitMs: z.int().min(50).max(MAX_TIME_LIMIT_MS).default(2_000),
  /** Outstanding at once, in this process. */
  requests: z.int().min(1).max(MAX_REQUESTS).default(128),
  keys: z
    .array(awsKey)
    .max(MAX_KEYS)
    .refine((keys) => new Set(keys.map(({ keyId }) => keyId)).size === keys.length, 'must have different keyIds'),
});

export type AwsFile = z.infer<typeof awsFile>;
export type AwsKey = z.infer<typeof awsKey>;
