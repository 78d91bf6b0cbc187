import type { RecordedKind } from '#schemas/admin-audit';
import type { ConsoleAct, ConsoleRefund } from '#schemas/console';
import { actorOf, type PortalSession } from '../auth/portal/portal-session.ts';
import { AuthError, NotFound, RequestRejected } from '../basics/errors.ts';
import type { JobTable } from '../jobs/job-table.ts';
import type { ProcessCommand } from '../observe/figures.ts';
import type { Transaction, TransactionKey } from '../payments/model/transaction.ts';
import type { Reviewer, TransactionStore } from '../payments/ports/store-ports.ts';
import type { Reviews } from '../payments/review/reviews.ts';
import type { UseCases } from '../payments/use-cases.ts';
import { cancelLink } from '../store/links/commit-links.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../store/settings/admin-commit.ts';
import type { EventReplayer } from '../webhooks/ports.ts';
import { acquirerOfDeadLetter, bringForwardReversal, integratorOfEvent } from './store/console-acts.ts';
import { acquirersInSight } from './store/console-names.ts';
import { askProcess } from './store/stored-figures.ts';
import type { TransactionLists } from './store/transaction-list.ts';
import { findWebhooks, type UndeliveredEvent } from './store/work-lists.ts';
import { withoutCards } from './transaction-browser.ts';

export interface ActParts {
  readonly database: Database;
  readonly jobs: JobTable;
  readonly webhooks: EventReplayer;
  readonly reviews: Reviews;
  readonly lists: TransactionLists;
  readonly transactions: Pick<TransactionStore, 'find'>;
  readonly useCases: UseCases;
}

/** The person who acts. */
export type Actor = Pick<PortalSession, 'user' | 'acquirerId'>;

/** The object of an act, in the terms of the admin events. */
interface Subject {
  /** The owner: an acquirer, or 0 for the installation. */
  readonly acquirerId: number;
  readonly kind: RecordedKind;
  readonly id: string;
}

/**
 * The acts of operators at the console. An act first looks up its object, which must be visible to the actor. It is
 * then recorded, then performed, so the record exists even if the act fails half-way. A resolution of a transaction
 * and the cancellation of a link are recorded in their own commit.
 */
export class ConsoleActs {
  readonly #parts: ActParts;

  constructor(parts: ActParts) {
    this.#parts = parts;
  }

  /**
   * @throws NotFound for an object that does not exist or belongs to another acquirer, AuthError FORBIDDEN for acts
   * that only users of the installation can do
   */
  async do(actor: Actor, act: ConsoleAct): Promise<void> {
    switch (act.act) {
      case 'replayWebhook':
        return this.#replayWebhook(actor, act);
      case 'replayWebhooks':
        return this.#replayWebhooks(actor, act);
      case 'redriveDeadLetter':
        return this.#redrive(actor, act);
      case 'retryReversal':
        return this.#retryReversal(actor, act);
      case 'voidSale':
        return this.#voidSale(actor, act);
      case 'cancelLink':
        return this.#cancelLink(actor, act);
      case 'resolveReview':
        checkSight(actor, act.acquirerId);
        return this.#parts.reviews.resolve(act, reviewerOf(actor));
      case 'confirmResolution':
      case 'rejectResolution':
        return this.#decideProposal(actor, act);
      case 'signOff':
      case 'signOn':
        return this.#switchLine(actor, act);
      case 'drain':
      case 'resume':
        return this.#drain(actor, act);
    }
  }

  /**
   * With the rules of the API. The reference comes from the form, so a form that is sent again is the same refund and
   * returns its outcome.
   *
   * @returns the refund as committed, with its disposition
   * @throws NotFound, and what `refund` throws
   */
  async refundSale(actor: Actor, asked: ConsoleRefund, correlationId: string): Promise<Transaction> {
    const { amount, formId, reason } = asked;
    const sale = await this.#findSale(actor, asked);
    const subject = { acquirerId: sale.acquirerId, kind: 'transactions', id: sale.id } as const;
    const refundReference = `console-${formId}`;
    await this.#record(actor, 'refundSale', subject, { amount, refundReference, reason });
    return this.#parts.useCases.refunds.refund(sale, { amount, refundReference, correlationId });
  }

