/**
 * Whether every field by which a switch may find a message belongs to one message only. A switch compares fields of its
 * own choice (DE37, 127.2, DE56, DE90), and reverses what they name. So the fields are not taken from the processor's
 * words: messages are built that differ only in the STAN, in the time, or in the terminal, and compared.
 */
import { toHex } from '../../codecs/bytes/hex.ts';
import { TAPPED_AT_MS, testPurchase } from './conformance/check.ts';
import { localDateTime, retrievalReference } from './field-values.ts';
import type { IsoMessage } from './iso-fields.ts';
import type { OriginalData, Processor, ProcessorDefinition, SwitchConfig } from './processor.ts';
import type { ProcessorProfile } from './profile.ts';

type Builder = Pick<
  ProcessorDefinition<SwitchConfig, IsoMessage>,
  'authorization' | 'mandateAuthorization' | 'refund' | 'reversal' | 'originalData' | 'completion' | 'spec' | 'profile'
>;

interface Numbers {
  readonly stan: string;
  readonly atMs: number;
  readonly tid: string;
  readonly mid: string;
}

const BASE: Numbers = { stan: '123456', atMs: TAPPED_AT_MS, tid: 'TERM0001', mid: 'MERCHANT0000001' };
/** Each digit of the STAN differs once. */
const OTHER_STANS = ['223456', '133456', '124456', '123556', '123466', '123457'];
const OTHER_TERMINAL = { tid: 'TERM0002', mid: 'MERCHANT0000002' };
/** Each digit of the day and the time differs. The hour is that of the RRN, which stays as it is. */
const LATER_MS = 86_400_000 + 3_600_000 + 11 * 60_000 + 11_000;

/** Data elements that are a date or time: they need not name a message. */
const DATES = [7, 12, 13, 14, 15, 16, 17, 28, 29];
const STAN = 11;

/**
 * The fields that two messages of an acquirer can share although a switch may look for one of them, each with the reason.
 *
 * @param scope in which a STAN is unique
 */
export function sharedReferences(
  processor: Builder,
  config: SwitchConfig,
  scope: ProcessorProfile['stanScope'] = processor.profile.stanScope,
): string[] {
  const built = (differing: Partial<Numbers>) => messagesOf(processor, config, { ...BASE, ...differing });
  const base = built({});
  const others = OTHER_STANS.map((stan) => built({ stan }));
  const later = built({ atMs: BASE.atMs + LATER_MS });
  const elsewhere = built(OTHER_TERMINAL);
  const nameOf = (number: number) => processor.spec.fields[number]?.name;
  const dates = DATES.map(nameOf);
  const faults = new Map<string, string>();
  for (const [kind, fields] of base) {
    for (const [path, value] of fields) {
      const differs = (from: Messages) => from.get(kind)?.get(path) !== value;
      const withStan = others.filter(differs).length;
      if (withStan === 0) {
        if (differs(later) && !dates.includes(path) && !isOnlyTime(value))
          faults.set(path, 'names a message with the time alone, so messages of one second share it');
      } else if (withStan < others.length) {
        faults.set(path, 'has only a part of the STAN');
      } else if (scope === 'terminal' && path !== nameOf(STAN) && !differs(elsewhere) && !isBareStan(path, value)) {
        faults.set(path, 'has the STAN without the terminal, so two terminals with the same STAN share it');
      }
    }
  }
  const numbers = new Map(Object.entries(processor.spec.fields).map(([number, field]) => [field.name, number]));
  return Array.from(faults, ([path, fault]) => {
    const number = numbers.get(path.split('.')[0]!);
    return `${number === undefined ? '' : `DE${number} `}(${path}) ${fault}`.trim();
  });
}

/** Why this switch's STANs cannot be counted per terminal; undefined if they can. */
export function terminalScopeFault<Config extends SwitchConfig, Message extends IsoMessage>(
  processor: ProcessorDefinition<Config, Message>,
  config: Config,
): string | undefined {
  const [first] = sharedReferences(processor as unknown as Processor, config, 'terminal');
  return first && `must be acquirer: ${first}`;
}

/** Kinds of messages, each with its fields by path, also those inside other fields. */
type Messages = ReadonlyMap<string, ReadonlyMap<string, string>>;

function messagesOf(processor: Builder, config: SwitchConfig, { stan, atMs, tid, mid }: Numbers): Messages {
  const rrn = retrievalReference(TAPPED_AT_MS, stan);
  const stamp = { stan, sentAtMs: atMs, localDateTime: localDateTime(atMs, 'Africa/Johannesburg') };
  const purchase = testPurchase({ ...stamp, rrn, terminal: { tid, mid, canTakePin: true } });
  const { amount } = purchase;
  const sale = processor.authorization(purchase, config);
  const original: OriginalData = processor.originalData(sale);
  const mandate = processor.mandateAuthorization?.(purchase, config);
  const refund = processor.refund?.({ original, amount, rrn, ...stamp }, config);
  const reversal = processor.reversal({ original, reason: 'timeout', attempt: 1, ...stamp }, config);
  const completion = processor.completion?.build(
    { original, amountMinor: amount.amountMinor, attempt: 1, ...stamp },
    config,
  );
  const built = Object.entries({ sale, mandate, refund, reversal, completion });
  return new Map(built.flatMap(([kind, message]) => (message ? [[kind, new Map(leavesOf(message))] as const] : [])));
}

/** The fields of a message by path, and each field with others inside also as a whole. */
function leavesOf(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]): [string, string][] => {
    const at = path === '' ? name : `${path}.${name}`;
    if (inner === undefined) return [];
    if (inner instanceof Uint8Array) return [[at, toHex(inner)]];
    if (typeof inner !== 'object' || inner === null) return [[at, String(inner)]];
    const leaves = leavesOf(inner, at);
    // The STAN alone is no reference: with it, the field around it is one.
    return leaves.some(([leaf, text]) => isBareStan(leaf, text)) ? [...leaves, [at, JSON.stringify(leaves)]] : leaves;
  });
}

const STANS_USED: ReadonlySet<string> = new Set([BASE.stan, ...OTHER_STANS]);

function isBareStan(path: string, value: string): boolean {
  return path.includes('.') && STANS_USED.has(value);
}

/** Whether the text is a part of a date and time, in UTC or local. */
function isOnlyTime(text: string): boolean {
  const utc = new Date(BASE.atMs).toISOString().replaceAll(/\D/g, '');
  return text !== '' && [utc, localDateTime(BASE.atMs, 'Africa/Johannesburg')].some((time) => time.includes(text));
}
