import { transmissionDateTime } from '../../../src/kits/processor-kit/field-values.ts';
import type { ResponseIdentity } from '../../../src/payments/ports/store-ports.ts';
import type { Random } from '../../../src/tools/simulator/faults.ts';
import type { Row } from '../memory-rows.ts';

/** Of another message than any of the row. */
const OTHER = { rrn: '606019999999', sent: '0101000000' };

/** The identity of a response to one of the messages of a row: fields of the same message, of another one, or none. */
export function randomIdentity(random: Random, { transaction, superseded, reversals }: Row): ResponseIdentity {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random.next() * choices.length)]!;
  const requests = [transaction, ...superseded];
  const message = pick([...requests, ...reversals]);
  const other = pick([...requests, ...reversals]);
  const sent = pick([message, message, other]).sentAtMs;
  return {
    acquirerId: 1,
    processorId: 1,
    stan: message.stan ?? '',
    tid: transaction.tid ?? '',
    rrn: pick([pick(requests).rrn ?? undefined, OTHER.rrn, undefined]),
    transmissionDateTime: pick([transmissionDateTime(sent ?? 0), OTHER.sent, undefined, undefined]),
  };
}
