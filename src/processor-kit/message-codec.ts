import { isSameMac } from '../crypto/mac.ts';
import { ProcessorError } from '../errors.ts';
import type { IsoMessage } from './iso-message.ts';
import type { MacKeySet, MacKeys, MacRule, NumberedMacKey } from './mac-rule.ts';
import { type MacVerdict, recordMacVerdict } from './mac-verdict.ts';
import type { MessageCodec, Processor, SwitchConfig } from './processor.ts';

/**
 * The codec of one switch, MAC included. If the configuration names keys, messages are sent with a MAC, and received
 * messages are decoded with a verdict on their MAC (`macVerdictOf`). Without keys, a received MAC is `unverifiable`.
 *
 * @param live keys that change while traffic runs, instead of those of the configuration
 * @throws ProcessorError `PROCESSOR_INVALID` if keys are configured and the dialect has no MAC, or no `macKeys` are
 * given
 */
export function messageCodec(
  processor: Processor,
  config: SwitchConfig,
  macKeys?: MacKeys,
  live?: MacKeySet,
): MessageCodec {
  const codec = processor.codec(config);
  const rule = processor.mac;
  if (config.macKeys === undefined) return rule === undefined ? codec : withoutKeys(codec, rule);
  if (rule === undefined)
    throw new ProcessorError('PROCESSOR_INVALID', `${processor.type} has no MAC, but macKeys is set`);
  if (live !== undefined) return withKeys(codec, rule, live);
  if (macKeys === undefined)
    throw new ProcessorError('PROCESSOR_INVALID', `${processor.type}: macKeys is set, but no MAC keys are available`);
  return withKeys(codec, rule, { keys: configuredMacKeys(rule, config, macKeys) });
}

/** The keys that the configuration names, prepared for use. */
export function configuredMacKeys(rule: MacRule, config: SwitchConfig, macKeys: MacKeys): NumberedMacKey[] {
  return (config.macKeys ?? []).map(({ number, keyId }) => ({ number, mac: macKeys(keyId, rule.method) }));
}

function withoutKeys(codec: MessageCodec, rule: MacRule): MessageCodec {
  return {
    encode: (message, target, offset) => codec.encode(message, target, offset),
    decode(bytes, start, end) {
      const message = codec.decode(bytes, start, end);
      if (message[rule.field] !== undefined) recordMacVerdict(message, 'unverifiable');
      return message;
    },
  };
}

function withKeys(codec: MessageCodec, rule: MacRule, live: MacKeySet): MessageCodec {
  const blank = new Uint8Array(rule.lengthBytes);
  return {
    /** Encodes with an empty MAC, which sets its bit in the bitmap, then writes the MAC over it. */
    encode(message, target, offset) {
      message[rule.field as 'mac'] = blank;
      const end = codec.encode(message, target, offset);
      const macStart = end - rule.lengthBytes;
      const { number, mac } = live.keys[0]!;
      const value = rule.compose(number, mac(rule.covered(message, target.subarray(offset, macStart))));
      target.set(value, macStart);
      message[rule.field as 'mac'] = value;
      return end;
    },
    decode(bytes, start = 0, end = bytes.length) {
      const message = codec.decode(bytes, start, end);
      const body = bytes.subarray(start, Math.max(start, end - rule.lengthBytes));
      const verdict = verdictOn(message, body, rule, live.keys);
      const judgeAgain = verdict === 'good' ? undefined : () => verdictOn(message, body, rule, live.keys);
      recordMacVerdict(message, verdict, judgeAgain);
      return message;
    },
  };
}

function verdictOn(message: IsoMessage, body: Uint8Array, rule: MacRule, keys: readonly NumberedMacKey[]): MacVerdict {
  const value = message[rule.field];
  if (!(value instanceof Uint8Array)) return 'unverifiable';
  const number = rule.keyNumber(value);
  const candidates = number === undefined ? keys : keys.filter((key) => key.number === number);
  if (candidates.length === 0) return 'unverifiable';
  const covered = rule.covered(message, body);
  const isGood = candidates.some((key) => isSameMac(rule.compose(key.number, key.mac(covered)), value));
  return isGood ? 'good' : 'bad';
}
