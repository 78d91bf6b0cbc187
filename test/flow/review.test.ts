import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VoidResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState, VoidState } from '../../src/payments/model/transaction.ts';
import { consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { adminEventsOf, LONGER_THAN_REVERSALS_SECONDS, REASON, reviewsIn } from '../support/reviews.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import { trailOf, untilResponded } from '../support/transactions.ts';
import { Backend, untilReported } from '../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const OWNER = { acquirerId: 1 };

let receiver: Receiver;
let secret: string;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());
const scene = scriptedInstallation();
const { logIn, act, look } = consoleClient(() => scene.installation);
const { tapInReview, seenAt, resolve } = reviewsIn(scene, { act, look });

async function install(): Promise<void> {
  await scene.install();
  const backend = await Backend.open(scene.installation);
  await backend.register(receiver.url);
  secret = await backend.issueSecret({ overlapHours: 0, isCompromised: true }); // each test has its own
}

const adminEvents = (id: string) => adminEventsOf(scene.installation.database, id);
const stored = (id: string) => storedSale(scene.installation.database, id);
const reversalsSent = () => scene.scripted.of('0420').length + scene.scripted.of('0421').length;

describe('an uncertain tap in review', () => {
  test('an uncertain tap in review whose reversal is still being sent is not resolved', async () => {
    await install();
    scene.scripted.hold('0200', '0420', '0421');
    const { id } = await scene.tapInVain();
    const session = await logIn(OWNER, 'operator');
    await untilResponded(scene.installation.database, id);
    await scene.untilReversal(id, 'sent', 1);
    const flag = 'update transactions set needs_review = $2 where id = $1';
    await scene.installation.database.query(flag, [id, true]);
    const early = await resolve(session, id, 'voided');
    expect([early.status, await early.text()]).toEqual([409, expect.stringContaining('still being sent')]);
    await scene.scripted.next('0420');
    await scene.letTimePass(id, LONGER_THAN_REVERSALS_SECONDS);
    await scene.scripted.next('0421');
    await scene.untilReversal(id, 'needsReview', 2);
    await scene.untilAtRest(id);
    const under = `update reversal_attempts set deadline_at = now() + interval '1 hour' where transaction_id = $1 and number = 2`;
    await scene.installation.database.query(under, [id]);
    expect((await resolve(session, id, 'voided')).status).toBe(409);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    expect(await adminEvents(id)).toEqual([]);
  });

  test('an uncertain tap in review that the books show as reversed is Voided; a late response sends nothing, and only has it reviewed again', async () => {
    await install();
    const { id, sale, repeat } = await tapInReview();
    const session = await logIn(OWNER, 'operator');
    const before = reversalsSent();
    expect((await resolve(session, id, 'voided')).status).toBe(204);
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Voided,
      needsReview: false,
      reversalState: ReversalState.resolved,
    });
    expect((await trailOf(scene.installation.database, id)).at(-1)).toBe('resolution voided');
    expect(await adminEvents(id)).toMatchObject([
      { actor: `user ${session.username}`, after: { did: 'resolve', books: 'voided', reason: REASON } },
    ]);
    expect(await untilReported(receiver, secret, id, 2)).toMatchObject([
      { type: 'transaction.completed', disposition: 'Indeterminate', sequence: 1 },
      { type: 'transaction.voided', disposition: 'Voided', sequence: 2 },
    ]);
    expect((await resolve(session, id, 'voided')).status).toBe(409);

    repeat.respond();
    await eventually(async () =>
      expect((await trailOf(scene.installation.database, id)).at(-1)).toBe('response acknowledged 2'),
    );
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided, needsReview: false });
    sale.respond();
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Voided,
      reversalState: ReversalState.resolved,
    });
    await scene.untilAtRest(id);
    expect(reversalsSent()).toBe(before);
    expect((await act(session, { act: 'retryReversal', ...OWNER, id })).status).toBe(409);
    expect((await resolve(session, id, 'approved')).status).toBe(409);
    expect((await resolve(session, id, 'adjusted')).status).toBe(204);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided, needsReview: false });
  });

  test('an uncertain tap in review that the books show as approved is Approved, and is reviewed again if its reversal is acknowledged', async () => {
    await install();
    const { id, repeat } = await tapInReview();
    const session = await logIn(OWNER, 'operator');
    expect((await resolve(session, id, 'approved')).status).toBe(204);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Approved, needsReview: false });
    expect(await untilReported(receiver, secret, id, 2)).toMatchObject([
      { sequence: 1 },
      { type: 'transaction.completed', disposition: 'Approved', sequence: 2, amount: 10 },
    ]);
    expect(await voidSale(scene.installation, id)).toMatchObject({ status: 409, body: { errorCode: 212 } });
    repeat.respond();
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Approved,
      reversalState: ReversalState.resolved,
    });
    expect((await resolve(session, id, 'voided')).status).toBe(204);
    expect(await stored(id)).toMatchObject({ disposition: Disposition.Voided, voidState: null });
    expect((await untilReported(receiver, secret, id, 3)).at(-1)).toMatchObject({ disposition: 'Voided', sequence: 3 });
  });

  test('is not resolved from what was seen before a late decline', async () => {
    await install();
    const { id, sale } = await tapInReview();
    const session = await logIn(OWNER, 'operator');
    const seen = await seenAt(session, id);
    sale.respond(withCode('05'));
    const { database } = scene.installation;
    await eventually(async () => expect((await trailOf(database, id)).at(-1)).toContain('late declined'));
    expect((await resolve(session, id, 'approved', { seenAt: seen })).status).toBe(409);
    expect(await stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    expect((await resolve(session, id, 'voided')).status).toBe(204);
  });

  test('an uncertain tap in review that was found approved is not refunded while an acknowledged reversal contradicts that', async () => {
    await install();
    const { id, repeat } = await tapInReview();
    const session = await logIn(OWNER, 'operator');
    expect((await resolve(session, id, 'approved')).status).toBe(204);
    repeat.respond(); // the switch has returned the money
    await eventually(async () => expect(await stored(id)).toMatchObject({ needsReview: true }));
    scene.scripted.hold();
    const refund = () => refundSale(scene.installation, id, { amount: '4.00', refundReference: randomUUID() });
    expect(await refund()).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect(await stored(id)).toMatchObject({ refundedMinor: 0 });
    expect((await resolve(session, id, 'adjusted')).status).toBe(204);
    expect((await refund()).status).toBe(200);
    expect(await stored(id)).toMatchObject({ refundedMinor: 400 });
  });

  test('is resolved once by two who resolve it at once', async () => {
    await install();
    const { id } = await tapInReview();
    const sessions = [await logIn(OWNER, 'operator'), await logIn(OWNER, 'admin')];
    const seen = await seenAt(sessions[0]!, id);
    const responses = await Promise.all(
      sessions.map((session, n) => resolve(session, id, ['voided', 'approved'][n]!, { seenAt: seen })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([204, 409]);
    expect(await adminEvents(id)).toHaveLength(1);
    expect(await untilReported(receiver, secret, id, 2)).toMatchObject([{ sequence: 1 }, { sequence: 2 }]);
  });

  test('is not resolved by a viewer, by another acquirer, from an old page, or with a card number in the reason', async () => {
    await install();
    const { id } = await tapInReview();
    const session = await logIn(OWNER, 'operator');
    const seen = await seenAt(session, id);
    const wanted = { act: 'resolveReview', ...OWNER, id, books: 'voided', reason: REASON, seenAt: seen };
    expect((await act(await logIn(OWNER, 'viewer'), wanted)).status).toBe(403);
    expect((await act(await logIn({ acquirerId: 2 }, 'admin'), wanted)).status).toBe(404);
    expect((await act(await logIn({ acquirerId: 2 }, 'admin'), { ...wanted, acquirerId: 2 })).status).toBe(404);
    expect((await act(session, { ...wanted, seenAt: '2026-01-01T00:00:00.000Z' })).status).toBe(409);
    for (const reason of ['', ' ', 'card 4111 1111 1111 1111', 'x'.repeat(501)])
      expect((await act(session, { ...wanted, reason })).status).toBe(400);
    expect((await act(session, wanted, {})).status).toBe(403);
    expect(await scene.stored(id)).toMatchObject({ needsReview: true });
  });
});

describe('a decline in review', () => {
  test('a decline in review that a person has resolved is not reversed because of a late approval, and is reviewed again', async () => {
    await install();
    scene.scripted.hold('0200', '0420', '0421');
    const tapping = scene.installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
    const sale = await scene.scripted.next('0200');
    sale.respond(withCode('94'));
    const id = outcomeOf(await tapping).serviceReference;
    await untilResponded(scene.installation.database, id);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Declined, needsReview: true });
    expect((await resolve(await logIn(OWNER, 'operator'), id, 'adjusted')).status).toBe(204);
    const before = reversalsSent();
    sale.respond();
    await eventually(async () =>
      expect(await scene.stored(id)).toMatchObject({ needsReview: true, reversalState: ReversalState.resolved }),
    );
    await scene.untilAtRest(id);
    expect(reversalsSent()).toBe(before);
  });
});

