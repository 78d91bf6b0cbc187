import { startGateway } from '../main.ts';
import { createLog, type Log } from '../observe/log.ts';
import { type Config, readConfig } from '../start/config.ts';
import { type PreparedDatabase, prepareDatabase } from '../start/open-stores.ts';
import { chooseCount, openGroup } from '../start/processes/open-group.ts';
import { readOptions, text } from './arguments.ts';
import { STOP_SIGNALS, untilAskedToStop } from './command-end.ts';
import { createDemoExamples } from './demo/demo-examples.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire start [--role all|api|worker] [--processes auto|NUMBER]

  --role       what this process does (TAPWIRE_ROLE)
  --processes  how many processes share the port (TAPWIRE_PROCESSES)

  All other settings are environment variables: tapwire config --example`;

/** The number of the primary in the log; those of its processes begin with 1. */
const PRIMARY = 0;

/**
 * `tapwire start [--role all|api|worker] [--processes auto|NUMBER]`: starts the gateway alone, configured by the
 * environment.
 */
export async function run(args: string[]): Promise<void> {
  const values = readOptions(args, { role: text, processes: text });
  const given = {
    ...(values.role !== undefined && { TAPWIRE_ROLE: values.role }),
    ...(values.processes !== undefined && { TAPWIRE_PROCESSES: values.processes }),
  };
  const config = readConfig({ ...process.env, ...given });
  const prepared = await prepareDatabase(config);
  try {
    const count = await chooseCount(config, prepared, createLog(config.LOG_LEVEL));
    if (count === 1) await runAlone(config, prepared, createLog(config.LOG_LEVEL));
    else
      await runGroup(config, prepared, {
        count,
        environment: given,
        log: createLog(config.LOG_LEVEL, 'tapwire', PRIMARY),
      });
  } finally {
    await prepared.stop();
  }
}

async function runAlone(config: Config, prepared: PreparedDatabase, log: Log): Promise<void> {
  const gateway = await startGateway(config, prepared, log, { examplesOf: createDemoExamples });
  await stopping(log, untilAskedToStop(), () => gateway.stop());
}

/** @throws StartError if a process cannot start, or its successors end again and again */
async function runGroup(
  config: Config,
  prepared: PreparedDatabase,
  {
    count,
    environment,
    log,
  }: {
    readonly count: number;
    readonly environment: NodeJS.ProcessEnv;
    readonly log: Log;
  },
) {
  const replacesOnHangup = !process.stdin.isTTY; // at a terminal, SIGHUP means that it was closed
  const asked = untilAskedToStop(replacesOnHangup ? STOP_SIGNALS.filter((signal) => signal !== 'SIGHUP') : undefined);
  const group = await openGroup(config, prepared, { count, environment, log });
  process.once('exit', () => group.kill()); // after a second signal; otherwise none is left
  const start = group.start();
  const signal = await Promise.race([start.then(() => undefined), asked]);
  if (signal === undefined) {
    log.info({ url: await start, processes: count }, 'all processes are up');
    if (replacesOnHangup) process.on('SIGHUP', () => void replace(log, () => group.replaceAll()));
  } else start.catch(() => {});
  try {
    await stopping(log, Promise.race([asked, group.broken]), () => group.stop());
  } catch (fault) {
    await group.stop();
    throw fault;
  }
}

async function replace(log: Log, replaceAll: () => Promise<void>): Promise<void> {
  log.info('replacing the processes one by one');
  await replaceAll();
}

async function stopping(log: Log, asked: Promise<string>, stop: () => Promise<void>): Promise<void> {
  const signal = await asked;
  log.info({ signal }, 'stopping, taps in flight receive their responses first');
  const askedAtMs = performance.now();
  await stop();
  log.info({ tookMs: Math.round(performance.now() - askedAtMs) }, 'stopped');
}

const MIGRATE_USAGE =
  'usage: tapwire migrate        migrate the database of DATABASE_URL, or the embedded one, and exit';

/** `tapwire migrate`: for deployments that migrate before they start. */
async function migrateDatabase(): Promise<void> {
  const prepared = await prepareDatabase(readConfig(process.env));
  await prepared.stop();
  console.log('The database is up to date.');
}

export const migrate = { USAGE: MIGRATE_USAGE, run: migrateDatabase };
