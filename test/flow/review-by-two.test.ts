import { describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { storedSale } from '../support/refunds.ts';
import { adminEventsOf, REASON, reviewsIn } from '../support/reviews.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';
import { trailOf } from '../support/transactions.ts';

const OWNER = { acquirerId: 1 };
const scene = scriptedInstallation();
/** The provider of sessions that the tests plant; nothing connects to it. */
const SETTINGS = {
  RESOLUTION_NEEDS_TWO: 'true',
  ...{ OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'console', OIDC_ROLES: 'own=admin@1,all=admin' },
};
const { logIn, act, look } = consoleClient(() => scene.installation);
const { tapInReview, resolve } = reviewsIn(scene, { act, look });
const stored = (id: string) => storedSale(scene.installation.database, id);
const adminEvents = (id: string) => adminEventsOf(scene.installation.database, id);

describe('where a second person must confirm', () => {
  async function proposalOf(session: ConsoleSession, id: string) {
    const { resolutions } = (await (await look(session, id)).json()) as {
      resolutions: { id: string; state: string; proposedBy: string }[];
    };
    return resolutions[0]!;
  }
  /** A session of a person whom an identity provider has authenticated. */
  async function logInAtProvider(subject: string, owner: { acquirerId: number } = OWNER): Promise<ConsoleSession> {
    const session = await logIn(owner, 'admin');
    const text = `update console_sessions set issuer = 'https://id.example', subject = $2, username = 'x', role = 'admin'
      where secret_hash = sha256($1::bytea)`;
    await scene.installation.database.query(text, [session.cookie.split('=')[1], subject]);
    return session;
  }
  const decide = (session: ConsoleSession, verdict: 'confirm' | 'reject', id: string) =>
    act(session, { act: `${verdict}Resolution`, ...OWNER, id });

  test('the proposer cannot, another person can, and both are recorded', async () => {
    await scene.installOwn({ settings: SETTINGS });
    const { id } = await tapInReview();
    const [first, second] = [await logIn(OWNER, 'operator'), await logIn({ acquirerId: 0 }, 'admin')];
    expect((await resolve(first, id, 'voided')).status).toBe(204);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    expect((await resolve(second, id, 'approved')).status).toBe(409);
    const proposal = await proposalOf(second, id);
    expect(proposal).toMatchObject({ state: 'proposed', proposedBy: `user ${first.username}` });
    expect((await decide(first, 'confirm', proposal.id)).status).toBe(409);
    expect((await decide(await logIn({ acquirerId: 2 }, 'admin'), 'confirm', proposal.id)).status).toBe(404);
    // The proposer may be this person, with another account.
    const provided = await decide(await logInAtProvider('thandi'), 'confirm', proposal.id);
    expect(await provided.json()).toMatchObject({ status: 409, detail: expect.stringContaining('another directory') });
    const responses = await Promise.all([
      decide(second, 'confirm', proposal.id),
      decide(second, 'confirm', proposal.id),
    ]);
    expect(responses.map(({ status }) => status).sort()[0]).toBe(204);
    expect(responses.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided, needsReview: false });
    expect(await adminEvents(id)).toMatchObject([
      { actor: `user ${first.username}`, after: { did: 'proposeResolution' } },
      {
        actor: `user ${second.username}`,
        after: { did: 'confirmResolution', proposedBy: `user ${first.username}`, reason: REASON },
      },
    ]);
    // A proposal can be rejected, and does not outlive a change of the transaction.
    const other = await tapInReview();
    expect((await resolve(first, other.id, 'approved')).status).toBe(204);
    expect((await decide(second, 'reject', (await proposalOf(first, other.id)).id)).status).toBe(204);
    expect((await resolve(second, other.id, 'voided')).status).toBe(204);
    const outdated = await proposalOf(first, other.id);
    other.repeat.respond();
    await scene.untilReversal(other.id, 'acknowledged', 2);
    expect((await decide(first, 'confirm', outdated.id)).status).toBe(409);
    expect((await decide(first, 'reject', outdated.id)).status).toBe(204);
    // Persons of one provider are two if their subjects are, also when the role of one has changed.
    const third = await tapInReview();
    expect((await resolve(await logInAtProvider('thandi'), third.id, 'approved')).status).toBe(204);
    const { id: open } = await proposalOf(first, third.id);
    const refused = [first, await logInAtProvider('thandi'), await logInAtProvider('thandi', { acquirerId: 0 })];
    for (const session of refused) expect((await decide(session, 'confirm', open)).status).toBe(409);
    expect((await decide(await logInAtProvider('sipho'), 'confirm', open)).status).toBe(204);
  });

  test('a proposal of a person who was deleted or blocked meanwhile is not confirmed, and can be rejected', async () => {
    await scene.installOwn({ settings: SETTINGS });
    const { database } = scene.installation;
    const second = await logIn(OWNER, 'admin');
    for (const end of [
      'delete from users where username = $1',
      'update users set is_blocked = true where username = $1',
    ]) {
      const { id } = await tapInReview();
      const first = await logIn(OWNER, 'operator');
      expect((await resolve(first, id, 'voided')).status).toBe(204);
      await database.query(end, [first.username]);
      const { id: proposal } = await proposalOf(second, id);
      const refused = await decide(second, 'confirm', proposal);
      expect(await refused.json()).toMatchObject({ status: 409, detail: expect.stringContaining('no longer') });
      expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
      expect((await decide(second, 'reject', proposal)).status).toBe(204);
    }
  });

  test('a proposal of a person whose role the settings give no longer is not confirmed', async () => {
    await scene.installOwn({ settings: SETTINGS });
    const second = await logInAtProvider('sipho');
    for (const withdrawal of [
      "proposed_by_role = 'operator'",
      'proposed_by_owner = 2',
      "proposed_by_issuer = 'https://id.example/realms/other'",
      'proposed_by_role = null',
    ]) {
      const { id } = await tapInReview();
      expect((await resolve(await logInAtProvider('thandi'), id, 'voided')).status).toBe(204);
      const { id: proposal } = await proposalOf(second, id);
      // As if the settings had changed after the proposal: its role is one that they do not give.
      const text = `update review_resolutions set ${withdrawal} where id = $1`;
      await scene.installation.database.query(text, [proposal]);
      expect((await decide(second, 'confirm', proposal)).status).toBe(409);
      expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    }
  });

  test('keeps the review if the switch contradicts between proposal and confirmation', async () => {
    await scene.installOwn({ settings: SETTINGS });
    const { id, repeat } = await tapInReview();
    const [one, other] = [await logIn(OWNER, 'operator'), await logIn(OWNER, 'admin')];
    const confirm = async () => {
      const { resolutions } = (await (await look(one, id)).json()) as { resolutions: { id: string }[] };
      return act(other, { act: 'confirmResolution', ...OWNER, id: resolutions[0]!.id });
    };
    expect((await resolve(one, id, 'approved')).status).toBe(204);
    expect((await confirm()).status).toBe(204);
    const again = 'update transactions set needs_review = true, updated_at = clock_timestamp() where id = $1';
    await scene.installation.database.query(again, [id]);
    expect((await resolve(one, id, 'approved')).status).toBe(204);
    repeat.respond(); // acknowledges the reversal
    const { database } = scene.installation;
    await eventually(async () => expect((await trailOf(database, id)).at(-1)).toContain('acknowledged'));
    expect((await confirm()).status).toBe(409);
    expect(await stored(id)).toMatchObject({ disposition: Disposition.Approved, needsReview: true });
  });
});
