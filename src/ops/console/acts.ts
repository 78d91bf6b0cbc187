import type { RecordedKind } from '#schemas/admin-audit';
import type { ConsoleAct } from '#schemas/console';
import type { PortalSession } from '../../auth/portal/portal-session.ts';
import { AuthError, NotFound } from '../../errors.ts';
import type { JobTable } from '../../jobs/job-table.ts';
import { acquirerOfDeadLetter, bringForwardReversal, integratorOfEvent } from '../../store/console/console-acts.ts';
import { askProcess } from '../../store/console/process-figures.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../../store/settings/admin-commit.ts';
import type { EventReplayer } from '../../webhooks/ports.ts';
import type { ProcessCommand } from './figures.ts';

export interface ActParts {
  readonly database: Database;
  readonly jobs: JobTable;
  readonly webhooks: EventReplayer;
}

/** Who acts. */
export type Actor = Pick<PortalSession, 'user' | 'acquirerId'>;

/** What is acted on, by the names of the record of changes. */
interface Subject {
  /** Whose it is: 0 is the installation. */
  readonly acquirerId: number;
  readonly kind: RecordedKind;
  readonly id: string;
}

/**
 * What operators do at the console. Each act is looked up first (what is somebody else's is not there), then recorded, then
 * done: what was done stands in the record even when it failed half-way.
 */
export class ConsoleActs {
  readonly #parts: ActParts;

  constructor(parts: ActParts) {
    this.#parts = parts;
  }

  /** @throws NotFound for what is not there or somebody else's, AuthError FORBIDDEN for what only the installation's own people may do */
  async do(actor: Actor, act: ConsoleAct): Promise<void> {
    switch (act.act) {
      case 'replayWebhook':
        return this.#replayWebhook(actor, act);
      case 'redriveDeadLetter':
        return this.#redrive(actor, act);
      case 'retryReversal':
        return this.#retryReversal(actor, act);
      case 'signOff':
      case 'signOn':
        return this.#switchLine(actor, act);
      case 'drain':
      case 'resume':
        return this.#drain(actor, act);
    }
  }

  async #replayWebhook(actor: Actor, { act, acquirerId, id }: Extract<ConsoleAct, { act: 'replayWebhook' }>) {
    const { database, webhooks } = this.#parts;
    checkSight(actor, acquirerId);
    const integratorId = await integratorOfEvent(database, acquirerId, id);
    if (integratorId === undefined) throw new NotFound();
    await this.#record(actor, act, { acquirerId, kind: 'webhook event', id });
    await webhooks.replay({ acquirerId, integratorId }, id);
  }

  async #redrive(actor: Actor, { act, id }: Extract<ConsoleAct, { act: 'redriveDeadLetter' }>) {
    const { database, jobs } = this.#parts;
    const owner = await acquirerOfDeadLetter(database, id);
    if (owner === undefined) throw new NotFound();
    // One that names no acquirer is the installation's.
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

  async #switchLine(actor: Actor, act: Extract<ConsoleAct, { act: 'signOff' | 'signOn' }>) {
    const { acquirerId, processorId, line, processId } = act;
    checkSight(actor, acquirerId);
    // Lines are named after their acquirer and processor: nobody reaches into another's by its name.
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

  #record({ user }: Actor, did: ConsoleAct['act'], { acquirerId, kind, id }: Subject): Promise<void> {
    const change = { acquirerId, actor: `user ${user.username}`.slice(0, MOST_ACTOR_CHARS) };
    return inAdminCommit(this.#parts.database, acquirerId, (client) =>
      recordChange(client, change, { action: 'act', kind, id, before: null, after: { did } }),
    );
  }
}

/** As the record of changes has room for. */
const MOST_ACTOR_CHARS = 255;

function checkSight({ acquirerId: own }: Actor, acquirerId: number): void {
  if (own !== undefined && own !== acquirerId) throw new NotFound();
}
