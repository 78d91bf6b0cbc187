import { availableParallelism, cpus } from 'node:os';
import type { RoundResult } from './round.ts';

/** The tables for src/observe/README.md. */
export function reportOf(rounds: readonly RoundResult[], perSecond: number): string {
  const groups = [...Map.groupBy(rounds, ({ fault }) => fault.description)];
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown processor'}`;
  const total = (count: (round: RoundResult) => number) => rounds.reduce((sum, round) => sum + count(round), 0);
  return `
${date}, ${machine}; ${perSecond} taps per second; ${rounds.length} failovers, ${total(({ sent }) => sent)} taps

| what happens to the primary | failovers | event to first tap with a response: median, longest | another node is the primary, and confirms commits: medians | after that, until the first tap with a response: median, longest | no tap with a response: longest |
|---|---|---|---|---|---|
${groups.map(([description, those]) => timesRow(description, those)).join('\n')}

| what happens to the primary | taps with a response | 503, nothing stored | 500, uncertain | no response | with a response and missing, or books that differ |
|---|---|---|---|---|---|
${groups.map(([description, those]) => countsRow(description, those)).join('\n')}
`;
}

function timesRow(description: string, rounds: readonly RoundResult[]): string {
  const recovery = rounds.map(({ recoveryMs }) => recoveryMs);
  const promotion = rounds.map(({ promotionMs }) => promotionMs);
  const writable = rounds.map(({ writableMs }) => writableMs);
  const after = rounds.map(({ recoveryMs, writableMs }) => Math.max(0, recoveryMs - writableMs));
  const outage = rounds.map(({ outageMs }) => outageMs);
  const cells = [
    `${seconds(median(recovery))}, ${seconds(Math.max(...recovery))}`,
    `${seconds(median(promotion))}, ${seconds(median(writable))}`,
    `${seconds(median(after))}, ${seconds(Math.max(...after))}`,
    seconds(Math.max(...outage)),
  ];
  return `| ${[description, rounds.length, ...cells].join(' | ')} |`;
}

function countsRow(description: string, rounds: readonly RoundResult[]): string {
  const sum = (count: (round: RoundResult) => number) => rounds.reduce((all, round) => all + count(round), 0);
  const cells = [
    sum(({ responded }) => responded),
    sum(({ refused }) => refused),
    sum(({ uncertain }) => uncertain),
    sum(({ withoutResponse }) => withoutResponse),
    sum(({ disagreements }) => disagreements.length),
  ];
  return `| ${[description, ...cells].join(' | ')} |`;
}

/** A line as soon as a round is over. */
export function lineOf(round: RoundResult): string {
  const { fault, recoveryMs, promotionMs, writableMs, outageMs, sent, responded, refused, uncertain, withoutResponse } =
    round;
  const times = `recovery ${seconds(recoveryMs)}, new primary ${seconds(promotionMs)}, commits ${seconds(writableMs)}, outage ${seconds(outageMs)}`;
  const taps = `${sent} taps: ${responded} with a response, ${refused} refused, ${uncertain} uncertain, ${withoutResponse} without response`;
  const rest = round.unexpected.map((each) => `, UNEXPECTED ${each}`).join('');
  return `${fault.name}: ${times}; ${taps}${rest}; books: ${booksOf(round)}`;
}

const MAX_SHOWN = 10;

function booksOf({ disagreements }: RoundResult): string {
  if (disagreements.length === 0) return 'agree';
  const others = disagreements.length - MAX_SHOWN;
  return [...disagreements.slice(0, MAX_SHOWN), ...(others > 0 ? [`and ${others} more`] : [])].join('; ');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)]!;
}
