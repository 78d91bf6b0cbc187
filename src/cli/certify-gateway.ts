import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient } from '#schemas/client';
import { StartError } from '../basics/errors.ts';
import { type Processor, profileOf, type SwitchConfig } from '../kits/processor-kit/index.ts';
import { startGateway } from '../main.ts';
import { createLog } from '../observe/log.ts';
import { readConfig } from '../start/config.ts';
import { connectDatabase } from '../start/open-stores.ts';
import { migrate } from '../store/postgres/migrate.ts';
import { saveProcessor, saveRoute } from '../store/settings/tenants.ts';
import { RecordingProxy } from '../tools/certify/recording-proxy.ts';
import type { CertificationParts } from '../tools/certify/run-plan.ts';
import { Phone } from '../tools/phone/phone.ts';
import { demoKeysOf } from '../tools/simulator/demo-hsm.ts';
import { startSimulator } from '../tools/simulator/start-simulator.ts';
import { demoHsmKeysPath, installDemo } from './demo/demo-installation.ts';

/** Of the acquirer and the processor of a scratch installation. */
const ACQUIRER = 1;
const PROCESSOR = 1;
/** A host may limit how often an acquirer connects. */
const SIGNED_ON_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 100;

export type CertificationGateway = Omit<CertificationParts, 'askPerson'> & { close(): Promise<void> };

/**
 * Starts a gateway with an empty database, whose only switch is the host, behind a recording proxy. Everything is
 * removed by `close`. The keys of the configuration are those of `HSM_KEYS_FILE`, or demo keys without it.
 *
 * @param against the host under certification; undefined for the simulated switch
 * @throws StartError BAD_CONFIG if the host accepts no sign-on
 */
export async function openCertificationGateway(
  processor: Processor,
  config: SwitchConfig,
  against: { readonly host: string; readonly port: number } | undefined,
): Promise<CertificationGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-certify-'));
  const closers: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const each of closers.toReversed()) await each();
  };
  try {
    const { deadlineMs, idleEchoMs } = profileOf(processor, config);
    const simulator = against ? undefined : await startSimulator({ processors: [{ processor, config, port: 0 }] });
    if (simulator) closers.push(() => simulator.close());
    const target = against ?? { host: '127.0.0.1', port: simulator!.ports[0]! };
    const proxy = await RecordingProxy.open(processor, config, target, deadlineMs);
    closers.push(() => proxy.close());
    const { phone, client } = await startScratchGateway(folder, processor, config, proxy.port, closers);
    await untilSignedOn(client, target);
    const hostActions = simulator && {
      changeKeys: () => simulator.changeKeys(),
      cutOver: () => simulator.ask('cutOver'),
    };
    return { phone, client, proxy, deadlineMs, idleEchoMs, hostActions, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startScratchGateway(
  folder: string,
  processor: Processor,
  config: SwitchConfig,
  proxyPort: number,
  closers: (() => Promise<unknown>)[],
) {
  const keysFile = demoHsmKeysPath(folder);
  writeFileSync(keysFile, JSON.stringify({ keys: demoKeysOf([config]) }), { mode: 0o600 });
  // Other settings, such as TLS or the rate limits of an installation, are not for a scratch gateway on 127.0.0.1.
  const { HSM_KEYS_FILE = keysFile, LOG_LEVEL = 'error', PROCESSORS } = process.env;
  const settings = readConfig({
    ...{ HSM_KEYS_FILE, LOG_LEVEL, PROCESSORS },
    ...{ TAPWIRE_ENV: 'dev', TAPWIRE_DATA: folder, TAPWIRE_ROLE: 'all' },
    PORT: '0',
    SWITCH_NETWORKS: '*=127.0.0.0/8',
    SWITCH_KEYS: '*=*',
  });
  const prepared = await connectDatabase(settings);
  closers.push(() => prepared.stop());
  await migrate(prepared.database);
  const profile = await installDemo(prepared.database, folder, 'http://127.0.0.1', []);
  const addresses = [{ host: '127.0.0.1', port: proxyPort }];
  const behindProxy = { ...config, addresses, tls: undefined, accept: undefined };
  const ids = { acquirerId: ACQUIRER, id: PROCESSOR };
  await saveProcessor(prepared.database, { ...ids, type: processor.type, config: behindProxy });
  await saveRoute(prepared.database, { acquirerId: ACQUIRER, id: 1, processorId: PROCESSOR, priority: 1 });
  const gateway = await startGateway(settings, prepared, createLog(settings.LOG_LEVEL));
  closers.push(() => gateway.stop());
  const client = createClient({ baseUrl: gateway.url, credentials: { apiKey: profile.apiKey } });
  return { phone: new Phone({ ...profile, url: gateway.url }), client };
}

async function untilSignedOn(client: Client, { host, port }: { host: string; port: number }): Promise<void> {
  const endsAtMs = Date.now() + SIGNED_ON_WITHIN_MS;
  for (;;) {
    const { switches = {} } = await client.getReadiness();
    const states = Object.values(switches);
    if (states.length > 0 && states.every((state) => state === 'ready')) return;
    if (Date.now() > endsAtMs)
      throw new StartError(
        'BAD_CONFIG',
        `${host}:${port} accepted no connection with a sign-on within ${SIGNED_ON_WITHIN_MS / 1_000} s. Check the address, the numbers of the acquirer and the keys.`,
      );
    await delay(ASK_AGAIN_MS);
  }
}
