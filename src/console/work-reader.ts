import { WORK_PAGE_ROWS, type WorkRequest } from '#schemas/console-work';
import type { PortalSession } from '../auth/portal/portal-session.ts';
import { AuthError } from '../basics/errors.ts';
import { namesInPayload } from '../jobs/queues.ts';
import { type DispositionId, dispositionName } from '../payments/model/disposition.ts';
import { currencyOf, formatAmount } from '../payments/model/money.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { INSTALLATION } from '../store/settings/admin-commit.ts';
import { acquirersInSight } from './store/console-names.ts';
import type { TransactionLists } from './store/transaction-list.ts';
import { readWorkRows, type WorkRow } from './store/work-lists.ts';

/** A page of a list, and where the next one continues; null after the last. */
interface WorkPage {
  readonly rows: readonly WorkRow[];
  readonly next: readonly string[] | null;
}

export type ReadWork = (
  viewer: Pick<PortalSession, 'acquirerId' | 'mayAct'>,
  request: WorkRequest,
) => Promise<WorkPage>;

const shown = (row: WorkRow): WorkRow => row;

/** Of a payload only names of rows are shown, as for dead letters. */
function shownJob({ data, ...row }: WorkRow): WorkRow {
  return { ...row, names: namesInPayload(String(row.queue), data) };
}

/** Amounts as people write them; the state of the payment under its name. */
function shownLink({ amountMinor, currency, disposition, ...row }: WorkRow): WorkRow {
  const amount = `${currency} ${formatAmount(Number(amountMinor), currencyOf(String(currency)))}`;
  return { ...row, amount, disposition: disposition === null ? null : dispositionName(disposition as DispositionId) };
}

const SHOWN: Readonly<Partial<Record<WorkRequest['list'], (row: WorkRow) => WorkRow>>> = {
  jobs: shownJob,
  links: shownLink,
};

/** Lists that name people and their acts, which a viewer does not need. */
const ONLY_WHO_MAY_ACT: readonly WorkRequest['list'][] = ['users', 'audit'];

export function createWorkReader(reports: Database, lists: TransactionLists): ReadWork {
  return async ({ acquirerId, mayAct }, request) => {
    if (!mayAct && ONLY_WHO_MAY_ACT.includes(request.list)) throw new AuthError('FORBIDDEN', 'role');
    const acquirers = acquirerId === undefined ? [INSTALLATION, ...(await acquirersInSight(reports))] : [acquirerId];
    // One more row shows whether another page follows.
    const rows = await readWorkRows(lists.of(acquirerId), request, acquirers, WORK_PAGE_ROWS + 1);
    const page = rows.slice(0, WORK_PAGE_ROWS).map(SHOWN[request.list] ?? shown);
    return { rows: page, next: rows.length > page.length ? page.at(-1)!.position : null };
  };
}
