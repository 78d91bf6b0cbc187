import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSPKI, type JWTPayload, jwtVerify } from 'jose';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

/** Of the fake's accounts. */
const PROJECT = 'till-project';
const EMAIL = `push@${PROJECT}.iam.gserviceaccount.com`;

/** A message as the push service received it. */
export interface SentMessage {
  readonly authorization: string;
  readonly token: string;
  readonly data: Record<string, string>;
  readonly android: unknown;
}

/** The fake's response to a message: status, FCM's error code, and headers. */
export interface FcmResponse {
  readonly status: number;
  readonly errorCode?: string;
  readonly headers?: Record<string, string>;
}

const SENT: FcmResponse = { status: 200 };

/**
 * Google's authorization server and Firebase Cloud Messaging, reduced to what tests need, on a free port of this
 * machine.
 */
export class FakeFcm {
  readonly #receiver: Receiver;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tapwire-fcm-'));
  readonly #publicKey: string;
  readonly messages: SentMessage[] = [];
  /** Claims of the assertions for which access tokens were issued. */
  readonly assertions: JWTPayload[] = [];
  /** The response from now on. */
  response: FcmResponse = SENT;
  /** Lifetime of the next access tokens. */
  expiresIn = 3_600;
  /** The status of the authorization server's responses. */
  tokenStatus = 200;
  /** Whether messages are left without a response. */
  isHanging = false;
  /** Access tokens that are refused. */
  readonly revoked = new Set<string>();

  private constructor(receiver: Receiver) {
    this.#receiver = receiver;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    this.#publicKey = publicKey;
    const account = {
      type: 'service_account',
      project_id: PROJECT,
      private_key_id: 'key-1',
      private_key: privateKey,
      client_email: EMAIL,
      token_uri: `${this.url}/token`,
    };
    writeFileSync(this.accountFile, JSON.stringify(account));
  }

  static async start(): Promise<FakeFcm> {
    const receiver = await startReceiver();
    const fake = new FakeFcm(receiver);
    receiver.respond = async (response, { path, headers, body }) => {
      const reply = (status: number, json: object, more: Record<string, string> = {}) =>
        void response.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(json));
      if (path === '/token') return reply(...(await fake.#giveToken(body.toString())));
      if (path !== `/v1/projects/${PROJECT}/messages:send`) return reply(404, {});
      const authorization = headers.authorization ?? '';
      if (fake.revoked.has(authorization)) return reply(401, fcmError(401, 'UNAUTHENTICATED'));
      const { message } = JSON.parse(body.toString()) as { message: Omit<SentMessage, 'authorization'> };
      fake.messages.push({ authorization, ...message });
      if (fake.isHanging) return;
      const { status, errorCode, headers: more } = fake.response;
      reply(status, status === 200 ? { name: `projects/${PROJECT}/messages/1` } : fcmError(status, errorCode), more);
    };
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#receiver.port}`;
  }

  get accountFile(): string {
    return join(this.#folder, 'service-account.json');
  }

  reset(): void {
    this.messages.length = 0;
    Object.assign(this, { response: SENT, isHanging: false, tokenStatus: 200, expiresIn: 3_600 });
  }

  async close(): Promise<void> {
    await this.#receiver.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** RFC 7523 2.1: a token for a valid assertion. */
  async #giveToken(form: string): Promise<[number, object]> {
    if (this.tokenStatus !== 200) return [this.tokenStatus, { error: 'internal_failure' }];
    const parameters = new URLSearchParams(form);
    if (parameters.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') return [400, {}];
    const key = await importSPKI(this.#publicKey, 'RS256');
    const { payload } = await jwtVerify(parameters.get('assertion') ?? '', key, {
      issuer: EMAIL,
      audience: `${this.url}/token`,
      maxTokenAge: '1h',
    });
    this.assertions.push(payload);
    return [
      200,
      { access_token: `access-${this.assertions.length}`, expires_in: this.expiresIn, token_type: 'Bearer' },
    ];
  }
}

/** An error in the format of Google's APIs. */
function fcmError(code: number, errorCode = 'INTERNAL'): object {
  const detail = { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode };
  return { error: { code, message: 'some words', status: 'SOME_STATUS', details: [{ '@type': 'other' }, detail] } };
}
