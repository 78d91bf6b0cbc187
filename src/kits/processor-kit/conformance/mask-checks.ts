import { isDeepStrictEqual } from 'node:util';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { messageRows } from '../../../codecs/iso8583/describe.ts';
import { maskerOf } from '../../../codecs/iso8583/masker.ts';
import { expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import { retrievalReference } from '../field-values.ts';
import type { IsoMessage } from '../iso-fields.ts';
import { MacPlace } from '../mac-rule.ts';
import { sharedReferences } from '../message-identity.ts';
import type { MessageCodec, Purchase } from '../processor.ts';
import {
  bytesOf,
  type Check,
  outcomeOf,
  respond,
  type Subject,
  TAPPED_AT_MS,
  TEST_SCHEMES,
  testPurchase,
} from './check.ts';

const PIN = { block: Uint8Array.of(0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x17, 0x28) };
/**
 * How many digits after the separator of a track are searched for: enough that no other number of the message equals
 * them.
 */
const TRACK_DIGITS = 10;

/**
 * Messages that are kept for people are bytes masked according to the field table. These checks find values that a
 * field table fails to mask.
 */
export const maskChecks: readonly Check[] = [
  {
    name: 'a masked message has the same length and the same description as the original',
    run(subject) {
      for (const { name, codec, bytes } of wiresOf(subject)) {
        const masked = maskedOf(codec, bytes, name);
        const rows = (wire: Uint8Array) => messageRows(codec.spec!, codec.decode(wire));
        expectEqual(masked.length, bytes.length, `${name}: length`);
        expectThat(isDeepStrictEqual(rows(masked), rows(bytes)), `${name}: its description changes when it is masked`);
      }
    },
  },
  {
    name: 'a masked sample contains of a card number at most the first 6 and last 4 digits, and nothing of a track',
    run(subject) {
      for (const { name, codec, bytes } of samplesOf(subject)) {
        expectHidden(maskedOf(codec, bytes, name), secretsIn(codec, codec.decode(bytes)), name);
      }
    },
  },
  {
    name: 'a masked sale of any scheme contains nothing secret of its card, no PIN block and no MAC',
    run(subject) {
      for (const scheme of TEST_SCHEMES) {
        const purchase = testPurchase({ scheme, pin: PIN });
        const request = subject.processor.authorization(purchase, subject.config);
        const mac = withMac(subject, request);
        const masked = maskedOf(subject.codec, wireOf(subject, request), scheme);
        expectHidden(masked, secretsOfPurchase(purchase), scheme);
        expectThat(!masked.includes(Buffer.from(PIN.block)), `${scheme}: the PIN block is visible`);
        expectThat(mac === undefined || !masked.includes(Buffer.from(mac)), `${scheme}: the MAC is visible`);
      }
    },
  },
];

interface Wire {
  readonly name: string;
  readonly codec: MessageCodec;
  readonly bytes: Uint8Array;
}

function samplesOf({ processor }: Subject): Wire[] {
  return processor.samples.map(({ name, config, wireHex }) => {
    return { name, codec: processor.codec(config ?? processor.exampleConfig), bytes: fromHex(wireHex) };
  });
}

/** The samples, and sales in the tested dialect. */
function wiresOf(subject: Subject): Wire[] {
  const { processor, config, codec } = subject;
  const sales = TEST_SCHEMES.flatMap((scheme) => {
    const request = processor.authorization(testPurchase({ scheme, pin: PIN }), config);
    const response = respond(subject, request, { responseCode: '00', authorizationCode: '123456' });
    return [request, response].map((message) => ({ name: scheme, codec, bytes: wireOf(subject, message) }));
  });
  return [...samplesOf(subject), ...sales];
}

function wireOf({ codec, processor }: Subject, message: IsoMessage): Uint8Array {
  return bytesOf(codec, message, processor.framing.maxFrameBytes);
}

function maskedOf(codec: MessageCodec, bytes: Uint8Array, name: string): Buffer {
  expectThat(codec.spec !== undefined, 'the codec has no spec: only the lengths of its messages can be kept');
  const masked = maskerOf(codec.spec).mask(bytes);
  expectThat(masked !== undefined, `${name}: the message cannot be masked according to the spec of its codec`);
  return Buffer.from(masked);
}

/** Puts a MAC into the message if its dialect has one. */
function withMac({ processor, codec }: Subject, message: IsoMessage): Uint8Array | undefined {
  if (processor.mac === undefined) return undefined;
  const mac = Uint8Array.from({ length: processor.mac.lengthBytes }, (_, at) => 0x91 + at * 7);
  new MacPlace(processor.mac, codec.spec ?? processor.spec).put(message, mac);
  return mac;
}

/** Sequences of digits that a masked message must not contain. */
function secretsOfPurchase({ card }: Purchase): string[] {
  const behind = card.track2?.substring(card.pan.length + 1, card.pan.length + 1 + TRACK_DIGITS);
  return [...secretsOfPan(card.pan), ...(behind === undefined ? [] : [behind])];
}

/**
 * The visible first 6 and last 4 digits extended by three or four digits, and the digits between. The extension
 * excludes chance: a filler digit may equal the hidden one.
 */
function secretsOfPan(pan: string): string[] {
  return [pan.substring(0, 9), pan.substring(4, pan.length - 2), pan.substring(pan.length - 8)];
}

/** Secrets of DE2, and of every text in the format of a track, regardless of the field's name. */
function secretsIn({ spec }: MessageCodec, message: IsoMessage): string[] {
  const pan = message[spec?.fields[2]?.name ?? ''];
  return [...(typeof pan === 'string' ? secretsOfPan(pan) : []), ...secretsOfTracks(message)];
}

function secretsOfTracks(value: unknown): string[] {
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return Object.values(value).flatMap(secretsOfTracks);
  }
  const [, pan, behind] = (typeof value === 'string' && /^([0-9]{13,19})[D=]([0-9]{7,})F*$/.exec(value)) || [];
  return pan === undefined ? [] : [...secretsOfPan(pan), behind!.substring(0, TRACK_DIGITS)];
}

/** Searches every encoding of digits: ASCII, EBCDIC, packed from either nibble. */
function expectHidden(masked: Uint8Array, secrets: readonly string[], name: string): void {
  const hex = toHex(masked);
  const spread = (digits: string, zone: string) => [...digits].map((digit) => zone + digit).join('');
  for (const digits of secrets) {
    const isThere = [digits, spread(digits, '3'), spread(digits, 'F')].some((form) => hex.includes(form));
    expectThat(!isThere, `${name}: digits of the card are visible that must be masked`);
  }
}

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
