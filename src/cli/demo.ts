import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { type PreparedDatabase, prepareDatabase, startGateway } from '../main.ts';
import { createLog } from '../ops/log.ts';
import type { Profile } from '../phone/profile.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import { type Simulator, startSimulator } from '../simulator/start-simulator.ts';
import { type DemoSwitch, installDemo } from './demo-installation.ts';
import { demoHsmKeysPath, demoSwitchConfig } from './demo-keys.ts';
import { submitDemoTaps } from './demo-taps.ts';
import { untilAskedToStop } from './until-asked-to-stop.ts';

const SWITCH_TYPE = 'type-1';

/**
 * `tapwire demo [--stay]`: everything on one machine, in one process: Postgres, a simulated switch, the gateway, a phone.
 * Exit code 1 when a tap ends otherwise than it should.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { stay: { type: 'boolean', default: false } } });
  const hsmKeys = demoHsmKeysPath(process.env.TAPWIRE_DATA ?? '.tapwire');
  const settings = { LOG_LEVEL: 'warn', HSM_KEYS_FILE: hsmKeys, ...process.env };
  const config = readConfig({ ...settings, PORT: String(await choosePort(process.env.PORT)) });
  mkdirSync(config.TAPWIRE_DATA, { recursive: true });
  const prepared = await prepareDatabase(config);
  try {
    return await demonstrate(config, prepared, values.stay);
  } finally {
    await prepared.stop();
  }
}

async function demonstrate(config: Config, prepared: PreparedDatabase, isToStay: boolean): Promise<number> {
  const stopping = untilAskedToStop();
  const { simulator, demoSwitch } = await startSwitch();
  try {
    const url = `http://${config.HOST}:${config.PORT}`;
    const profile = await installDemo(prepared.database, config.TAPWIRE_DATA, url, demoSwitch);
    const gateway = await startGateway(config, prepared, createLog(config.LOG_LEVEL));
    try {
      introduce(profile, demoSwitch, simulator);
      const isAsExpected = await submitDemoTaps(profile);
      if (isToStay) {
        console.log(
          '\nTapwire stays up. Try: npm run -s tapwire -- tap --amount 10.00 --currency ZAR        (Ctrl-C stops it)',
        );
        await stopping;
        console.log('\nstopping ...');
      }
      return isAsExpected ? 0 : 1;
    } finally {
      await gateway.stop();
    }
  } finally {
    await simulator.close();
  }
}

async function startSwitch(): Promise<{ simulator: Simulator; demoSwitch: DemoSwitch }> {
  const processor = (await loadProcessors()).get(SWITCH_TYPE)!;
  const simulator = await startSimulator({
    processors: [{ processor, config: demoSwitchConfig(processor), port: 0 }],
    ledgerPort: 0,
  });
  return { simulator, demoSwitch: { processor, host: '127.0.0.1', port: simulator.ports[0]! } };
}

function introduce(
  { url, apiKey, login, merchant, issuer }: Profile,
  { processor, host, port }: DemoSwitch,
  { ledgerPort }: Simulator,
): void {
  console.log(`Tapwire is up.

  gateway    ${url}    health ${url}/readyz
  switch     ${host}:${port}  ${processor.name}, simulated    ledger http://127.0.0.1:${ledgerPort}/ledger
  api key    ${apiKey}
  login      ${login.username}  ${login.password}
  merchant   ${merchant.id}  ${merchant.name}, terminal ${merchant.xTid}
  issuer     ${issuer.iss}  kid ${issuer.kid}  (${issuer.algorithm}; signs merchant JWTs)
${issuer.privateKey.trim().replace(/^/gm, '             ')}
`);
}

/** PORT as given; without it 8080, or a free one when another installation has that already. */
async function choosePort(wanted: string | undefined): Promise<number | string> {
  if (wanted !== undefined && wanted !== '') return wanted;
  return (await canListen(8080)) || canListen(0);
}

function canListen(port: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(0));
    probe.listen(port, '127.0.0.1', () => {
      const { port: free } = probe.address() as { port: number };
      probe.close(() => resolve(free));
    });
  });
}
