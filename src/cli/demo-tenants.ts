import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { StartError } from '../errors.ts';
import { openKeyRing, prepareDatabase } from '../main.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import { demoProfilePath, installDemo } from './demo-installation.ts';

/** `tapwire demo-tenants --url http://api:8080 --switch host:port`: what docker-compose.yml runs before api and worker. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:8080' },
      switch: { type: 'string', default: '127.0.0.1:9101' },
    },
  });
  const [host, port] = values.switch.split(':');
  if (!host || !port || !/^\d+$/.test(port)) throw new StartError('BAD_CONFIG', '--switch: expected HOST:PORT');
  const config = readConfig(process.env);
  mkdirSync(config.TAPWIRE_DATA, { recursive: true });
  const prepared = await prepareDatabase(config);
  try {
    await openKeyRing(config);
    const processor = (await loadProcessors()).get('type-1')!;
    await installDemo(prepared.database, config.TAPWIRE_DATA, values.url, { processor, host, port: Number(port) });
    console.log(`The demo tenants are there; their secrets are in ${demoProfilePath(config.TAPWIRE_DATA)}.`);
  } finally {
    await prepared.stop();
  }
  return 0;
}
