import { mkdirSync } from 'node:fs';
import { StartError } from '../../basics/errors.ts';
import { loadProcessors } from '../../kits/processor-kit/load-processors.ts';
import { readConfig } from '../../start/config.ts';
import { openKeyRing } from '../../start/open-key-ring.ts';
import { connectDatabase } from '../../start/open-stores.ts';
import { migrate } from '../../store/postgres/migrate.ts';
import { demoProfilePath } from '../../tools/phone/profile.ts';
import { readOptions, text, texts } from '../arguments.ts';
import {
  DEMO_TYPES,
  type DemoSwitch,
  installDemo,
  installLoadMerchants,
  lockDemo,
  type ReleaseDemo,
} from './demo-installation.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire demo-tenants [--url http://127.0.0.1:8080] [--switch type-1=HOST:PORT ...]

  --url     the gateway's address
  --switch  a processor type and the address of its switch`;

/**
 * `tapwire demo-tenants --url http://api:8080 --switch type-1=HOST:PORT [--switch type-2=HOST:PORT]`:
 * docker-compose.yml runs it before api and worker.
 */
export async function run(args: string[]): Promise<void> {
  const values = readOptions(args, {
    url: { ...text, default: 'http://127.0.0.1:8080' },
    switch: { ...texts, default: ['type-1=127.0.0.1:9101'] },
  });
  const switches = await readSwitches(values.switch);
  const config = readConfig(process.env);
  mkdirSync(config.TAPWIRE_DATA, { recursive: true });
  const prepared = await connectDatabase(config);
  let release: ReleaseDemo | undefined;
  try {
    release = await lockDemo(prepared.url, values.url, config);
    await migrate(prepared.database);
    await openKeyRing(config);
    const profile = await installDemo(prepared.database, config.TAPWIRE_DATA, values.url, switches);
    await installLoadMerchants(prepared.database, config.TAPWIRE_DATA, profile, {});
    console.log(`The demo tenants are ready. Their secrets are in ${demoProfilePath(config.TAPWIRE_DATA)}.`);
  } finally {
    await release?.();
    await prepared.stop();
  }
}

async function readSwitches(words: readonly string[]): Promise<DemoSwitch[]> {
  const types = await loadProcessors();
  return words.map((word) => {
    const [, type, host, port] = /^([^=]+)=(.+):(\d{1,5})$/.exec(word) ?? [];
    const known = DEMO_TYPES.find((each) => each === type);
    if (known === undefined || host === undefined) {
      throw new StartError('BAD_CONFIG', `--switch ${word}: expected TYPE=HOST:PORT with ${DEMO_TYPES.join(' or ')}`);
    }
    return { type: known, processor: types.get(known)!, host, port: Number(port) };
  });
}
