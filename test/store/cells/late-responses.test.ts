import { expect, onTestFinished, test } from 'vitest';
import { TwoCells } from '../../support/cells.ts';
import { eventually } from '../../support/eventually.ts';
import { untilSignedOn } from '../../support/installation.ts';
import { outcomeOf } from '../../support/responses.ts';
import { ScriptedSwitch } from '../../support/scripted-switch.ts';
import { storedTransaction, trailOf, untilResponded } from '../../support/transactions.ts';

async function startCells() {
  const scripted = await ScriptedSwitch.open();
  const connectTo = async () => scripted.port;
  const cells = await TwoCells.start({ connectTo, profile: { deadlineMs: 2_500 } }, (database) =>
    database.query('delete from routes where acquirer_id = 2; delete from processors where acquirer_id = 2'),
  );
  onTestFinished(async () => {
    await cells.stop();
    await scripted.close();
  });
  const tap = async () => {
    const { installation, gateways, databases } = cells;
    const response = await installation.phoneAt(gateways.a.url).tap({ amount: '100.00', currency: 'ZAR' });
    const { serviceReference: id } = outcomeOf(response);
    await untilResponded(databases.a, id);
    return { id, sale: await scripted.next('0200') };
  };
  return { cells, scripted, tap };
}

test('a second approval that a process of the source still holds is recorded before the acquirer leaves', async () => {
  const { cells, scripted, tap } = await startCells();
  const { id, sale } = await tap();
  // After a restart, only the last look-up finds an approved sale.
  await cells.gateways.a.stop();
  cells.gateways.a = await cells.installation.startGateway({ CELL_NAME: 'a', TAPWIRE_ROLE: 'all' });
  await eventually(() => untilSignedOn(cells.gateways.a.url));
  let hasResponded = false;
  await cells.move('a', 'b', {
    onStep: async (step) => {
      if (step !== 'copied' || hasResponded) return;
      hasResponded = true;
      sale.respond({ authorizationCode: '654321' }, { on: scripted.lines.at(-1)! });
      // A response to a later request shows that this one was received.
      await tap();
    },
  });
  expect(await storedTransaction(cells.databases.b, id)).toMatchObject({ needsReview: true });
  expect(await trailOf(cells.databases.b, id)).toContain('late approved');
});
