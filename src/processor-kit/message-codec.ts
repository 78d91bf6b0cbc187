import { isSameMac, type MacMethod } from '../crypto/mac.ts';
import { MAC_ALGORITHMS } from '../crypto/mac-algorithms.ts';
import { ProcessorError } from '../errors.ts';
import type { Spec } from '../iso8583/spec.ts';
import { WireValues } from '../iso8583/wire-values.ts';
import type { IsoMessage } from './iso-message.ts';
import {
  type MacKeySet,
  type MacKeys,
  MacPlace,
  type MacRule,
  macFieldNames,
  type NumberedMacKey,
} from './mac-rule.ts';
import { recordMacVerdict } from './mac-verdict.ts';
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
  const spec = codec.spec ?? processor.spec;
  if (config.macKeys === undefined) return rule === undefined ? codec : withoutKeys(codec, rule);
  if (rule === undefined)
    throw new ProcessorError('PROCESSOR_INVALID', `${processor.type} has no MAC, but macKeys is set`);
  if (live !== undefined) return withKeys(codec, rule, spec, live);
  if (macKeys === undefined)
    throw new ProcessorError('PROCESSOR_INVALID', `${processor.type}: macKeys is set, but no MAC keys are available`);
  return withKeys(codec, rule, spec, { keys: configuredMacKeys(rule, config, macKeys) });
}

/** The keys that the configuration names, prepared for use. */
export function configuredMacKeys(rule: MacRule, config: SwitchConfig, macKeys: MacKeys): NumberedMacKey[] {
  const method = macMethodOf(rule, config);
  return (config.macKeys ?? []).map(({ number, keyId }) => ({ number, mac: macKeys(keyId, method) }));
}

/** The MAC algorithm of one switch: that of its configuration, or else of its dialect. */
export function macMethodOf(rule: Pick<MacRule, 'method'>, { macAlgorithm }: SwitchConfig): MacMethod {
  return macAlgorithm === undefined ? rule.method : MAC_ALGORITHMS[macAlgorithm];
}

function withoutKeys(codec: MessageCodec, rule: MacRule): MessageCodec {
  const names = macFieldNames(rule);
  return {
    encode: (message, target, offset) => codec.encode(message, target, offset),
    decode(bytes, start, end) {
      const message = codec.decode(bytes, start, end);
      if (names.some((name) => message[name] !== undefined)) recordMacVerdict(message, 'unverifiable');
      return message;
    },
  };
}

function withKeys(codec: MessageCodec, rule: MacRule, spec: Spec, live: MacKeySet): MessageCodec {
  const { lengthBytes } = rule;
  const blank = new Uint8Array(lengthBytes);
  const place = new MacPlace(rule, spec);
  const wire = new WireValues(spec);
  const coveredBy = (message: IsoMessage, bytes: Uint8Array, start: number, end: number) =>
    rule.covered(message, bytes.subarray(start, Math.max(start, end - lengthBytes)), wire.turnTo(bytes, start, end));
  return {
    /** Encodes with an empty MAC, which sets its bit in the bitmap, then writes the MAC over it. */
    encode(message, target, offset) {
      place.put(message, blank);
      const end = codec.encode(message, target, offset);
      const { number, mac } = live.keys[0]!;
      const value = rule.compose(number, mac(coveredBy(message, target, offset, end)));
      target.set(value, end - lengthBytes);
      place.put(message, value);
      return end;
    },
    decode(bytes, start = 0, end = bytes.length) {
      const message = codec.decode(bytes, start, end);
      const judge = () => {
        const value = place.valueIn(message);
        const candidates = value && candidatesFor(value, rule, live.keys);
        if (!candidates?.length) return 'unverifiable';
        const covered = coveredBy(message, bytes, start, end);
        return candidates.some((key) => isSameMac(rule.compose(key.number, key.mac(covered)), value!)) ? 'good' : 'bad';
      };
      const verdict = judge();
      recordMacVerdict(message, verdict, verdict === 'good' ? undefined : judge);
      return message;
    },
  };
}

/** The keys that may have made the MAC. */
function candidatesFor(value: Uint8Array, rule: MacRule, keys: readonly NumberedMacKey[]): readonly NumberedMacKey[] {
  const number = rule.keyNumber(value);
  return number === undefined ? keys : keys.filter((key) => key.number === number);
}
