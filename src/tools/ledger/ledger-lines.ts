import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';

/** The properties of an approved authorization that the check needs. */
const ledgerLine = z.object({
  processor: z.string(),
  key: z.string(),
  kind: z.enum(['sale', 'refund']),
  stan: z.string(),
  rrn: z.string(),
  tid: z.string(),
  currencyNumeric: z.string(),
  amountMinor: z.number(),
  approvedMinor: z.number(),
  approvedAtMs: z.number(),
  state: z.enum(['approved', 'reversed', 'unbooked']),
  /** For a switch that may report something false: what it reported (see src/tools/simulator/ledger.ts). */
  said: z
    .object({
      received: z.number(),
      approvals: z.number(),
      approvedAtMs: z.number().optional(),
      declines: z.number(),
      acknowledgedAtMs: z.number().optional(),
      refusedReversals: z.number(),
    })
    .optional(),
});

export type LedgerLine = z.infer<typeof ledgerLine>;

/** The entries of several ledgers, one after the other. */
export async function* readLedgers(urls: readonly string[]): AsyncGenerator<LedgerLine> {
  for (const url of urls) yield* readLedger(url);
}

/**
 * The entries of a simulated switch's ledger, streamed one by one, because a million of them do not fit into a
 * string.
 *
 * @param url of the ledger, `http://127.0.0.1:9000/ledger`
 * @throws StartError BAD_CONFIG when the URL serves no ledger, or the ledger is truncated
 */
export async function* readLedger(url: string): AsyncGenerator<LedgerLine> {
  const fault = (cause: unknown) => new StartError('BAD_CONFIG', `${url} does not serve a complete ledger.`, { cause });
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/entries`);
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    for await (const line of createInterface({ input: Readable.fromWeb(response.body) })) {
      if (line !== '') yield ledgerLine.parse(JSON.parse(line));
    }
  } catch (cause) {
    throw fault(cause);
  }
}
