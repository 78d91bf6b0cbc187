/**
 * What an installation needs for its taps: calculated from what one tap costs, which was measured with a webhook for each
 * outcome (test/bench/README.md). Of a list that is not measured, such as searches of the console, there is no share.
 */
export interface SizeOptions {
  /** Average over all days. */
  readonly tapsPerSecond: number;
  /** The busiest minute, as a multiple of the average. */
  readonly peakFactor: number;
  readonly merchants: number;
  readonly terminalsPerMerchant: number;
  readonly messageDays: number;
  readonly webhookDays: number;
}

/** Measured on 2 virtual cores that other parts shared, at half load, with two processes (2026-11-26). */
const COST_OF_A_TAP = {
  gatewayMicros: 1_700,
  postgresMicros: 920,
  walBytes: 8_000,
  /** Durable commits, each with a write to the disk that is waited for; one for several taps at a higher rate. */
  commits: 2,
  /** Tables with their indexes, with pages as inserts fill them. */
  transactionBytes: 3_305,
  referenceBytes: 208,
  trailBytes: 777,
  messageBytes: 914,
  webhookBytes: 1_630,
} as const;

/** Of a merchant with users and devices, with the indexes. */
const MERCHANT_BYTES = 2_000;
const TERMINAL_BYTES = 300;

const SECONDS_PER_DAY = 86_400;
const DAYS_PER_YEAR = 365;
const AUDIT_YEARS = 7;
/** A process takes half of its core at the peak, so that one may end, and a longer peak finds room. */
const BUSY_SHARE = 0.5;
/** One may end while the other works. */
const MIN_PROCESSES = 2;
const CONNECTIONS_PER_PROCESS = 17;
/** For people, backups and a monitoring exporter. */
const OTHER_CONNECTIONS = 15;
/** The largest table of Postgres with its pages of 8 kB. */
const MAX_TABLE_BYTES = 32 * 2 ** 40;
const GIB = 2 ** 30;
/** Postgres for a small installation; below that the operating system has too little for files. */
const MIN_MEMORY_BYTES = 4 * GIB;
/** Rows of the last hours are read again: repeats, responses, webhooks, the lists of today. */
const HOT_DAYS = 0.25;
/** Checkpoints should begin after the timeout of 15 minutes, not because of the amount of log. */
const CHECKPOINT_SECONDS = 900;

export interface Size {
  readonly peakPerSecond: number;
  readonly processes: number;
  readonly gatewayCores: number;
  readonly postgresCores: number;
  readonly connections: number;
  /** Writes per second that commits wait for, at the peak. */
  readonly commitsPerSecond: number;
  readonly bytes: {
    readonly settings: number;
    readonly transactionsPerYear: number;
    readonly trail: number;
    readonly messages: number;
    readonly webhooks: number;
    readonly walPerDay: number;
    /** After one year, with all tables. */
    readonly afterOneYear: number;
  };
  /** Until a month of transactions, or all references, reach the limit of Postgres for one table. */
  readonly yearsToTableLimit: number;
  readonly postgres: {
    readonly memoryBytes: number;
    readonly sharedBuffersBytes: number;
    readonly maxWalBytes: number;
  };
}

export function sizeOf(options: SizeOptions): Size {
  const { tapsPerSecond, peakFactor, merchants, terminalsPerMerchant, messageDays, webhookDays } = options;
  const cost = COST_OF_A_TAP;
  const peakPerSecond = tapsPerSecond * peakFactor;
  const perDay = tapsPerSecond * SECONDS_PER_DAY;
  const perYear = perDay * DAYS_PER_YEAR;
  const processes = Math.max(MIN_PROCESSES, Math.ceil((peakPerSecond * cost.gatewayMicros) / 1e6 / BUSY_SHARE));
  const transactionsPerYear = perYear * (cost.transactionBytes + cost.referenceBytes);
  const monthBytes = (perYear / 12) * cost.transactionBytes;
  const settings = merchants * (MERCHANT_BYTES + terminalsPerMerchant * TERMINAL_BYTES);
  const messages = perDay * messageDays * cost.messageBytes;
  const webhooks = perDay * webhookDays * cost.webhookBytes;
  const hot = perDay * HOT_DAYS * (cost.transactionBytes + cost.trailBytes + cost.webhookBytes);
  const memoryBytes = Math.max(MIN_MEMORY_BYTES, hot + settings);
  return {
    peakPerSecond,
    processes,
    gatewayCores: processes,
    postgresCores: Math.max(1, Math.ceil((peakPerSecond * cost.postgresMicros) / 1e6 / BUSY_SHARE)),
    connections: processes * CONNECTIONS_PER_PROCESS + OTHER_CONNECTIONS,
    commitsPerSecond: Math.ceil(peakPerSecond * cost.commits),
    bytes: {
      ...{ settings, transactionsPerYear, messages, webhooks },
      trail: perYear * AUDIT_YEARS * cost.trailBytes,
      walPerDay: perDay * cost.walBytes,
      afterOneYear: settings + transactionsPerYear + perYear * cost.trailBytes + messages + webhooks,
    },
    yearsToTableLimit:
      MAX_TABLE_BYTES / (monthBytes > MAX_TABLE_BYTES ? monthBytes * 12 : perYear * cost.referenceBytes),
    postgres: {
      memoryBytes,
      sharedBuffersBytes: memoryBytes / 4,
      maxWalBytes: Math.max(GIB, 2 * peakPerSecond * CHECKPOINT_SECONDS * cost.walBytes),
    },
  };
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** With three digits at most: 1.23 TB. */
export function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${Number((bytes / 1_000 ** at).toPrecision(3))} ${UNITS[at]}`;
}

/** The rates of the table in src/observe/README.md. */
const SHOWN_RATES = [10, 100, 500, 1_000, 2_500, 5_000];

/** A line for each rate, with the retention times and peaks of the defaults. */
export function sizeTable(defaults: Omit<SizeOptions, 'tapsPerSecond'>): string {
  const head = [
    ...[
      'Taps per second',
      'Processes (cores)',
      'Connections',
      'Cores of Postgres',
      'Commits per second',
      'Log per day',
    ],
    ...['Messages', 'Webhooks', 'All tables after a year', 'Years to the limit of one table'],
  ];
  const rows = SHOWN_RATES.map((tapsPerSecond) => {
    const { processes, connections, postgresCores, commitsPerSecond, bytes, yearsToTableLimit } = sizeOf({
      ...defaults,
      tapsPerSecond,
    });
    const { walPerDay, messages, webhooks, afterOneYear } = bytes;
    return [
      ...[tapsPerSecond, processes, connections, postgresCores, commitsPerSecond].map((value) =>
        value.toLocaleString('en'),
      ),
      ...[walPerDay, messages, webhooks, afterOneYear].map(bytesText),
      String(Number(yearsToTableLimit.toPrecision(2))),
    ];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
