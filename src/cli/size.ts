import { StartError } from '../basics/errors.ts';
import { readConfig } from '../start/config.ts';
import { bytesText, type Size, sizeOf } from '../tools/size/size-installation.ts';
import { flag, numberIn, readOptions, text } from './arguments.ts';

export const USAGE = `usage: tapwire size --taps 100/s [--peak 4] [--merchants 1000] [--terminals 2] [--json]

Calculates what an installation needs, from what one tap costs ("Sizing" in src/observe/README.md has how that was measured).
The retention times are those of the present settings.

  --taps       average of all days: 100/s, 50000/h or 2000000/d
  --peak       the busiest minute, as a multiple of the average
  --terminals  of one merchant`;

const SECONDS: Readonly<Record<string, number>> = { s: 1, h: 3_600, d: 86_400 };
const RATE = /^(?<count>\d{1,12}(?:\.\d{1,3})?)\/(?<unit>[shd])$/;

export async function run(args: string[]): Promise<void> {
  const options = {
    taps: text,
    peak: { ...text, default: '4' },
    merchants: { ...text, default: '1000' },
    terminals: { ...text, default: '2' },
    json: flag,
  };
  const values = readOptions(args, options);
  const { RETENTION_MESSAGE_DAYS: messageDays, RETENTION_WEBHOOK_DAYS: webhookDays } = readConfig(process.env);
  const size = sizeOf({
    tapsPerSecond: rateOf(values.taps),
    peakFactor: numberIn(values.peak, '--peak', 1, 1_000),
    merchants: numberIn(values.merchants, '--merchants', 0, 1e8),
    terminalsPerMerchant: numberIn(values.terminals, '--terminals', 0, 1e6),
    ...{ messageDays, webhookDays },
  });
  console.log(values.json ? JSON.stringify(size, null, 2) : textOf(size, { messageDays, webhookDays }));
}

function rateOf(given: string | undefined): number {
  const { count, unit } = RATE.exec(given ?? '')?.groups ?? {};
  const rate = Number(count) / SECONDS[unit ?? '']!;
  if (rate > 0 && rate <= 1e6) return rate;
  throw new StartError('BAD_CONFIG', '--taps: a rate such as 100/s, 50000/h or 2000000/d');
}

function textOf(size: Size, { messageDays, webhookDays }: { messageDays: number; webhookDays: number }): string {
  const { bytes, postgres } = size;
  const lines: [name: string, value: string][] = [
    ['Taps per second at the peak', size.peakPerSecond.toFixed(1)],
    ['Processes of the gateway', `${size.processes}, each with a core, half busy at the peak`],
    ['Cores of Postgres', `${size.postgresCores}, half busy at the peak`],
    [
      'Disk: writes that commits wait for',
      `${size.commitsPerSecond} per second, each in 1 to 2 ms; fewer at high rates`,
    ],
    ['Write-ahead log, and its archive', `${bytesText(bytes.walPerDay)} per day`],
    ['Transactions', `${bytesText(bytes.transactionsPerYear)} per year, until they are archived`],
    ['Audit trail', `${bytesText(bytes.trail)} in seven years`],
    ['Messages', `${bytesText(bytes.messages)} in ${messageDays} days`],
    ['Webhooks', `${bytesText(bytes.webhooks)} in ${webhookDays} days`],
    ['All tables after one year', bytesText(bytes.afterOneYear)],
    ['Years to the limit of one table', size.yearsToTableLimit.toFixed(1)],
    ['Memory of Postgres', `${bytesText(postgres.memoryBytes)} or more`],
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return [
    ...lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    '',
    'postgresql.conf',
    `  max_connections = ${size.connections}`,
    `  shared_buffers = ${megabytes(postgres.sharedBuffersBytes)}`,
    `  max_wal_size = ${megabytes(postgres.maxWalBytes)}`,
    '  checkpoint_timeout = 15min',
    '  autovacuum_vacuum_scale_factor = 0.02',
    '  autovacuum_vacuum_insert_scale_factor = 0.02',
  ].join('\n');
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)}MB`;
