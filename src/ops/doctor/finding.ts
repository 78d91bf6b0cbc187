/** What the doctor saw of one thing, and what to do where it is not well. */
export interface Finding {
  /** What was looked at: `database`, `keys`, `switch 1 of acquirer 2`. */
  readonly part: string;
  readonly verdict: 'good' | 'warning' | 'fault';
  readonly says: string;
  readonly advice?: string;
}

export const good = (part: string, says: string): Finding => ({ part, verdict: 'good', says });

export const warning = (part: string, says: string, advice: string): Finding => ({
  part,
  verdict: 'warning',
  says,
  advice,
});

export const fault = (part: string, says: string, advice: string): Finding => ({
  part,
  verdict: 'fault',
  says,
  advice,
});
