/**
 * The yardstick of `bench -- day`: what a good engineer writes in a day. The same tap over the same protocols and as
 * durable, with one thing after the other: a commit for the row and its job, an exchange with the switch, a commit for
 * the outcome, the response, a signed webhook, and a delete of the job. Each process has one connection to the switch.
 * Nothing is batched, repeated or reversed.
 */
import cluster from 'node:cluster';
import { createCipheriv, createHmac, type JsonWebKey, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify from 'fastify';
import { compactDecrypt, importJWK, importSPKI, jwtVerify } from 'jose';
import pg from 'pg';
import { z } from 'zod';
import { exampleConfig } from '../../../processors/type-1/config.ts';
import { authorization, networkRequest } from '../../../processors/type-1/messages.ts';
import { framing } from '../../../processors/type-1/profile.ts';
import { codecs, type Type1Message } from '../../../processors/type-1/spec.ts';
import { indexTlv } from '../../../src/codecs/emv/tlv.ts';
import { joinTlv } from '../../../src/codecs/emv/tlv-values.ts';
import { FrameReader } from '../../../src/codecs/iso8583/network/frame-reader.ts';
import { frameOf } from '../../support/frame-of.ts';

/** What the benchmark passes in `PLAIN_SETTINGS`. */
export interface PlainSettings {
  readonly port: number;
  readonly processes: number;
  readonly databaseUrl: string;
  readonly switchPort: number;
  readonly webhookUrl: string;
  /** The private key to which phones seal card data. */
  readonly cardKey: JsonWebKey;
  readonly issuer: { readonly iss: string; readonly audience: string; readonly publicKey: string };
}

const SCHEMA = `
create table if not exists plain_transactions (
  id uuid primary key, merchant_id text not null, merchant_reference text not null, device_id text not null,
  status text not null, amount_minor bigint not null, currency text not null, stan text not null, rrn text not null,
  masked_pan text not null, sealed_pan bytea not null, expiry text not null, scheme text not null, tid text not null,
  correlation_id text, original jsonb not null, response_code text, authorization_code text, settlement_date text,
  card_tags jsonb, created_at timestamptz not null default now(), sent_at timestamptz not null default now(),
  responded_at timestamptz, unique (merchant_id, merchant_reference)
);
create index if not exists plain_by_merchant on plain_transactions (merchant_id, created_at desc);
create table if not exists plain_events (
  transaction_id uuid not null, sequence integer not null, status text not null, at timestamptz not null default now(),
  primary key (transaction_id, sequence)
);
create table if not exists plain_jobs (
  id uuid primary key, transaction_id uuid not null, due_at timestamptz not null default now() + interval '60 s'
);
create index if not exists plain_due on plain_jobs (due_at);
create sequence if not exists plain_stan maxvalue 999999 cycle`;

const INSERT = `
with stan as (select lpad(nextval('plain_stan')::text, 6, '0') as stan)
insert into plain_transactions (id, merchant_id, merchant_reference, device_id, status, amount_minor, currency, stan, rrn,
  masked_pan, sealed_pan, expiry, scheme, tid, correlation_id, original)
select $1, $2, $3, $4, 'Submitted', $5, $6, stan, $7 || stan, $8, $9, $10, $11, $12, $13, $14 from stan returning stan, rrn`;
const INSERT_EVENT = 'insert into plain_events (transaction_id, sequence, status) values ($1, $2, $3)';
const INSERT_JOB = 'insert into plain_jobs (id, transaction_id) values ($1, $2)';
const OUTCOME = `
update plain_transactions set status = $2, response_code = $3, authorization_code = $4, settlement_date = $5, card_tags = $6,
  responded_at = now() where id = $1 and status = 'Submitted'`;

const tapBody = z.object({
  merchantReference: z.uuid(),
  generalCardData: z.base64().max(8_192),
  paymentCardData: z.base64().max(8_192),
});

const claims = z.object({ sub: z.string(), usr: z.string(), mbn: z.string(), mcc: z.string(), 'x-tid': z.string() });

/** One connection, on which responses are matched by STAN. */
async function openSwitch(port: number) {
  const waiting = new Map<string, (response: Type1Message) => void>();
  const socket = connect(port, '127.0.0.1').setNoDelay();
  const frames = new FrameReader(framing, (bytes, start, end) => {
    const response = codecs.bitmap.decode(bytes, start, end);
    waiting.get(response.stan!)?.(response);
    waiting.delete(response.stan!);
  });
  socket.on('data', (chunk) => frames.push(chunk));
  await once(socket, 'connect');
  const exchange = (message: Type1Message) => {
    const bytes = new Uint8Array(framing.maxFrameBytes);
    const end = codecs.bitmap.encode(message, bytes, 0);
    return new Promise<Type1Message>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no response')), 30_000);
      waiting.set(message.stan!, (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      socket.write(frameOf(framing, bytes.subarray(0, end)));
    });
  };
  await exchange(networkRequest('signOn', { stan: '000000', sentAtMs: Date.now() })!);
  return exchange;
}

async function serve({ port, databaseUrl, switchPort, webhookUrl, cardKey, issuer }: PlainSettings): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 });
  const [privateKey, issuerKey] = [await importJWK(cardKey, 'ECDH-ES'), await importSPKI(issuer.publicKey, 'ES256')];
  const exchange = await openSwitch(switchPort);
  const [panKey, webhookKey] = [randomBytes(32), randomBytes(32)];

  const inTransaction = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  };

  const seal = (pan: string) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', panKey, nonce);
    return Buffer.concat([nonce, cipher.update(pan), cipher.final(), cipher.getAuthTag()]);
  };

  const notify = async (id: string, jobId: string, outcome: object) => {
    const body = JSON.stringify({ type: 'transaction', timestamp: new Date().toISOString(), id, ...outcome });
    const at = String(Math.floor(Date.now() / 1_000));
    const signature = `v1,${createHmac('sha256', webhookKey).update(`${jobId}.${at}.${body}`).digest('base64')}`;
    const headers = {
      ...{ 'content-type': 'application/json', 'webhook-id': jobId },
      ...{ 'webhook-timestamp': at, 'webhook-signature': signature },
    };
    const response = await fetch(webhookUrl, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
    if (response.ok)
      await pool.query({ name: 'end-job', text: 'delete from plain_jobs where id = $1', values: [jobId] });
  };

  const app = Fastify({ logger: { level: 'info', stream: { write: () => {} } } });
  app.post('/transactions/mobile', async (request, reply) => {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    const { payload } = await jwtVerify(token, issuerKey, { issuer: issuer.iss, audience: issuer.audience });
    const merchant = claims.parse(payload);
    const { merchantReference, generalCardData, paymentCardData } = tapBody.parse(request.body);
    const sealed = Buffer.from(paymentCardData, 'base64').toString('latin1');
    const { plaintext } = await compactDecrypt(sealed, privateKey);
    const chip = joinTlv(indexTlv(Buffer.from(generalCardData, 'base64')), indexTlv(plaintext));
    const track2 = chip.hex(0x57)!.replace(/F$/, '');
    const [pan = '', rest = ''] = track2.split('D');
    const expiry = rest.slice(0, 4);
    const amountMinor = Number(chip.hex(0x9f02));
    const now = new Date();
    const [id, jobId, tid] = [randomUUID(), randomUUID(), merchant['x-tid'].slice(-8)];
    const correlationId = `${request.headers['x-correlation-id'] ?? ''}`;
    const deviceId = `${request.headers['x-device-installation-id'] ?? ''}`;
    const maskedPan = `${pan.slice(0, 6)}******${pan.slice(-4)}`;
    const day = now.toISOString().slice(2, 10).replaceAll('-', '');

    const { stan, rrn } = await inTransaction(async (client) => {
      const values = [
        ...[
          id,
          merchant.sub,
          merchantReference,
          deviceId,
          amountMinor,
          'ZAR',
          day,
          maskedPan,
          seal(pan),
          expiry,
          'Visa',
        ],
        ...[tid, correlationId, JSON.stringify({ amountMinor, at: now })],
      ];
      const { rows } = await client.query({ name: 'insert', text: INSERT, values });
      await client.query({ name: 'insert-event', text: INSERT_EVENT, values: [id, 1, 'Submitted'] });
      await client.query({ name: 'insert-job', text: INSERT_JOB, values: [jobId, id] });
      return rows[0] as { stan: string; rrn: string };
    });

    const response = await exchange(
      authorization(
        {
          ...{ stan, rrn, sentAtMs: now.getTime(), chip },
          localDateTime: now.toISOString().replaceAll(/[-T:]/g, '').slice(0, 14),
          amount: { amountMinor, currency: 'ZAR', currencyNumeric: '710' },
          card: { pan, track2, expiry, panSequence: '001', scheme: 'Visa' },
          terminal: { tid, mid: merchant.sub.padStart(8, '0'), canTakePin: true },
          merchant: { name: merchant.mbn, city: 'Cape Town', country: 'ZA', mcc: merchant.mcc },
        },
        exampleConfig,
      ),
    );
    const isApproved = response.responseCode === '00' && response.amount === String(amountMinor).padStart(12, '0');
    const status = isApproved ? 'Approved' : 'Declined';
    const tags = [{ tag: '91', value: response.switchData?.icc?.issuerAuthenticationData ?? '' }];

    await inTransaction(async (client) => {
      const { responseCode, authorizationCode, settlementDate } = response;
      const values = [id, status, responseCode, authorizationCode, settlementDate, JSON.stringify(tags)];
      await client.query({ name: 'outcome', text: OUTCOME, values });
      await client.query({ name: 'insert-event', text: INSERT_EVENT, values: [id, 2, status] });
    });

    notify(id, jobId, { merchantReference, disposition: status, amount: amountMinor / 100, currency: 'ZAR' }).catch(
      (error) => app.log.error(error),
    );
    reply.header('x-correlation-id', correlationId);
    return {
      onlineAuthorizationResponse: {
        ...{ serviceReference: id, type: status, authorizationCode: response.authorizationCode, tags },
        ...{ amount: amountMinor, currency: 'ZAR', merchantReference, cardScheme: 'Visa', maskedPAN: maskedPan },
        ...{ isoResponseCode: response.responseCode, paymentProviderReference: rrn },
      },
    };
  });
  await app.listen({ port, host: '127.0.0.1' });
}

const settings = JSON.parse(process.env.PLAIN_SETTINGS!) as PlainSettings;
if (cluster.isPrimary) {
  const client = new pg.Client({ connectionString: settings.databaseUrl });
  await client.connect();
  await client.query(SCHEMA);
  await client.end();
  const workers = Array.from({ length: settings.processes }, () => cluster.fork());
  await Promise.all(workers.map((worker) => once(worker, 'listening')));
  console.log('the plain stack is up');
} else await serve(settings);
