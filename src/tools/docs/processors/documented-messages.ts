import { fromHex } from '../../../codecs/bytes/hex.ts';
import { TAPPED_AT_MS, testCard, testPurchase } from '../../../kits/processor-kit/conformance/check.ts';
import type { IsoMessage } from '../../../kits/processor-kit/iso-fields.ts';
import { messageCodec } from '../../../kits/processor-kit/message-codec.ts';
import type {
  NetworkRequestKind,
  Processor,
  Purchase,
  SimulatedResponse,
  SwitchConfig,
} from '../../../kits/processor-kit/processor.ts';
import { macFunctionOf } from './sample-bytes.ts';

/** Settings that add fields to messages. A type whose configuration lacks one of them is documented without it. */
const OPTIONAL_SETTINGS: readonly object[] = [
  {},
  { profile: { partialApproval: true } },
  { forwarderId: '60001' },
  { userId: '42' },
  { macKeys: [{ number: 1, keyId: 'mac' }] },
];

const PIN = { block: fromHex('1B9C1845EB993A7A'), ksn: fromHex('FFFF9876543210E00001'), keyNumber: 3 };
const NETWORK: readonly NetworkRequestKind[] = ['signOn', 'signOff', 'echo', 'cutOver'];
const LATER = { sentAtMs: TAPPED_AT_MS + 30_000, localDateTime: '20261120161035' };

const SALE_RESPONSES: readonly SimulatedResponse[] = [
  { responseCode: '00', authorizationCode: '831042' },
  { responseCode: '51' },
  { responseCode: '', asksForPin: true },
];

/**
 * The messages that the gateway and a switch of this type exchange, in every case that adds or removes a field: with and
 * without a PIN, track, forwarder and MAC. A repeat has the fields of its first attempt and is left out.
 */
export function documentedMessages(processor: Processor): readonly IsoMessage[] {
  const all = OPTIONAL_SETTINGS.flatMap((settings) => [settings, { ...settings, completion: true }]);
  return all.flatMap((settings) => {
    const config = processor.configSchema.safeParse({ ...processor.exampleConfig, ...settings });
    return config.success ? messagesUnder(processor, config.data) : [];
  });
}

function messagesUnder(processor: Processor, config: SwitchConfig): IsoMessage[] {
  const messages = [...cardMessages(processor, config), ...followUps(processor, config), ...network(processor, config)];
  const codec = messageCodec(processor, config, (_keyId, method) => macFunctionOf(method));
  const target = new Uint8Array(processor.framing.maxFrameBytes);
  for (const message of messages) codec.encode(message, target, 0); // puts the MAC into the message
  return messages;
}

/** One with all that a card has, and one of a reader that sends PAN and expiry instead of the track. */
function taps(): readonly Purchase[] {
  const tap = testPurchase({ scheme: 'Mastercard' });
  const { pan, expiry, scheme } = testCard('Mastercard');
  return [tap, { ...tap, card: { pan, expiry, scheme } }];
}

function cardMessages(processor: Processor, config: SwitchConfig): IsoMessage[] {
  const partial = { responseCode: '10', authorizationCode: '831042', amountMinor: 617 };
  const responses = config.profile?.partialApproval ? [...SALE_RESPONSES, partial] : SALE_RESPONSES;
  return [...taps(), { ...taps()[0]!, pin: PIN }].flatMap((purchase) => {
    const mandate = processor.mandateAuthorization?.(purchase, config);
    return [
      ...withResponses(processor, processor.authorization(purchase, config), responses),
      ...(mandate ? withResponses(processor, mandate, SALE_RESPONSES) : []),
    ];
  });
}

function followUps(processor: Processor, config: SwitchConfig): IsoMessage[] {
  const { completion } = processor;
  return taps().flatMap((purchase) => {
    const { amount } = purchase;
    const original = processor.originalData(processor.authorization(purchase, config));
    const stamp = { original, attempt: 1, authorizationCode: '831042', stan: '000124', ...LATER };
    const refund = processor.refund?.({ ...stamp, rrn: '632414000124', amount }, config);
    const advices = [
      processor.reversal({ ...stamp, reason: 'timeout', authorizationCode: undefined }, config),
      processor.reversal({ ...stamp, reason: 'void' }, config),
      ...(completion?.isWanted(config) ? [completion.build({ ...stamp, ...amount }, config)] : []),
    ];
    return [
      ...(refund ? withResponses(processor, refund, SALE_RESPONSES.slice(0, 2)) : []),
      ...advices.flatMap((advice) => withResponses(processor, advice, [{ responseCode: '00' }])),
    ];
  });
}

function network(processor: Processor, config: SwitchConfig): IsoMessage[] {
  const stamp = { stan: '000125', sentAtMs: TAPPED_AT_MS };
  const requests = NETWORK.flatMap((kind) => processor.networkRequest(kind, stamp, config) ?? []);
  const { keyChange } = processor;
  const keys = (keyChange?.uses ?? []).flatMap((use) => [
    keyChange!.request(use, stamp, config),
    keyChange!.announcement({ use, number: 9, wrapped: EXAMPLE_KEYS[keyChange!.form], kcv: 'A1B2C3' }, stamp, config),
  ]);
  return [
    ...requests.flatMap((request) => withResponses(processor, request, [{ responseCode: '00' }])),
    ...keys.flatMap((request) => [request, keyChange!.response(request, '00')]),
  ];
}

/** No keys: digits in the place of a cryptogram. */
const EXAMPLE_KEYS = {
  cryptogram: { cryptogram: fromHex('0123456789ABCDEFFEDCBA9876543210') },
  keyBlock: { block: `B0096M3TC00N0000${'0123456789ABCDEF'.repeat(5)}` },
} as const;

function withResponses(
  processor: Processor,
  request: IsoMessage,
  responses: readonly SimulatedResponse[],
): IsoMessage[] {
  return [request, ...responses.map((response) => processor.simulate(request, response))];
}
