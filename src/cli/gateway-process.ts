import { startGateway } from '../main.ts';
import { createLog } from '../observe/log.ts';
import { readConfig } from '../start/config.ts';
import { DRAINED_WITHIN_MS, Siblings } from '../start/processes/siblings.ts';
import { toCliError } from './command-end.ts';
import { createDemoExamples } from './demo/demo-examples.ts';

/** The program of one gateway process of several behind one port; `ProcessGroup` starts it. */
async function run(siblings: Siblings): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config.LOG_LEVEL, 'tapwire', siblings.number);
  // The primary has prepared the database, and names it in the environment.
  const prepared = { url: config.DATABASE_URL! };
  const gateway = await startGateway(config, prepared, log, { examplesOf: createDemoExamples, siblings });
  siblings.ready(gateway.url);
  await siblings.drained;
  const askedAtMs = performance.now();
  // The primary kills a process that takes longer. One whose primary has ended must not keep its connections to switches.
  setTimeout(() => process.exit(1), DRAINED_WITHIN_MS).unref();
  await gateway.stop();
  await siblings.final();
  log.info({ tookMs: Math.round(performance.now() - askedAtMs) }, 'stopped');
}

const siblings = Siblings.connect();
try {
  await run(siblings);
  process.exit(0);
} catch (error) {
  const fault = toCliError(error);
  if (fault === undefined) console.error(error);
  await siblings.failed(
    fault?.description ?? 'tapwire: A process failed unexpectedly; see above.',
    fault?.exitCode ?? 1,
  );
  process.exit(1);
}
