import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import type { RefundResponse } from '../../schemas/refund.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import type { IsoMessage, Processor } from '../../src/kits/processor-kit/index.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, sellApproved } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';

const UNCERTAIN = ['06', '09', '19', '20', '22', '28', '29', '32', '68', '95', '96'];
const REFUSED_AT_ONCE = ['12', '30', '31', '40', '90', '91', '92', '93'];

describe.each([
  ['type-1', type1, UNCERTAIN, REFUSED_AT_ONCE],
  ['type-2', type2, UNCERTAIN, REFUSED_AT_ONCE],
  [
    'type-1993',
    type1993,
    ['903', '909', '911', '915', '918', '920', '921', '922', '923'],
    ['902', '904', '905', '906', '907', '908', '910', '912'],
  ],
] as const)('%s', (_, type, uncertain, refused) => {
  const processor = type as unknown as Processor;
  const request = processor.authorization(testPurchase(), processor.exampleConfig);
  const kindOf = (responseCode: string) => {
    const response: IsoMessage = processor.simulate(request, { responseCode: '05' });
    return processor.readOutcome({ ...response, responseCode }, request).kind;
  };

  test.each(uncertain)('%s is trouble of the switch, which may have booked the sale', (code) => {
    expect(kindOf(code)).toBe('unknown');
  });

  test.each(refused)('%s declines, because no issuer was asked', (code) => {
    expect(kindOf(code)).toBe('declined');
  });
});

describe('a switch that books what it refuses with a trouble code', () => {
  const scene = scriptedInstallation();
  beforeEach(() => scene.install());

  test.each([
    '06',
    '19',
    '20',
    '22',
    '28',
    '29',
    '95',
    '96',
  ])('a sale that the switch books and refuses with %s is reversed', async (code) => {
    scene.scripted.hold('0200');
    const response = scene.installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
    const sale = await scene.scripted.next('0200');
    sale.respond(withCode(code));
    const { type, serviceReference } = outcomeOf(await response);
    expect(type).toBe('Indeterminate');
    expect((await scene.scripted.next('0420')).message).toMatchObject({ rrn: sale.message.rrn });
    await eventually(async () => {
      expect(await scene.stored(serviceReference)).toMatchObject({ disposition: Disposition.Voided });
    });
  });

  test('a refund that the switch books and refuses with 96 keeps its amount reserved until its reversal is acknowledged', async () => {
    const sale = await sellApproved(scene.installation, '10.00');
    await scene.scripted.next('0200');
    scene.scripted.hold('0200', '0420', '0421');
    const response = refundSale(scene.installation, sale, { amount: '10.00', refundReference: randomUUID() });
    const refund = await scene.scripted.next('0200');
    refund.respond(withCode('96'));
    const { serviceReference } = (await response).body as RefundResponse;
    const reversal = await scene.scripted.next('0420');
    expect(reversal.message).toMatchObject({ rrn: refund.message.rrn });
    const again = { amount: '10.00', refundReference: randomUUID() };
    expect(await refundSale(scene.installation, sale, again)).toMatchObject({ status: 409 });
    reversal.respond();
    await eventually(async () => {
      expect(await scene.stored(serviceReference)).toMatchObject({ disposition: Disposition.Voided });
    });
  });
});
