import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { OPERATIONS } from '#schemas/operations';
import type { TransactionView, transactionQuery } from '#schemas/transaction';
import type { Authenticator } from '../../auth/authenticator.ts';
import { Forbidden, invalidValue, NotFound } from '../../basics/errors.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { Tenant, TransactionFilter, TransactionReader } from '../../payments/ports/store-ports.ts';
import type { CardVault } from '../../payments/ports/switch-ports.ts';
import type { Server } from '../server.ts';
import { transactionView } from '../transaction-view.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';

const READERS = ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'] as const;

/**
 * 4.1 and 4.2, and the audit trail of one transaction (extension). A tenant sees only its own transactions. Responses
 *   do not reveal whether others exist.
 */
export function registerTransactionRoutes(
  server: Server,
  authenticator: Authenticator,
  transactions: TransactionReader,
  directory: Directory,
  vault: CardVault,
): void {
  // Runs before any validation: only the headers of an unknown caller are read.
  const identify = async (request: FastifyRequest) => {
    request.owner = await authenticator.owner(request.headers);
  };
  const view = (row: Parameters<typeof transactionView>[0]) =>
    transactionView(row, directory.merchant(row.acquirerId, row.merchantId), vault);

  withZod(server).route({
    ...routeOf(OPERATIONS.listTransactions, 200),
    config: {
      facts: {
        summary: 'List transactions',
        section: '4.1',
        takes: READERS,
        scope: 'transactions:read',
        description:
          'Lists transactions, newest first. Without filters, the list covers all transactions of the credential. The header `Link` (`rel="next"`) leads to the next page.',
      },
    },
    onRequest: identify,
    handler: async (request, reply) => {
      const tenant = narrow(request.owner!, request.query, directory);
      const rows = await transactions.list(tenant, filterOf(request.query));
      const page = withNextPage(request, reply, rows, ({ id }) => id).map(view);
      return reply.type('application/json; charset=utf-8').send(asBytes(page));
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.getTransaction, 200),
    config: {
      facts: {
        summary: 'Get a transaction',
        description: 'Returns one transaction with its attempts and receipt data.',
        section: '4.2',
        takes: READERS,
        scope: 'transactions:read',
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const row = await transactions.findOwned(request.owner!, request.params.id);
      if (!row) throw new NotFound();
      return view(row);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.listEventsOfTransaction, 200),
    config: {
      facts: {
        summary: 'List the events of a transaction',
        section: 'extension',
        takes: READERS,
        scope: 'transactions:read',
        description:
          'Lists the audit trail of the transaction, oldest entry first: status transitions, PIN steps, reversal steps and late responses.',
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const row = await transactions.findOwned(request.owner!, request.params.id);
      if (!row) throw new NotFound();
      const events = await transactions.events(row);
      return events.flatMap(({ attempt, auditEntries }) =>
        auditEntries.map((entry) => ({ attempt, ...entry, ...('reversal' in entry && shownReversal(entry)) })),
      );
    },
  });
}

/** An attempt is stored before it is sent, so its entry does not prove that it was: `unsent` may follow. */
function shownReversal({ reversal }: { readonly reversal: string }): { reversal: string } {
  return { reversal: reversal === 'sent' ? 'sending' : reversal };
}

/**
 * A page has about 120 KB. The compiled serializer joins thousands of pieces. As a string, the page was flattened to
 * count its bytes, again to append it to the headers, and once more to encode it: a page took 10 % more CPU time.
 */
function asBytes(page: readonly TransactionView[]): Buffer {
  return Buffer.from(JSON.stringify(page));
}

/**
 * `integrator` and `merchant` default to the credential's own. Any other tenant is refused, whether it exists or not.
 */
function narrow(
  owner: Tenant,
  { integrator, merchant }: { integrator?: string | undefined; merchant?: string | undefined },
  directory: Directory,
): Tenant {
  const { acquirerId } = owner;
  const integratorId = integrator === undefined ? owner.integratorId : Number(integrator);
  const merchantId = merchant ?? owner.merchantId;
  if (integrator !== undefined) {
    const isOwn = directory.hasIntegrator(acquirerId, integratorId!) && isWithin(owner.integratorId, integratorId);
    if (!isOwn) throw new Forbidden('FORBIDDEN');
  }
  if (merchant !== undefined) {
    const record = directory.merchant(acquirerId, merchant);
    const isOwn = record && isWithin(owner.integratorId, record.integratorId) && isWithin(owner.merchantId, merchant);
    if (!isOwn) throw new Forbidden('FORBIDDEN');
  }
  return { acquirerId, integratorId, merchantId };
}

/** A credential without an id of that kind may access all of them. */
function isWithin<Id>(owned: Id | undefined, asked: Id): boolean {
  return owned === undefined || owned === asked;
}

function filterOf(query: z.output<typeof transactionQuery>): TransactionFilter {
  const { integrator: _integrator, merchant: _merchant, transactionDisposition, ...rest } = query;
  return { ...rest, disposition: transactionDisposition && Disposition[transactionDisposition] };
}

/** Whether a merchantReference is available, for clients that do not track their own references (extension). */
export function registerReferencesCheckRoute(
  server: Server,
  authenticator: Authenticator,
  directory: Pick<Directory, 'merchant'>,
  isFree: (acquirerId: number, merchantId: string, reference: string) => Promise<boolean>,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.checkReference, 200),
    config: {
      facts: {
        summary: 'Check whether a reference is available',
        section: 'extension',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        scope: 'transactions:read',
        description:
          'Reports whether a merchantReference is available. A reference is unavailable while a transaction or an unexpired link or intent uses it. The check reserves nothing.',
      },
    },
    onRequest: async (request) => {
      request.owner = await authenticator.owner(request.headers, 'transactions:read');
    },
    handler: async (request) => {
      const { merchantReference, merchantId } = request.body;
      const owner = request.owner!;
      return { free: await isFree(owner.acquirerId, merchantOf(owner, merchantId, directory), merchantReference) };
    },
  });
}

/**
 * The credential's own merchant, or a merchant of its own that is named. Any other merchant is refused, whether it
 * exists or not.
 */
function merchantOf(owner: Tenant, named: string | undefined, directory: Pick<Directory, 'merchant'>): string {
  const merchantId = named ?? owner.merchantId;
  if (merchantId === undefined)
    throw invalidValue('merchantId', 'is required because the credential covers several merchants');
  const merchant = directory.merchant(owner.acquirerId, merchantId);
  const isOwn =
    (owner.merchantId ?? merchantId) === merchantId &&
    merchant !== undefined &&
    (owner.integratorId ?? merchant.integratorId) === merchant.integratorId;
  if (!isOwn) throw new Forbidden('FORBIDDEN');
  return merchantId;
}
