import { expectTypeOf, test } from 'vitest';
import {
  binary,
  bitmapped,
  dataset,
  datasets,
  numeric,
  positional,
  tagged,
  text,
  tlv,
} from '../../src/codecs/iso8583/fields.ts';
import type { OtherElement } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec, extendSpec, type MessageOf } from '../../src/codecs/iso8583/spec.ts';

const spec = defineSpec({
  name: 'typed',
  mti: { encoding: 'ascii' },
  bitmap: { encoding: 'binary' },
  fields: {
    4: numeric({ name: 'amount', digits: 12 }),
    34: datasets({
      name: 'commerce',
      bytes: 99,
      prefix: 'LL',
      fields: {
        '71': dataset({ name: 'check', bytes: 9, minBytes: 0, fields: { 1: binary({ name: 'method', bytes: 1 }) } }),
      },
    }),
    43: positional({
      name: 'acceptor',
      bytes: 5,
      fields: [text({ name: 'city', characters: 2 }), numeric({ name: 'zone', digits: 3 })],
    }),
    48: tagged({
      name: 'privateData',
      bytes: 99,
      prefix: 'LL',
      tag: { encoding: 'ascii', length: 2 },
      elementPrefix: 'LL',
      fields: { A1: text({ name: 'appId', characters: 2 }) },
    }),
    55: tlv({ name: 'chipData', bytes: 255, prefix: 'LLL' }),
    127: bitmapped({
      name: 'switchData',
      bytes: 999,
      prefix: 'LLLLLL',
      bitmap: { bytes: 8 },
      fields: { 2: text({ name: 'switchKey', characters: 32, prefix: 'LL' }) },
    }),
  },
});

type Message = MessageOf<typeof spec>;

test('the types of a message follow from its spec', () => {
  expectTypeOf<Message['mti']>().toEqualTypeOf<string>();
  expectTypeOf<Message['amount']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Message['chipData']>().toEqualTypeOf<Uint8Array | undefined>();
  expectTypeOf<NonNullable<Message['switchData']>['switchKey']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<NonNullable<Message['acceptor']>['zone']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<NonNullable<Message['privateData']>['appId']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<NonNullable<Message['privateData']>['others']>().toEqualTypeOf<readonly OtherElement[] | undefined>();
  type Check = NonNullable<NonNullable<Message['commerce']>['check']>;
  expectTypeOf<Check['method']>().toEqualTypeOf<Uint8Array | undefined>();
  expectTypeOf<Check['tlv']>().toEqualTypeOf<Uint8Array | undefined>();
});

test('fields that a spec lacks, and values of another type, are not accepted', () => {
  // @ts-expect-error: there is no such field
  const unknown: Message = { mti: '0200', stan: '000001' };
  // @ts-expect-error: amounts are text
  const number: Message = { mti: '0200', amount: 100 };
  // @ts-expect-error: every message has an MTI
  const none: Message = { amount: '000000000100' };
  expectTypeOf([unknown, number, none]).toBeArray();
});

test('a spec that extends another has the types of both', () => {
  const extended = extendSpec(spec, {
    name: 'extended',
    fields: { 4: null, 11: numeric({ name: 'stan', digits: 6 }), 55: binary({ name: 'raw', bytes: 3 }) },
  });
  type Extended = MessageOf<typeof extended>;
  expectTypeOf<Extended['stan']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<Extended['raw']>().toEqualTypeOf<Uint8Array | undefined>();
  expectTypeOf<Extended>().not.toHaveProperty('amount');
  expectTypeOf<Extended>().not.toHaveProperty('chipData');
});