  async #findSale(actor: Actor, { acquirerId, id }: TransactionKey): Promise<Transaction> {
    checkSight(actor, acquirerId);
    const sale = await this.#parts.transactions.find({ acquirerId, id });
    if (!sale) throw new NotFound();
    return sale;
  }

  async #replayWebhook(actor: Actor, { act, acquirerId, id }: Extract<ConsoleAct, { act: 'replayWebhook' }>) {
    const { database, webhooks } = this.#parts;
    checkSight(actor, acquirerId);
    const integratorId = await integratorOfEvent(database, acquirerId, id);
    if (integratorId === undefined) throw new NotFound();
    await this.#record(actor, act, { acquirerId, kind: 'webhook event', id });
    const replay = await webhooks.replay({ acquirerId, integratorId }, id);
    if (replay === 'exhausted') throw new RequestRejected('TOO_MANY_DELIVERIES');
  }

  /** @throws RequestRejected (TOO_MANY_EVENTS) if the filter has more than one act may replay */
  async #replayWebhooks(actor: Actor, { act, filter }: Extract<ConsoleAct, { act: 'replayWebhooks' }>) {
    const { database, lists, webhooks } = this.#parts;
    const acquirers = actor.acquirerId === undefined ? await acquirersInSight(database) : [actor.acquirerId];
    const events = await findWebhooks(lists.of(actor.acquirerId), filter, acquirers, MAX_REPLAYED + 1);
    if (events.length > MAX_REPLAYED) throw new RequestRejected('TOO_MANY_EVENTS');
    for (const ofOwner of Map.groupBy(events, ownerOf).values()) {
      const { acquirerId, integratorId } = ofOwner[0]!;
      const what = { filter: withoutCards(filter), integratorId, events: ofOwner.length };
      await this.#record(actor, act, { acquirerId, kind: 'webhook event', id: 'several' }, what);
      const ids = ofOwner.map(({ id }) => id);
      await webhooks.replayUndelivered({ acquirerId, integratorId }, ids);
    }
  }

  async #redrive(actor: Actor, { act, id }: Extract<ConsoleAct, { act: 'redriveDeadLetter' }>) {
    const { database, jobs } = this.#parts;
    const owner = await acquirerOfDeadLetter(database, id);
    if (owner === undefined) throw new NotFound();
    // A job that names no acquirer belongs to the installation.
    checkSight(actor, owner ?? INSTALLATION);
    await this.#record(actor, act, { acquirerId: owner ?? INSTALLATION, kind: 'dead letter', id });
    await jobs.redrive({ ids: [id] });
  }

  async #retryReversal(actor: Actor, { act, acquirerId, id }: Extract<ConsoleAct, { act: 'retryReversal' }>) {
    const { database, jobs } = this.#parts;
    checkSight(actor, acquirerId);
    await bringForwardReversal(database, jobs, { acquirerId, id }, () =>
      this.#record(actor, act, { acquirerId, kind: 'reversal', id }),
    );
  }

  /** With the rules of the API: of two voids of a sale, one is refused. */
  async #voidSale(actor: Actor, { act, acquirerId, id }: Extract<ConsoleAct, { act: 'voidSale' }>) {
    const sale = await this.#findSale(actor, { acquirerId, id });
    await this.#record(actor, act, { acquirerId, kind: 'transactions', id });
    await this.#parts.useCases.voids.start(sale);
  }

  /** Recorded in the commit of the cancellation: a link that a tap holds leaves no record. */
  async #cancelLink(
    actor: Actor,
    { act, acquirerId, id, formId, reason }: Extract<ConsoleAct, { act: 'cancelLink' }>,
  ): Promise<void> {
    checkSight(actor, acquirerId);
    await inAdminCommit(this.#parts.database, acquirerId, async (client) => {
      if ((await cancelLink(client, { acquirerId, id }, formId)) === 'repeated') return;
      const change = { acquirerId, actor: actorOf(actor) };
      await recordChange(client, change, {
        action: 'act',
        kind: 'link',
        id,
        before: null,
        after: { did: act, reason },
      });
    });
  }

  #decideProposal(
    actor: Actor,
    { act, acquirerId, id }: Extract<ConsoleAct, { act: 'confirmResolution' | 'rejectResolution' }>,
  ) {
    checkSight(actor, acquirerId);
    const verdict = act === 'confirmResolution' ? 'confirm' : 'reject';
    return this.#parts.reviews.decide({ acquirerId, resolutionId: id }, verdict, reviewerOf(actor));
  }

  async #switchLine(actor: Actor, act: Extract<ConsoleAct, { act: 'signOff' | 'signOn' }>) {
    const { acquirerId, processorId, line, processId } = act;
    checkSight(actor, acquirerId);
    // The name of a connection begins with its acquirer and processor, so a name of another acquirer is refused.
    if (!line.startsWith(`${acquirerId}-${processorId}-`)) throw new NotFound();
    await this.#record(actor, act.act, { acquirerId, kind: 'line', id: line });
    await this.#ask(processId, { do: act.act, name: `${acquirerId} ${processorId}`, line });
  }

  async #drain(actor: Actor, { act, processId }: Extract<ConsoleAct, { act: 'drain' | 'resume' }>) {
    if (actor.acquirerId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
    await this.#record(actor, act, { acquirerId: INSTALLATION, kind: 'process', id: processId });
    await this.#ask(processId, { do: act });
  }

  async #ask(processId: string, command: ProcessCommand): Promise<void> {
    if (!(await askProcess(this.#parts.database, processId, command))) throw new NotFound();
  }

  #record(
    actor: Actor,
    did: ConsoleAct['act'] | 'refundSale',
    { acquirerId, kind, id }: Subject,
    what: object = {},
  ): Promise<void> {
    const change = { acquirerId, actor: actorOf(actor) };
    return inAdminCommit(this.#parts.database, acquirerId, (client) =>
      recordChange(client, change, { action: 'act', kind, id, before: null, after: { did, ...what } }),
    );
  }
}

/** Events of one act: their jobs are one insert for each integrator, and a person can repeat the act. */
const MAX_REPLAYED = 1_000;

const ownerOf = ({ acquirerId, integratorId }: UndeliveredEvent) => `${acquirerId} ${integratorId}`;

function reviewerOf(actor: Actor): Reviewer {
  const { id: userId, role, owner, provider } = actor.user;
  const grant = provider ? { issuer: provider.issuer, role, acquirerId: owner.acquirerId } : null;
  return { name: actorOf(actor), userId, grant };
}

function checkSight({ acquirerId: own }: Actor, acquirerId: number): void {
  if (own !== undefined && own !== acquirerId) throw new NotFound();
}
