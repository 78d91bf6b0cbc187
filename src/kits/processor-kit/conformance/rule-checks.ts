import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { retrievalReference } from '../field-values.ts';
import type { IsoMessage } from '../iso-message.ts';
import { sharedReferences } from '../message-identity.ts';
import { type Check, outcomeOf, type Subject, TAPPED_AT_MS, testPurchase } from './check.ts';

/** The rules for requests, with which the simulated switch refuses what the network would refuse. */
export const ruleChecks: readonly Check[] = [
  {
    name: 'the requests of the gateway keep every rule of the switch',
    run(subject) {
      for (const request of requestsOf(subject))
        expectEqual(subject.processor.readRequest(request).faults.join(', '), '', `${request.mti}: broken rules`);
    },
  },
  {
    name: 'a request that breaks a rule is refused, and its field is named',
    run(subject) {
      const { requestRules = [], readRequest } = subject.processor;
      const requests = requestsOf(subject);
      for (const { field, must, mtis, broken } of requestRules) {
        const concerned = requests.filter(({ mti }) => mtis.includes(mti));
        expectThat(concerned.length > 0, `${field} must ${must}: the gateway sends none of ${mtis.join(', ')}`);
        for (const request of concerned) {
          const { faults } = readRequest(broken(request));
          expectThat(
            faults.includes(field),
            `${request.mti}: ${field} must ${must}, and a request that breaks this passes`,
          );
        }
      }
    },
  },
];

/** One of each kind that the processor can build. */
function requestsOf({ processor, config }: Subject): IsoMessage[] {
  const purchase = testPurchase();
  const sale = processor.authorization(purchase, config);
  const original = processor.originalData(sale);
  const stamp = { sentAtMs: TAPPED_AT_MS + 30_000, localDateTime: '20261120161035' };
  const stan = processor.profile.reversal.keepsStan ? purchase.stan : '000124';
  const { amount, rrn } = purchase;
  const attempts = [1, 2].flatMap((attempt) => [
    processor.reversal({ original, reason: 'timeout', attempt, stan, ...stamp }, config),
    processor.completion?.build(
      { original, amountMinor: amount.amountMinor, authorizationCode: '123456', attempt, stan: '000125', ...stamp },
      config,
    ),
  ]);
  const requests = [
    sale,
    processor.mandateAuthorization?.(testPurchase({ amount: { ...amount, amountMinor: 0 } }), config),
    processor.refund?.({ original, amount, rrn, stan: '000126', ...stamp }, config),
    ...attempts,
    processor.networkRequest('signOn', { stan: '000127', sentAtMs: TAPPED_AT_MS }, config),
    processor.networkRequest('echo', { stan: '000128', sentAtMs: TAPPED_AT_MS }, config),
  ];
  return requests.filter((request) => request !== undefined);
}

/** No field by which a switch, or an integrator, finds a message names two of them. */
export const identityChecks: readonly Check[] = [
  {
    name: 'no reference in a message can be that of another message of the acquirer',
    run({ processor, config }) {
      expectEqual(sharedReferences(processor, config).join('; '), '', 'references');
    },
  },
  {
    name: 'the reference of an approval is that of no other message',
    run(subject) {
      const { processor, config } = subject;
      const references = ['123456', '123457'].map((stan) => {
        const purchase = testPurchase({ stan, rrn: retrievalReference(TAPPED_AT_MS, stan) });
        const request = processor.authorization(purchase, config);
        return outcomeOf(subject, request, { responseCode: '00', authorizationCode: '123456' }).rrn;
      });
      expectThat(references[0] === undefined || references[0] !== references[1], 'two approvals have the same rrn');
    },
  },
];
