import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import { DatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { createLink, statusOf } from '../support/links.ts';
import { sellApproved } from '../support/refunds.ts';
import { untilResponded } from '../support/transactions.ts';
import { expectAccessible, expectToFit } from './accessible.ts';
import { launchChromium } from './chromium.ts';
import { consoleVisits, expectHarmless } from './console-visits.ts';

const PAN = '4111111111111111';

let installation: Installation;
let browser: Browser;
beforeAll(async () => {
  [browser, installation] = await Promise.all([launchChromium(), startInstallation()]);
});
afterAll(async () => {
  await browser?.close();
  await installation?.stop();
});

const { visit, addressOf } = consoleVisits(
  () => installation,
  () => browser,
);

describe('the work of operators', () => {
  test('resolves a transaction that needs review with a reason; a double click makes one, an old page none', async () => {
    const { body } = await installation.phone().tap({ amount: '13.00', currency: 'ZAR' });
    const { serviceReference: id } = (body as { onlineAuthorizationResponse: OnlineAuthorization })
      .onlineAuthorizationResponse;
    const uncertain =
      'update transactions set needs_review = true, disposition = 4, approved_minor = null where id = $1';
    await eventually(async () => {
      const { rows } = await installation.database.query('select status from transactions where id = $1', [id]);
      expect(rows).toEqual([{ status: 8 }]);
    });
    await installation.database.query(uncertain, [id]);
    const at = `/ops/transactions/${id}`;
    const [visited, other] = [await visit('operator', at), await visit('admin', at)];
    for (const { page } of [visited, other]) await page.getByText('Review required').waitFor();
    const { page } = visited;
    await expectToFit(page, 'review');
    await page.getByLabel(/^Approved/).check();
    await page.getByLabel('Reason, without card data').fill(`Card ${PAN}`);
    await page.getByRole('button', { name: 'Resolve', exact: true }).click();
    await page.locator('.resolve').getByText('must not contain a card number').waitFor();
    await page.getByLabel('Reason, without card data').fill('Booked, says the acquirer');
    await installation.database.query('update transactions set updated_at = clock_timestamp() where id = $1', [id]);
    await page.locator('.resolve').getByText('has changed meanwhile').waitFor();
    expect(await page.getByLabel('Reason, without card data').inputValue()).toBe('Booked, says the acquirer');
    expect(await page.getByLabel(/^Approved/).isChecked()).toBe(false);
    await page.getByLabel(/^Approved/).check();
    await page.getByRole('button', { name: 'Resolve', exact: true }).dblclick();
    await page.locator('.resolutions').getByText('Booked, says the acquirer').waitFor();
    await page.getByText('Review required').waitFor({ state: 'hidden' });
    await expectToFit(page, 'resolved');
    const { rows } = await installation.database.query(
      'select r.state, t.disposition from review_resolutions r join transactions t on t.id = r.transaction_id where t.id = $1',
      [id],
    );
    expect(rows).toEqual([{ state: 'done', disposition: 0 }]);
    await other.page.locator('.resolutions').getByText('Booked, says the acquirer').waitFor();
    await expectHarmless(visited);
    await expectHarmless(other);
  });

  test('has a second person confirm; without the database nothing is resolved, and the page says why', async () => {
    const line = await DatabaseRelay.open(installation.environment().DATABASE_URL!);
    onTestFinished(() => line.close());
    const gateway = await installation.startGateway({
      ...{ DATABASE_URL: line.url, TAPWIRE_ROLE: 'api', RESOLUTION_NEEDS_TWO: 'true' },
    });
    onTestFinished(() => gateway.stop());
    const { body } = await installation.phone().tap({ amount: '15.00', currency: 'ZAR' });
    const { serviceReference: id } = (body as { onlineAuthorizationResponse: OnlineAuthorization })
      .onlineAuthorizationResponse;
    await untilResponded(installation.database, id);
    await installation.database.query('update transactions set needs_review = true where id = $1', [id]);
    const enterThere = async (role: 'operator' | 'admin') => {
      const { page } = await visit(role, new URL(`/ops/transactions/${id}`, gateway.url).href);
      await page.getByText('Review required').waitFor();
      return page;
    };
    const [first, second] = [await enterThere('operator'), await enterThere('admin')];
    await first.getByLabel(/^Approved/).check();
    await first.getByLabel('Reason, without card data').fill('Booked, says the acquirer');
    await line.goAway();
    await first.getByRole('button', { name: 'Resolve', exact: true }).click();
    await first
      .locator('.resolve')
      .getByText(/unavailable/)
      .waitFor();
    await first
      .getByText(/^The database has been unavailable since/)
      .first()
      .waitFor();
    await line.comeBack();
    // The page reads the transaction again, and keeps what the person typed.
    await first.locator('.outage').first().waitFor({ state: 'hidden' });
    expect(await first.getByLabel('Reason, without card data').inputValue()).toBe('Booked, says the acquirer');
    const proposal = first.getByText('A second person must confirm it.');
    const resolveIt = first.getByRole('button', { name: 'Resolve', exact: true });
    await eventually(async () => {
      // Either can replace the other at any moment. A click on the first word of the proposal does nothing.
      await resolveIt
        .or(proposal)
        .first()
        .click({ position: { x: 5, y: 5 } });
      expect(await proposal.isVisible()).toBe(true);
    });
    await first.getByRole('button', { name: 'Confirm the resolution' }).click();
    await first.locator('#sure-yes').click();
    await first.locator('#sure-said').getByText('Another person must confirm').waitFor();
    await second.getByText('A second person must confirm it.').waitFor();
    await expectToFit(second, 'proposal');
    await second.getByRole('button', { name: 'Confirm the resolution' }).click();
    await second.locator('#sure-yes').dblclick();
    await second.locator('.resolutions').getByText('confirmed by').waitFor();
    const { rows } = await installation.database.query(
      'select state from review_resolutions where transaction_id = $1',
      [id],
    );
    expect(rows).toEqual([{ state: 'done' }]);
  });

  test('voids a sale after a confirmation; a double click makes one', async () => {
    const { body } = await installation.phone().tap({ amount: '14.00', currency: 'ZAR' });
    const { serviceReference: id } = (body as { onlineAuthorizationResponse: OnlineAuthorization })
      .onlineAuthorizationResponse;
    const visited = await visit('operator', `/ops/transactions/${id}`);
    const { page } = visited;
    await page.getByRole('button', { name: 'Void this sale' }).click();
    await page.locator('#sure-facts').getByText('411111******1111').waitFor();
    await expectAccessible(page);
    await page.locator('#sure').getByRole('button', { name: 'Void the sale' }).dblclick();
    await page.getByText('The void was requested.').waitFor();
    await page.locator('#one-title').getByText('Voided').waitFor();
    const { rows } = await installation.database.query(
      'select count(*)::int from transactions where original_id = $1',
      [id],
    );
    expect(rows).toEqual([{ count: 1 }]);
    expect(await page.getByRole('button', { name: 'Void this sale' }).count()).toBe(0);
    await expectHarmless(visited);
  });

  test('refunds a part of a sale; a double click makes one, and what was typed outlives an outage', async () => {
    const id = await sellApproved(installation, '16.00');
    const visited = await visit('operator', `/ops/transactions/${id}`);
    const { page } = visited;
    await page.getByText('Refund this sale').click();
    await page.getByText('at most ZAR 16.00').waitFor();
    await expectToFit(page, 'refund');
    const [amount, reason] = [page.getByLabel(/^Amount, at most/), page.getByLabel(/^Reason for the refund/)];
    const refundIt = page.locator('.refund').getByRole('button', { name: 'Refund', exact: true });
    await amount.fill('sixteen');
    await refundIt.click();
    await page.getByText('Write the amount like 10.00.').waitFor();
    await amount.fill('99');
    await reason.fill('Returned goods');
    await refundIt.click();
    await page.locator('#sure').getByRole('button', { name: 'Refund it' }).click();
    await page.locator('#sure-said').getByText('exceeds the refundable balance').waitFor();
    await page.locator('#sure-no').click();
    await page.locator('#who').click();
    await page.locator('#zone').selectOption('UTC');
    await page.keyboard.press('Escape');
    const outage = page.getByText(/^The gateway has not responded/).first();
    await page.context().setOffline(true);
    await outage.waitFor();
    await page.context().setOffline(false);
    await outage.waitFor({ state: 'hidden' });
    expect(await reason.inputValue()).toBe('Returned goods');
    await amount.fill('ZAR 6');
    await refundIt.click();
    const confirmation = page.locator('#sure-facts');
    await confirmation.getByText('Corner Coffee').waitFor();
    await confirmation.getByText('ZAR 10.00').waitFor();
    await page.locator('#sure').getByRole('button', { name: 'Refund it' }).dblclick();
    await page.getByText('Refund of ZAR 6: Approved.').waitFor();
    await page.getByText('at most ZAR 10.00').waitFor();
    const text = 'select amount_minor::int from transactions where original_id = $1';
    expect((await installation.database.query(text, [id])).rows).toEqual([{ amount_minor: 600 }]);
    await expectHarmless(visited);
    const { page: viewed } = await visit('viewer', `/ops/transactions/${id}`);
    await viewed.getByText('Related').waitFor();
    expect(await viewed.getByText('Refund this sale').isVisible()).toBe(false);
  });

  test('shows the outcome of a refund whose response was lost, after a reload, and then makes another', async () => {
    const id = await sellApproved(installation, '18.00');
    const visited = await visit('operator');
    const { page } = visited;
    const refundOnce = async () => {
      await page.getByText('Refund this sale').click();
      await page.getByLabel(/^Amount, at most/).fill('2');
      await page.getByLabel(/^Reason for the refund/).fill('Returned goods');
      await page.locator('.refund').getByRole('button', { name: 'Refund', exact: true }).click();
      await page.locator('#sure').getByRole('button', { name: 'Refund it' }).click();
    };
    const amounts = async () => {
      const text = 'select amount_minor::int as amount from transactions where original_id = $1';
      return (await installation.database.query(text, [id])).rows.map(({ amount }) => amount);
    };
    await page.goto(addressOf(`/ops/transactions/${id}`));
    await page.route('**/ops/refunds', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await refundOnce();
    await page.locator('#sure-said').getByText('does not respond').waitFor();
    await page.unroute('**/ops/refunds');
    await page.reload();
    await page.getByText('The refund of ZAR 2.00 that was sent before: Approved.').waitFor();
    expect(await amounts()).toEqual([200]);
    await refundOnce();
    await page.getByText('Refund of ZAR 2: Approved.').waitFor();
    expect(await amounts()).toEqual([200, 200]);
    // The request never arrives: the form that continues after the reload is the same one.
    await page.reload();
    await page.route('**/ops/refunds', (route) => route.abort());
    await refundOnce();
    await page.locator('#sure-said').getByText('does not respond').waitFor();
    await page.unroute('**/ops/refunds');
    const kept = await page.evaluate('Object.values(sessionStorage)');
    await page.reload();
    await refundOnce();
    await page.getByText('Refund of ZAR 2: Approved.').waitFor();
    const text = 'select merchant_reference as reference from transactions where original_id = $1 order by created_at';
    const { rows } = await installation.database.query(text, [id]);
    expect(rows.map(({ reference }) => reference)[2]).toBe(`console-${(kept as string[])[0]}`);
    await expectHarmless(visited);
  });

  test('cancels an unpaid link with a reason, found with the reference', async () => {
    const link = await createLink(installation);
    const visited = await visit('operator', '/ops/work/links');
    const { page } = visited;
    await page.getByLabel('Reference or id').fill(link.paymentReference);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.locator('#work-total').getByText('1 shown').waitFor();
    expect(new URL(page.url()).searchParams.get('reference')).toBe(link.paymentReference);
    await page.getByRole('button', { name: `Cancel the link ${link.paymentReference}` }).click();
    await expectToFit(page, 'cancel-link');
    await page.getByLabel('Reason for this act').fill('Wrong amount');
    await page.locator('#sure').getByRole('button', { name: 'Cancel the link' }).dblclick();
    await page.locator('#work-rows').getByText('cancelled').waitFor();
    expect(await statusOf(installation, link.id)).toMatchObject({ expired: true });
    await expectHarmless(visited);
    const { page: viewed } = await visit('viewer', `/ops/work/links?state=cancelled&reference=${link.id}`);
    await viewed.locator('#work-total').getByText('1 shown').waitFor();
    expect(await viewed.locator('#work-rows button').count()).toBe(0);
  });

  describe('lists at addresses of their own', () => {
    const job = '11111111-2222-4333-8444-555555555555';
    beforeAll(async () => {
      const { database } = installation;
      await database.query(
        `insert into pgboss.job (id, name, data, source_name, source_output, source_created_on)
         values ($1, 'dead-letters', '{"acquirerId": 1, "id": "11111111-2222-4333-8444-555555555556", "attempt": 1}', 'expire-pin',
           '{"reason": "the switch is silent"}', now())`,
        [job],
      );
      await database.query(
        `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state)
         values (1, $1, 10, $1, $1, 'transaction.completed', '{}', 'failed')`,
        [job],
      );
    });

    test.each([
      'Webhooks',
      'Links',
      'Processors',
      'Routes',
      'Users',
      'Jobs',
      'Audit',
    ])('%s, reached from the list before', async (list) => {
      const visited = await visit('operator');
      const { page } = visited;
      await page.getByRole('link', { name: 'Work' }).click();
      await page.locator('#work-rows tbody tr').waitFor();
      await page.locator('#work-lists').getByRole('link', { name: list }).click();
      await page.locator('#work-title').getByText(list).waitFor();
      await page.locator('#work-total').getByText('shown').waitFor();
      await expectToFit(page, `work-${list.toLowerCase()}`);
      await expectHarmless(visited);
    });

    test('dead jobs and failed webhooks are listed at addresses of their own, and are retried and replayed', async () => {
      const visited = await visit('operator', '/ops/work/audit');
      const { page } = visited;
      await page.locator('#work-title').getByText('Audit').waitFor();
      await page.goto(addressOf('/ops/work/jobs?queue=expire-pin&state=dead'));
      await page.locator('#work-rows').getByText('the switch is silent').waitFor();
      expect(await page.locator('#work-filters [name="queue"]').inputValue()).toBe('expire-pin');
      await page.reload();
      await page.getByRole('button', { name: `Retry the job ${job}` }).click();
      await page.locator('#sure').getByRole('button', { name: 'Retry' }).dblclick();
      await page.getByText('The list is empty.').waitFor();
      await page.goBack();
      await page.locator('#work-title').getByText('Audit').waitFor();
      await page.goto(addressOf('/ops/work/webhooks?state=failed'));
      await page.getByRole('button', { name: 'Replay all of this filter' }).click();
      await page.locator('#sure').getByRole('button', { name: 'Replay all' }).dblclick();
      await page.getByText('The list is empty.').waitFor();
      const { rows } = await installation.database.query('select round from webhook_events where id = $1', [job]);
      expect(rows).toEqual([{ round: 2 }]);
      await expectHarmless(visited);
    });
  });

  test('what may be a card number filters a list once, and is in no address', async () => {
    await createLink(installation);
    const visited = await visit('operator', '/ops/work/links');
    const { page } = visited;
    await page.locator('#work-rows tbody tr').first().waitFor();
    await page.getByLabel('Reference or id').fill('4111 1111-1111 1111');
    await page.locator('#work-filters [name="state"]').selectOption('open');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('The list is empty.').waitFor();
    expect(page.url()).toBe(addressOf('/ops/work/links?state=open'));
    await page.reload();
    await page.locator('#work-rows tbody tr').first().waitFor();
    expect(await page.getByLabel('Reference or id').inputValue()).toBe('');
    await expectHarmless(visited);
  });
});
