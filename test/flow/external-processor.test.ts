import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newProcessor } from '../../src/kits/processor-kit/load-processors.ts';
import { saveProcessor, saveRoute } from '../../src/store/settings/tenants.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { tapwireHere } from '../support/run-here.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

/** Outside the repository: neither its package.json nor its node_modules is found from here. */
let cwd: string;
let installation: Installation;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'tapwire-external-'));
  installation = await startInstallation({ role: 'none' });
});
afterEach(() => expectSoundStates(installation.database));
afterAll(async () => {
  await installation.stop();
  rmSync(cwd, { recursive: true });
});

/** A package as installed from a registry: JavaScript under node_modules, where Node strips no types. */
function shipAsPackage(name: string, folder: string): void {
  const shipped = join(cwd, 'node_modules', name);
  mkdirSync(join(shipped, 'lib'), { recursive: true });
  for (const file of readdirSync(folder).filter((each) => each.endsWith('.ts'))) {
    const javaScript = stripTypeScriptTypes(readFileSync(join(folder, file), 'utf8')).replaceAll(/\.ts';/g, ".js';");
    writeFileSync(join(shipped, 'lib', file.replace('.ts', '.js')), javaScript);
  }
  const manifest = { name, version: '1.0.0', type: 'module', exports: './lib/index.js' };
  writeFileSync(join(shipped, 'package.json'), JSON.stringify(manifest));
}

/** A switch of that type, simulated with its own `simulate`; its port and its ledger. */
async function simulate(type: string, PROCESSORS: string): Promise<{ port: number; ledger: string }> {
  const simulated = new TapwireProcess(['simulate', `${type}=0`], { cwd, environment: { PROCESSORS } });
  const [, port] = await simulated.printed(/listens on \S+:(\d+)/);
  const [, ledger] = await simulated.printed(/ledger: (\S+)\n/);
  return { port: Number(port), ledger: ledger! };
}

test.each([
  ['a folder, named with its path', 'north-bank', 'plug-ins/north-bank', () => {}],
  [
    'a package, named with its name',
    'south-bank',
    '@south/switch',
    () => shipAsPackage('@south/switch', join(cwd, 'plug-ins/south-bank')),
  ],
])('%s in PROCESSORS, becomes a processor with configuration alone', async (_what, type, name, ship) => {
  newProcessor(type, join(cwd, 'plug-ins'));
  ship();
  const { port, ledger } = await simulate(type, name);
  const config = { addresses: [{ host: '127.0.0.1', port }] };
  await saveProcessor(installation.database, { acquirerId: 1, id: 2, type, config });
  await saveRoute(installation.database, { acquirerId: 1, id: 200, processorId: 2, priority: 0 });

  const gateway = await GatewayProcess.start(installation, 'all', { PROCESSORS: name }, cwd);
  const phone = new Phone(installation.profile('coffee', gateway.url));
  await eventually(async () => {
    const { switches } = (await (await fetch(`${gateway.url}/readyz`)).json()) as { switches: object };
    expect(JSON.stringify(switches)).toMatch(/ready.*ready/);
  });
  const approved = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' }));
  const declined = outcomeOf(await phone.tap({ amount: '10.51', currency: 'ZAR', card: 'mastercard' }));
  expect(approved).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
  expect(declined).toMatchObject({ type: 'Declined', isoResponseCode: '51' });
  expect(await (await fetch(ledger)).json()).toMatchObject({
    entries: [{ processor: type, amountMinor: 1_000, state: 'approved' }],
  });
  expect((await gateway.kill('SIGTERM')).exitCode).toBe(0);
});

test.each([
  'all',
  'api',
])('a missing or broken plug-in stops the start of role %s, and is named with the reason', async (role) => {
  writeFileSync(join(cwd, 'broken.ts'), 'export default { type: "broken" };');
  for (const [PROCESSORS, reason] of [
    ['@none/such', '@none/such: found neither as a folder nor as a package'],
    ['broken.ts', `${join(cwd, 'broken.ts')}: not made by defineProcessor`],
  ] as const) {
    const environment = installation.environment({ PROCESSORS });
    const { exitCode, stderr } = await tapwireHere(['start', '--role', role], environment, cwd);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`tapwire: ${reason}`);
    expect(stderr).not.toContain('    at ');
  }
});

test('a stored processor of an unknown type is ignored, and the others work', async () => {
  const gateway = await GatewayProcess.start(installation, 'all', {}, cwd);
  await eventually(async () => {
    const { switches } = (await (await fetch(`${gateway.url}/readyz`)).json()) as { switches: object };
    expect(switches).toMatchObject({ '1 1': 'ready', '1 2': 'unusable' });
  });
  expect((await gateway.kill('SIGTERM')).exitCode).toBe(0);
});
