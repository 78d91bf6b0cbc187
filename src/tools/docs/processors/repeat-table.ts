import type { Processor } from '../../../kits/processor-kit/processor.ts';

/** When each attempt of a reversal is sent, as Markdown. */
export function repeatTable({ profile }: Pick<Processor, 'profile'>): string {
  const { delaysSeconds, giveUpAfterSeconds } = profile.reversal;
  const last = delaysSeconds.length;
  const rows = delaysSeconds.map((seconds, index) => {
    const wait = Math.max(seconds, profile.deadlineMs / 1_000);
    const attempt =
      index === last - 1 ? `${index + 2} and later, until ${giveUpAfterSeconds / 3_600} h` : `${index + 2}`;
    return `| ${attempt} | ${wait} s |`;
  });
  return ['| attempt | at least this long after the attempt before |', '|---|---|', ...rows].join('\n');
}
