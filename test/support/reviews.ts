import type { Database } from '../../src/store/postgres/open-database.ts';
import type { ConsoleSession, consoleClient } from './console-client.ts';
import type { ScriptedInstallation } from './scripted-installation.ts';
import type { ReceivedRequest } from './scripted-switch.ts';
import { untilResponded } from './transactions.ts';

/** After 72 hours the time for attempts of a reversal is over. */
export const LONGER_THAN_REVERSALS_SECONDS = 73 * 3_600;
export const REASON = 'Looked up in the books of the switch, case 4711';

export interface InReview {
  readonly id: string;
  readonly sale: ReceivedRequest;
  readonly repeat: ReceivedRequest;
}

/** Transactions of the first acquirer that need review, and what a person states about them at the console. */
export function reviewsIn(
  scene: ScriptedInstallation,
  { act, look }: Pick<ReturnType<typeof consoleClient>, 'act' | 'look'>,
) {
  /** A tap without a response whose reversal was sent twice, without a response, until its time was over. */
  async function tapInReview(): Promise<InReview> {
    scene.scripted.hold('0200', '0420', '0421');
    const { id, sale } = await scene.tapInVain();
    await untilResponded(scene.installation.database, id);
    await scene.scripted.next('0420');
    await scene.letTimePass(id, LONGER_THAN_REVERSALS_SECONDS);
    const repeat = await scene.scripted.next('0421');
    await scene.untilReversal(id, 'needsReview', 2);
    await scene.untilAtRest(id);
    await scene.letTimePass(id, 60); // its deadline is over
    return { id, sale, repeat };
  }

  const seenAt = async (session: ConsoleSession, id: string) =>
    ((await (await look(session, id)).json()) as { summary: { updatedAt: string } }).summary.updatedAt;

  async function resolve(session: ConsoleSession, id: string, books: string, changes: object = {}) {
    const seen = await seenAt(session, id);
    const finding = { act: 'resolveReview', acquirerId: 1, id, books, reason: REASON, seenAt: seen };
    return act(session, { ...finding, ...changes });
  }

  return { tapInReview, seenAt, resolve };
}

export async function adminEventsOf(database: Database, id: string) {
  const text = `select actor, after from admin_events where kind = 'review' and subject_id = $1 order by id`;
  return (await database.query(text, [id])).rows;
}
