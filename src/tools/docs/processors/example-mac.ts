import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { BlockKey } from '../../../codecs/crypto/block-key.ts';
import {
  keyMac,
  keyShapeOf,
  MAC_ALGORITHMS,
  type MacFunction,
  type MacMethod,
  namesOfMac,
  padMessage,
} from '../../../codecs/crypto/mac.ts';
import { testPurchase } from '../../../kits/processor-kit/conformance/check.ts';
import type { IsoMessage } from '../../../kits/processor-kit/iso-message.ts';
import { MacLayout } from '../../../kits/processor-kit/mac-layout.ts';
import { MacPlace, type MacRule } from '../../../kits/processor-kit/mac-rule.ts';
import type { Processor } from '../../../kits/processor-kit/processor.ts';

/** Where the hex of a line begins. */
const LABEL_CHARACTERS = 24;
const BYTES_PER_LINE = 32;

/** A label and bytes as hex, on as many lines as they need. */
export function hexLines(label: string, bytes: Uint8Array, width = LABEL_CHARACTERS): string[] {
  const lines = Math.max(1, Math.ceil(bytes.length / BYTES_PER_LINE));
  return Array.from({ length: lines }, (_, line) => {
    const from = line * BYTES_PER_LINE;
    const hex = toHex(bytes, from, Math.min(bytes.length, from + BYTES_PER_LINE));
    return `${(line === 0 ? label : '').padEnd(width)}${hex}`.trimEnd();
  });
}

/** The test key of the standards for DES; its halves are the two keys of a pair. */
const KEY = fromHex('0123456789ABCDEFFEDCBA9876543210');
const KEY_NUMBER = 1;

export function macFunctionOf(method: MacMethod): MacFunction {
  return keyMac(exampleKeyOf(method), method);
}

function exampleKeyOf(method: MacMethod): BlockKey {
  const { algorithm, lengthBytes } = keyShapeOf(method);
  return new BlockKey(algorithm, KEY.slice(0, lengthBytes));
}

/**
 * MACs of two messages step by step, with each algorithm of the dialect: a sign-on, and a sale at a terminal and of a
 * merchant whose names are shorter than their fields.
 */
export function exampleMacs(processor: Processor): string {
  const { mac: rule, exampleConfig: config } = processor;
  if (rule === undefined) throw new Error(`${processor.type} has no MAC`);
  const stamp = { stan: '000127', sentAtMs: testPurchase().sentAtMs };
  const terminal = { tid: 'T1', mid: 'SHOP 7', canTakePin: false };
  const messages = {
    'Sign-on': processor.networkRequest('signOn', stamp, config)!,
    Sale: processor.authorization(testPurchase({ terminal }), config),
  };
  return Object.entries(messages)
    .flatMap(([name, message]) => [`${name}:`, '', '```', ...linesOf(processor, rule, message), '```', ''])
    .join('\n')
    .trimEnd();
}

function linesOf(processor: Processor, rule: MacRule, message: IsoMessage): string[] {
  const codec = processor.codec(processor.exampleConfig);
  const layout = new MacLayout(rule, codec, processor.spec);
  const sealed = { ...message };
  const target = new Uint8Array(processor.framing.maxFrameBytes);
  const end = layout.encodeBlank(sealed, target, 0);
  const covered = Uint8Array.from(layout.covered(sealed, target, 0, end));
  const body = target.subarray(0, end - rule.lengthBytes);
  const number = fieldNumberOf(processor, new MacPlace(rule, processor.spec).fieldOf(sealed));
  // Bitmaps are not text, so a MAC over the whole message has no such line.
  const isText = covered.every((byte) => byte >= 0x20 && byte < 0x7f);
  return [
    ...hexLines(`message, ${body.length} bytes`, body),
    ...(isText ? [`${'input as text'.padEnd(24)}${Buffer.from(covered).toString('latin1').replaceAll(' ', '_')}`] : []),
    ...(Buffer.compare(covered, body) === 0 ? [] : hexLines(`input, ${covered.length} bytes`, covered)),
    ...namesOfMac(rule.method).flatMap((name) => {
      const method: MacMethod = MAC_ALGORITHMS[name];
      const key = KEY.slice(0, keyShapeOf(method).lengthBytes);
      const mac = macFunctionOf(method)(covered);
      const padding = method.algorithm === 'cmac' ? covered : padMessage(covered, method.padding, 8);
      const value = layout.put(sealed, KEY_NUMBER, mac);
      return [
        ...hexLines(`${name}, key`, key),
        ...hexLines('padding', padding.subarray(covered.length)),
        ...hexLines('MAC', mac),
        ...hexLines(`DE${number}`, value),
      ];
    }),
  ];
}

function fieldNumberOf({ spec }: Processor, name: string): string {
  return Object.entries(spec.fields).find(([, field]) => field.name === name)![0];
}
