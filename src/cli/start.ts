import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { prepareDatabase } from '../gateway/prepare-database.ts';
import { startGateway } from '../main.ts';
import { createLog } from '../ops/log.ts';
import { createDemoExamples } from './demo/demo-examples.ts';
import { untilAskedToStop } from './until-asked-to-stop.ts';
import { text } from './words.ts';

/** `tapwire start [--role all|api|worker]`: starts the gateway alone, configured by the environment. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { role: text } });
  const config = readConfig({ ...process.env, ...(values.role !== undefined && { TAPWIRE_ROLE: values.role }) });
  const log = createLog(config.LOG_LEVEL);
  const prepared = await prepareDatabase(config);
  try {
    const gateway = await startGateway(config, prepared, log, createDemoExamples);
    const signal = await untilAskedToStop();
    log.info({ signal }, 'stopping, taps in flight are answered first');
    const askedAtMs = performance.now();
    await gateway.stop();
    log.info({ tookMs: Math.round(performance.now() - askedAtMs) }, 'stopped');
  } finally {
    await prepared.stop();
  }
  return 0;
}