describe('a refund in review', () => {
  test('a refund in review that the books show as reversed returns its amount to the sale', async () => {
    await install();
    const sale = await sellApproved(scene.installation, '100.00');
    scene.scripted.hold('0200', '0420', '0421');
    const { body } = await refundSale(scene.installation, sale, { amount: '40.00', refundReference: randomUUID() });
    const request = scene.scripted.of('0200').at(-1)!;
    const id = (body as { serviceReference: string }).serviceReference;
    await untilResponded(scene.installation.database, id);
    await scene.scripted.next('0420');
    await scene.letTimePass(id, LONGER_THAN_REVERSALS_SECONDS);
    await scene.scripted.next('0421');
    await scene.untilReversal(id, 'needsReview', 2);
    await scene.letTimePass(id, 60);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 4_000 });
    const session = await logIn(OWNER, 'operator');
    expect((await resolve(session, id, 'voided')).status).toBe(204);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0, disposition: Disposition.Approved });

    // The switch has refunded nevertheless: nothing more is returned until a person has looked again.
    request.respond();
    await eventually(async () => expect(await stored(id)).toMatchObject({ needsReview: true }));
    scene.scripted.hold();
    const again = () => refundSale(scene.installation, sale, { amount: '100.00', refundReference: randomUUID() });
    expect((await again()).status).toBe(409);
    expect((await voidSale(scene.installation, sale)).status).toBe(409);
    expect(await stored(sale)).toMatchObject({ refundedMinor: 4_000, voidState: null });
    expect((await resolve(session, id, 'adjusted')).status).toBe(204);
    expect((await again()).status).toBe(200);
  });
});

