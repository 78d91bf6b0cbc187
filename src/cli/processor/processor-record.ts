import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { findRecorded } from '../../store/transactions/attempt-messages.ts';
import { onDatabase } from '../administration.ts';
import { idOf, text } from '../output.ts';

const DEFAULT_LIMIT = 10_000;
/** What `tapwire simulate --from` reads. */
const MOST = 200_000;
const DAY_MS = 86_400_000;

/**
 * `tapwire processor record`: the payments and refunds of a processor with their responses, one JSON object per line,
 * oldest first. The messages are stored masked (`MESSAGES_KEPT`), so the lines contain no card data.
 */
export async function run(args: string[]): Promise<number> {
  const options = { acquirer: text, since: text, until: text, limit: { ...text, default: String(DEFAULT_LIMIT) } };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const limit = Number(values.limit);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MOST))
    throw new StartError('BAD_CONFIG', `--limit: 1 to ${MOST}`);
  const asked = {
    acquirerId: idOf(values.acquirer, '--acquirer'),
    processorId: idOf(positionals[0], 'PROCESSOR'),
    since: timeOf(values.since, '--since') ?? new Date(Date.now() - DAY_MS),
    until: timeOf(values.until, '--until') ?? new Date(),
    limit,
  };
  const found = await onDatabase((database) => findRecorded(database, asked));
  for (const { type, sentAt, tookMs, outcome, request, response } of found) {
    const came = response && toHex(response);
    console.log(JSON.stringify({ type, sentAt, tookMs, outcome, request: toHex(request), response: came }));
  }
  return 0;
}

function timeOf(given: string | undefined, flag: string): Date | undefined {
  if (given === undefined) return undefined;
  const time = new Date(given);
  if (!Number.isNaN(time.getTime()) && /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(given)) return time;
  throw new StartError('BAD_CONFIG', `${flag} ${given}: expected a time such as 2026-11-20T10:00:00Z`);
}
