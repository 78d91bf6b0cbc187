import { PlugInError } from '../../basics/errors.ts';
import { isSameMac, MAC_ALGORITHMS, type MacMethod } from '../../codecs/crypto/mac.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import type { IsoMessage } from './iso-fields.ts';
import { candidateKeys, MacLayout, type MacVerdict, recordMacVerdict } from './mac-layout.ts';
import { type MacKeySet, type MacKeys, type MacRule, macFieldNames, type NumberedMacKey } from './mac-rule.ts';
import type { MessageCodec, Processor, SwitchConfig } from './processor.ts';

/**
 * The codec of one switch whose MAC keys are in this process: of simulated switches, and of checks. If the configuration names keys, messages are sent with a MAC, and received
 * messages are decoded with a verdict on their MAC (`macVerdictOf`). Without keys, a received MAC is `unverifiable`.
 *
 * @param live keys that change while traffic runs, instead of those of the configuration
 * @throws PlugInError `PLUG_IN_INVALID` if keys are configured and the dialect has no MAC, or no `macKeys` are
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
  if (rule === undefined) throw new PlugInError('PLUG_IN_INVALID', `${processor.type} has no MAC, but macKeys is set`);
  if (live !== undefined) return withKeys(codec, rule, spec, live);
  if (macKeys === undefined)
    throw new PlugInError('PLUG_IN_INVALID', `${processor.type}: macKeys is set, but no MAC keys are available`);
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
  const layout = new MacLayout(rule, codec, spec);
  const judge = (message: IsoMessage, bytes: Uint8Array, start: number, end: number): MacVerdict => {
    const received = layout.read(message);
    const candidates = received && candidateKeys(received, live.keys);
    if (!candidates?.length) return 'unverifiable';
    const covered = layout.covered(message, bytes, start, end);
    const isMadeBy = ({ mac }: NumberedMacKey) => isSameMac(mac(covered).subarray(0, rule.macBytes), received!.mac);
    return received!.isWellFormed && candidates.some(isMadeBy) ? 'good' : 'bad';
  };
  return {
    /** Encodes with an empty MAC, then writes the MAC over it. */
    encode(message, target, offset) {
      const end = layout.encodeBlank(message, target, offset);
      const { number, mac } = live.keys[0]!;
      const value = layout.put(message, number, mac(layout.covered(message, target, offset, end)));
      target.set(value, end - rule.lengthBytes);
      return end;
    },
    decode(bytes, start = 0, end = bytes.length) {
      const message = codec.decode(bytes, start, end);
      recordMacVerdict(message, judge(message, bytes, start, end));
      return message;
    },
  };
}