describe('a void in review', () => {
  async function voidInReview() {
    const sale = await sellApproved(scene.installation, '100.00');
    scene.scripted.hold('0420', '0421');
    const { body } = await voidSale(scene.installation, sale);
    const voided = (body as VoidResponse).serviceReference;
    await scene.scripted.next('0420');
    await scene.letTimePass(sale, LONGER_THAN_REVERSALS_SECONDS);
    await scene.scripted.next('0421');
    await scene.untilReversal(sale, 'needsReview', 2);
    await scene.untilAtRest(sale);
    await scene.letTimePass(sale, 60);
    return { sale, voided };
  }

  test('a void in review that the books do not show has failed, and the sale stands', async () => {
    await install();
    const { sale, voided } = await voidInReview();
    const session = await logIn(OWNER, 'operator');
    expect((await resolve(session, voided, 'approved')).status).toBe(409);
    expect((await resolve(session, sale, 'approved')).status).toBe(204);
    expect(await stored(sale)).toMatchObject({
      disposition: Disposition.Approved,
      voidState: null,
      needsReview: false,
    });
    expect(await stored(voided)).toMatchObject({ disposition: Disposition.Declined, needsReview: false });
    expect(await untilReported(receiver, secret, voided, 2)).toMatchObject([
      { type: 'void.needsReview', sequence: 1 },
      { type: 'void.failed', sequence: 2 },
    ]);
  });

  test('a void in review that the switch refused is resolved before the sale can be voided again', async () => {
    await install();
    const sale = await sellApproved(scene.installation, '100.00');
    const started = async () => ((await voidSale(scene.installation, sale)).body as VoidResponse).serviceReference;
    scene.scripted.hold('0420', '0421');
    const refused = await started();
    await scene.respond('0420', '40');
    (await scene.nextRepeat(sale)).respond(withCode('40'));
    await eventually(async () => expect(await stored(refused)).toMatchObject({ needsReview: true }));
    await scene.untilAtRest(sale);
    scene.scripted.hold();
    expect((await voidSale(scene.installation, sale)).status).toBe(409);
    expect((await resolve(await logIn(OWNER, 'operator'), sale, 'approved')).status).toBe(204);
    expect(await stored(refused)).toMatchObject({ disposition: Disposition.Declined, needsReview: false });
    await started();
    await eventually(async () =>
      expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done }),
    );
  });

  test('a void in review that the books show is done, and the sale is Voided', async () => {
    await install();
    const { sale, voided } = await voidInReview();
    expect((await resolve(await logIn(OWNER, 'operator'), sale, 'voided')).status).toBe(204);
    expect(await stored(sale)).toMatchObject({
      disposition: Disposition.Voided,
      voidState: VoidState.done,
      needsReview: false,
    });
    expect(await stored(voided)).toMatchObject({ disposition: Disposition.Approved, needsReview: false });
    expect((await untilReported(receiver, secret, sale, 2)).at(-1)).toMatchObject({ type: 'transaction.voided' });
  });
});

