import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { retrievalReference } from '../field-values.ts';
import { sharedReferences } from '../message-identity.ts';
import type { Check } from './check.ts';
import { TAPPED_AT_MS, testPurchase } from './test-tap.ts';
import { outcomeOf } from './wire.ts';

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
