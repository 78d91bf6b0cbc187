import type { CardDataPublicKey } from '../../schemas/card-data.ts';
import { createClient } from '../../schemas/client.ts';
import type { Processor, SwitchConfig } from '../../src/kits/processor-kit/processor.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveProcessor,
  saveRoute,
} from '../../src/store/settings/tenants.ts';
import { Fleet, RequestWriter } from '../../src/tools/load/clients/fleet.ts';
import { LOAD_MERCHANTS, saveLoadMerchants } from '../../src/tools/load/load-profile.ts';
import { findScenario } from '../../src/tools/load/scenarios.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import { createTokenIssuer } from '../support/token-issuer.ts';

const PHONES_PER_MERCHANT = 5;
/** No benchmark takes as long; a soak takes an hour. */
const TOKEN_SECONDS = 4 * 3_600;
/** Of the first acquirer. */
const FIRST_MERCHANT = 90_001;
const ECHO_BODY_BYTES = 1_024;

export interface Seeded {
  readonly issuer: ReturnType<typeof createTokenIssuer>;
  readonly merchants: readonly Profile['merchant'][];
}

export interface Installation {
  readonly processor: Processor;
  readonly switchPort: number;
  readonly keys?: Partial<SwitchConfig> | undefined;
  readonly acquirerId?: number;
}

/** The merchants of load tests, each with its own terminal, of an acquirer with one switch. */
export async function seedInstallation(
  database: Database,
  { processor, switchPort, keys, acquirerId = 1 }: Installation,
): Promise<Seeded> {
  await saveAcquirer(database, acquirerId, `Bench Acquirer ${acquirerId}`);
  await saveIntegrator(database, acquirerId, 1, 'Bench Integrator');
  const firstId = FIRST_MERCHANT + (acquirerId - 1) * LOAD_MERCHANTS;
  const merchants = await saveLoadMerchants(database, { acquirerId, integratorId: 1, firstId });
  const config = {
    ...processor.exampleConfig,
    ...keys,
    addresses: [{ host: '127.0.0.1', port: switchPort }],
    profile: { maxInFlight: 2_048 },
  };
  await saveProcessor(database, { acquirerId, id: 1, type: processor.type, config });
  await saveRoute(database, { acquirerId, id: 1, processorId: 1, priority: 1 });
  const issuer = createTokenIssuer(`https://bench-${acquirerId}.example`);
  const { publicKey } = issuer;
  await saveIssuerKey(database, {
    issuer: issuer.iss,
    kid: issuer.kid,
    acquirerId,
    integratorId: 1,
    algorithms: ['ES256'],
    publicKey,
  });
  return { issuer, merchants };
}

export interface TapSource {
  /** Seals that many taps in advance: sealing costs as much as opening, and is done by phones. */
  prepare(count: number): Promise<void>;
  /** A tap that was not submitted yet, as a complete HTTP request. */
  readonly next: () => Buffer | undefined;
  /** The same, sealed now if none is left. */
  readonly take: () => Buffer;
  readonly nextEcho: () => Buffer;
}

/**
 * The phones of a load test, each with a token and an ephemeral key; a new blob and reference for each tap.
 *
 * @param cardDataKey to which they seal; default: that of the gateway at `port`
 */
export async function tapSource(
  { issuer, merchants }: Seeded,
  port: number,
  scenario: 'approve' | 'entered-pin' = 'approve',
  cardDataKey?: CardDataPublicKey,
): Promise<TapSource> {
  const url = new URL(`http://127.0.0.1:${port}`);
  const recipient = cardDataKey ?? (await createClient({ baseUrl: url.href }).getCardDataKeys()).keys[0]!;
  const phones = LOAD_MERCHANTS * PHONES_PER_MERCHANT;
  const fleet = await Fleet.create({ issuer, merchants, cardDataKey: recipient, phones, seconds: TOKEN_SECONDS });
  const requests = new RequestWriter(url, false);
  const clients = { fleet, requests, backend: undefined };
  const { call } = findScenario(scenario)!;
  const ready: Buffer[] = [];
  let made = 0;
  const make = () => call(clients, scenario, made++).request;
  const echo = requests.write({
    method: 'POST',
    path: '/echo',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'x'.repeat(ECHO_BODY_BYTES - 11) }),
  });
  return {
    async prepare(count) {
      while (ready.length < count) ready.push(make());
      // Now, and not during a measurement: a pause of the generator would count as latency of the gateway.
      globalThis.gc?.();
    },
    next: () => ready.pop(),
    take: () => ready.pop() ?? make(),
    nextEcho: () => echo,
  };
}