describe('a sale', () => {
  test('is voided once by two who void it at once, and not by a viewer or another acquirer', async () => {
    await install();
    const sale = await sellApproved(scene.installation, '100.00');
    const wanted = { act: 'voidSale', ...OWNER, id: sale };
    const session = await logIn(OWNER, 'operator');
    expect((await act(await logIn(OWNER, 'viewer'), wanted)).status).toBe(403);
    expect((await act(await logIn({ acquirerId: 2 }, 'operator'), wanted)).status).toBe(404);
    const responses = await Promise.all([act(session, wanted), act(session, wanted)]);
    expect(responses.map(({ status }) => status).sort()).toEqual([204, 409]);
    await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided }));
    expect(scene.scripted.of('0420')).toHaveLength(1);
    const voids = 'select from transactions where original_id = $1';
    expect((await scene.installation.database.query(voids, [sale])).rowCount).toBe(1);
  });
});

describe('a resolved transaction that is in review again', () => {
  const flag = (id: string) =>
    scene.installation.database.query(
      'update transactions set needs_review = true, updated_at = clock_timestamp() where id = $1',
      [id],
    );

  test('is resolved by one of two persons at once', async () => {
    await install();
    const { id } = await tapInReview();
    const sessions = [await logIn(OWNER, 'operator'), await logIn(OWNER, 'admin')] as const;
    expect((await resolve(sessions[0], id, 'approved')).status).toBe(204);
    for (let round = 0; round < 3; round++) {
      await flag(id);
      const seen = await seenAt(sessions[0], id);
      const responses = await Promise.all(
        sessions.map((session) => resolve(session, id, 'approved', { reason: REASON, seenAt: seen })),
      );
      expect(responses.map(({ status }) => status).toSorted()).toEqual([204, 409]);
    }
  });
});
