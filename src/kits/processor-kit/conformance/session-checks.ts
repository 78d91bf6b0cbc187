import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { type IsoMessage, isResponse } from '../iso-message.ts';
import type { NetworkRequestKind } from '../processor.ts';
import { switchProtocol } from '../switch-protocol.ts';
import { type Check, overTheWire, respond, type Subject, TAPPED_AT_MS, testPurchase } from './check.ts';

const KINDS: readonly NetworkRequestKind[] = ['signOn', 'signOff', 'echo'];

const STAMP = { stan: '000777', sentAtMs: TAPPED_AT_MS };

/** How a session is opened, kept and closed, and how responses are matched to requests. */
export const sessionChecks: readonly Check[] = [
  {
    name: 'sign-on, sign-off and echo are understood, and accepted with 00 alone',
    run(subject) {
      const { processor, config } = subject;
      for (const kind of KINDS) {
        const request = processor.networkRequest(kind, STAMP, config);
        if (request === undefined) continue;
        const read = processor.readRequest(overTheWire(subject, request));
        expectEqual(read.kind, 'network', `${kind}: kind`);
        expectEqual(read.network, kind, 'kind of request');
        expectEqual(read.faults.join(', '), '', `${kind}: mandatory fields missing`);
        const responseWith = (responseCode: string) => respond(subject, request, { responseCode });
        expectThat(processor.isNetworkAccepted(responseWith('00')), `${kind}: 00 is not accepted`);
        expectThat(!processor.isNetworkAccepted(responseWith('91')), `${kind}: 91 is accepted`);
        expectThat(!processor.isNetworkAccepted(request), `${kind}: a request is read as its own response`);
      }
    },
  },
  {
    name: 'the echo and cut-over requests of the switch receive a response',
    run(subject) {
      const { processor, config } = subject;
      for (const kind of ['echo', 'cutOver'] as const) {
        const request = processor.networkRequest(kind, STAMP, config);
        if (request === undefined) continue;
        const response = processor.respondToSwitchRequest(overTheWire(subject, request), config);
        expectThat(response !== undefined, `${kind}: no response`);
        expectThat(
          processor.isNetworkAccepted(overTheWire(subject, response)),
          `${kind}: the response does not accept`,
        );
      }
    },
  },
  {
    name: 'a sale sent by the switch receives no response',
    run({ processor, config }) {
      const sale = processor.authorization(testPurchase(), config);
      expectThat(processor.respondToSwitchRequest(sale, config) === undefined, 'it receives a response');
    },
  },
  {
    name: 'every response has the key of its own request and of no other',
    run(subject) {
      const protocol = protocolOf(subject);
      for (const request of requestsOf(subject)) {
        const response = respond(subject, request, { responseCode: '00' });
        expectThat(isResponse(response) && !isResponse(request), `${request.mti}: request or response`);
        expectEqual(protocol.responseKey(response), protocol.requestKey(request), `${request.mti}: key`);
        const other = respond(subject, request, { responseCode: '00', isOtherStan: true });
        expectThat(
          protocol.responseKey(other) !== protocol.requestKey(request),
          `${request.mti}: another STAN matches`,
        );
      }
      const keys = requestsOf(subject).map((request) => protocol.requestKey(request));
      expectEqual(new Set(keys).size, keys.length, 'different requests with different keys');
    },
  },
  {
    name: 'a response that lacks a key field has no key, and names the missing field',
    run(subject) {
      const { processor } = subject;
      const protocol = protocolOf(subject);
      const request = processor.authorization(testPurchase(), subject.config);
      const response = respond(subject, request, { responseCode: '00' });
      for (const field of processor.match[request.mti.charAt(1)] ?? []) {
        const lacking = { ...response, [field]: undefined };
        expectThat(protocol.responseKey(lacking) === undefined, `it has a key without ${field}`);
        expectEqual(protocol.missingKeyFields(lacking).join(), field, 'missing field');
      }
    },
  },
];

function protocolOf({ processor, config }: Subject) {
  return switchProtocol(processor, { ...config, macKeys: undefined }, { nextStan: () => '000001', nowMs: () => 0 });
}

function requestsOf({ processor, config }: Subject): IsoMessage[] {
  const sale = processor.authorization(testPurchase(), config);
  const original = processor.originalData(sale);
  const times = { sentAtMs: TAPPED_AT_MS + 40_000, localDateTime: '20261120161045' };
  const stan = processor.profile.reversal.keepsStan ? '000123' : '000124';
  return [
    sale,
    processor.authorization(testPurchase({ stan: '000125' }), config),
    processor.reversal({ original, reason: 'timeout', attempt: 1, stan, ...times }, config),
    ...KINDS.flatMap((kind, index) => {
      const stamp = { ...STAMP, stan: `00077${index}` };
      return processor.networkRequest(kind, stamp, config) ?? [];
    }),
  ];
}
