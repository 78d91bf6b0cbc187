/**
 * `npm run test:failover`: taps at a constant rate through real gateway processes on the cluster of deploy/patroni,
 * while its primary is lost in one way after the other. After each failover, the books of the gateway, the switches and
 * the phones are compared. Exit code 1 if they differ or a tap with a response is missing, 2 if the test could not be
 * run.
 */
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FAULTS } from './faults.ts';
import { PatroniCluster } from './patroni-cluster.ts';
import { Phones } from './phones.ts';
import { lineOf, reportOf } from './report.ts';
import { ensureRequirements } from './requirements.ts';
import { type RoundResult, runRound } from './round.ts';
import { Site } from './site.ts';

/** Each fault three times. */
const FAILOVERS = FAULTS.length * 3;
const PER_SECOND = 200;

const USAGE = `usage: npm run test:failover -- [--failovers N] [--only NAME,NAME] [--rate N] [--json FILE]

  --failovers  how many (${FAILOVERS}); the faults take turns
  --only       some of: ${FAULTS.map(({ name, description }) => `${name} (${description})`).join('\n               ')}
  --rate       taps per second (${PER_SECOND})
  --json       a file for the figures of each failover, second by second`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      failovers: { type: 'string', default: `${FAILOVERS}` },
      only: { type: 'string' },
      rate: { type: 'string', default: `${PER_SECOND}` },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const failovers = Number(values.failovers);
  const perSecond = Number(values.rate);
  const names = values.only?.split(',');
  const faults = FAULTS.filter(({ name }) => names?.includes(name) ?? true);
  const isKnown = names === undefined || faults.length === names.length;
  if (values.help || !isKnown || !(failovers >= 1) || !(perSecond >= 1)) {
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  const missing = ensureRequirements();
  if (missing.length > 0) {
    console.error(`test:failover needs:\n${missing.map((each) => `  ${each}`).join('\n')}`);
    return 2;
  }
  const rounds = await failOver({ failovers, perSecond, faults, json: values.json });
  console.log(reportOf(rounds, perSecond));
  return rounds.every(isSound) && rounds.length === failovers ? 0 : 1;
}

interface Plan {
  readonly failovers: number;
  readonly perSecond: number;
  readonly faults: typeof FAULTS;
  readonly json: string | undefined;
}

async function failOver({ failovers, perSecond, faults, json }: Plan): Promise<RoundResult[]> {
  const rounds: RoundResult[] = [];
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= closeAll(closers));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void close().finally(() => process.exit(2)));
  try {
    const cluster = await PatroniCluster.start();
    closers.push(() => cluster.close());
    const site = await Site.open(cluster.url);
    closers.push(() => site.close());
    const phones = await Phones.create(site.port, site.acquirers);
    const { ledgerUrl } = site.switches;
    for (let count = 0; count < failovers; count++) {
      const fault = faults[count % faults.length]!;
      const round = await runRound({ cluster, site, phones, ledgerUrl, perSecond }, fault).catch((error) => {
        keepEvidence(cluster, site);
        throw error;
      });
      rounds.push(round);
      console.log(`${rounds.length}/${failovers} ${lineOf(round)}`);
      if (json !== undefined) writeFileSync(json, `${JSON.stringify(rounds, null, 1)}\n`);
      if (!isSound(round)) keepEvidence(cluster, site);
    }
  } finally {
    await close(); // the one that a signal began, if there is one: the process ends with this function
  }
  return rounds;
}

/** Each once, the last one first. */
async function closeAll(closers: (() => Promise<void>)[]): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) await close();
}

function isSound({ disagreements, unexpected }: RoundResult): boolean {
  return disagreements.length === 0 && unexpected.length === 0;
}

function keepEvidence(cluster: PatroniCluster, site: Site): void {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-evidence-'));
  copyFileSync(site.log, join(folder, 'gateway.log'));
  writeFileSync(join(folder, 'cluster.log'), cluster.logs());
  console.log(`the logs so far: ${folder}`);
}

process.exitCode = await main();
