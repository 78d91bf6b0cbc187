/** An effect of a process on its environment. */
export type EffectKind = 'read' | 'commit' | 'slot' | 'send' | 'tell';

/** What an effect may do instead of succeeding immediately. Each counts as one event of a history. */
export type Deviation =
  | 'fails'
  | 'is stored, unknown to its process'
  | 'is not stored, unknown to its process'
  | 'hangs'
  | 'is the last thing before the process dies'
  | 'does not happen, the process dies before'
  | 'finds no line'
  | 'finds another line'
  | 'writes nothing'
  | 'finds the phone gone';

export const DEVIATIONS: Readonly<Record<EffectKind, readonly Deviation[]>> = {
  read: ['fails'],
  commit: [
    'fails',
    'is stored, unknown to its process',
    'is not stored, unknown to its process',
    'hangs',
    'is the last thing before the process dies',
    'does not happen, the process dies before',
  ],
  slot: ['finds no line', 'finds another line'],
  send: ['writes nothing', 'hangs', 'is the last thing before the process dies'],
  tell: ['finds the phone gone'],
};

/** An effect of the last step, and its index in it. */
export interface SeenEffect {
  readonly index: number;
  readonly kind: EffectKind;
  readonly what: string;
}

/** A deviation as a word of a history. */
export function deviationWord({ index, what }: Pick<SeenEffect, 'index' | 'what'>, deviation: Deviation): string {
  return `${DEVIATION_MARK}${index} ${what} ${deviation}`;
}

const DEVIATION_MARK = '  but ';

export function isDeviation(word: string): boolean {
  return word.startsWith(DEVIATION_MARK);
}

export function parseDeviation(word: string): { readonly index: number; readonly deviation: Deviation } {
  const text = word.slice(DEVIATION_MARK.length);
  const all = new Set(Object.values(DEVIATIONS).flat());
  const deviation = [...all].find((each) => text.endsWith(` ${each}`));
  if (!deviation) throw new Error(`No deviation: ${word}`);
  return { index: Number.parseInt(text, 10), deviation };
}
