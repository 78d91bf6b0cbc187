import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { CardDataPublicKey } from '../../schemas/card-data.ts';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../src/card/sample-tap.ts';
import { type CardDataSealer, createCardDataSealer } from '../../src/card/seal-card-data.ts';
import { signMerchantToken } from '../../src/phone/phone.ts';
import type { Profile } from '../../src/phone/profile.ts';
import type { Processor } from '../../src/processor-kit/processor.ts';
import type { Database } from '../../src/store/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveMerchants,
  saveProcessor,
  saveRoute,
  saveTerminals,
} from '../../src/store/tenants.ts';

const MERCHANTS = 200;
const USERS_PER_MERCHANT = 5;
const ECHO_BODY_BYTES = 1_024;
const CARDS = Object.keys(SAMPLE_CARDS) as SampleCardName[];

export interface Seeded {
  readonly issuer: Profile['issuer'];
  readonly merchants: readonly Profile['merchant'][];
}

/** 200 merchants, each with its own terminal, of one acquirer with one switch. */
export async function seedInstallation(database: Database, processor: Processor, switchPort: number): Promise<Seeded> {
  await saveAcquirer(database, 1, 'Bench Acquirer');
  await saveIntegrator(database, 1, 1, 'Bench Integrator');
  const merchants = Array.from({ length: MERCHANTS }, (_, index) => {
    const number = String(index + 1).padStart(4, '0');
    return { id: `9${number}`, name: `Merchant ${number}`, mcc: '5411', xTid: `T${number}`, user: 'till' };
  });
  const place = { street: '', city: 'Cape Town', country: 'ZA', currency: 'ZAR', timeZone: 'Africa/Johannesburg' };
  await saveMerchants(
    database,
    merchants.map(({ id, name, mcc }) => ({ acquirerId: 1, id, integratorId: 1, name, mcc, ...place })),
  );
  await saveTerminals(
    database,
    merchants.map(({ id, xTid }) => ({ acquirerId: 1, xTid, tid: `TW0${id}`, mid: `BENCH${id}`, canTakePin: true })),
  );
  const config = {
    ...processor.exampleConfig,
    addresses: [{ host: '127.0.0.1', port: switchPort }],
    profile: { maxInFlight: 2_048 },
  };
  await saveProcessor(database, { acquirerId: 1, id: 1, type: processor.type, config });
  await saveRoute(database, { acquirerId: 1, id: 1, processorId: 1, priority: 1 });
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const issuer = {
    iss: 'https://bench.example',
    kid: 'b1',
    audience: 'tapwire',
    algorithm: 'ES256',
    privateKey,
    publicKey,
  } as const;
  await saveIssuerKey(database, {
    issuer: issuer.iss,
    kid: 'b1',
    acquirerId: 1,
    integratorId: 1,
    algorithms: ['ES256'],
    publicKey,
  });
  return { issuer, merchants };
}

export interface TapSource {
  /** Seals so many taps beforehand: sealing costs as much as opening, and is the phones' work. */
  prepare(count: number): Promise<void>;
  /** A tap that nobody submitted yet, as a whole HTTP request. */
  readonly next: () => Buffer | undefined;
  readonly nextEcho: () => Buffer;
}

interface BenchPhone {
  readonly deviceInstallationId: string;
  readonly token: string;
  readonly sealer: CardDataSealer;
}

/** 1,000 phones with a token and an ephemeral key each, a fresh blob and reference per tap. */
export async function tapSource({ issuer, merchants }: Seeded, port: number): Promise<TapSource> {
  const response = await fetch(`http://127.0.0.1:${port}/.well-known/card-data-keys.json`);
  const [key] = ((await response.json()) as { keys: CardDataPublicKey[] }).keys;
  const phones: BenchPhone[] = [];
  for (const merchant of merchants) {
    for (let user = 0; user < USERS_PER_MERCHANT; user++) {
      const profile = { url: '', apiKey: '', login: { username: '', password: '' }, merchant, issuer };
      const token = await signMerchantToken(profile, { usr: `till-${user}` });
      phones.push({
        deviceInstallationId: randomUUID(),
        token,
        sealer: createCardDataSealer(key!, { keepEphemeral: true }),
      });
    }
  }
  const ready: Buffer[] = [];
  let made = 0;
  const echo = requestOf('/echo', '', JSON.stringify({ text: 'x'.repeat(ECHO_BODY_BYTES - 11) }));
  return {
    async prepare(count) {
      while (ready.length < count) ready.push(buildTap(phones[made % phones.length]!, made++));
      // Now, and not in the middle of a measurement: a pause of the generator would count as the gateway's latency.
      globalThis.gc?.();
    },
    next: () => ready.pop(),
    nextEcho: () => echo,
  };
}

function buildTap({ deviceInstallationId, token, sealer }: BenchPhone, number: number): Buffer {
  const values = sampleTap({
    card: CARDS[number % CARDS.length],
    amountMinor: 1_000 + (number % 500) * 100,
    currencyNumeric: '710',
    at: new Date(),
  });
  const { merchantReference, generalCardData, paymentCardData } = sealer.seal(values, {
    deviceInstallationId,
    merchantReference: randomUUID(),
  });
  const body = JSON.stringify({ merchantReference, generalCardData, paymentCardData });
  const headers = `authorization: Bearer ${token}\r\nx-device-installation-id: ${deviceInstallationId}\r\n`;
  return requestOf('/transactions/mobile', headers, body);
}

function requestOf(path: string, headers: string, body: string): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${head}${headers}\r\n${body}`);
}
