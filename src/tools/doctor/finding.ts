/** The result of one examination, and advice if there is a fault. */
export interface Finding {
  /** The examined part: `database`, `keys`, `switch 1 of acquirer 2`. */
  readonly part: string;
  readonly verdict: 'good' | 'warning' | 'fault';
  readonly description: string;
  readonly advice?: string;
}

export const good = (part: string, description: string): Finding => ({ part, verdict: 'good', description });

export const warning = (part: string, description: string, advice: string): Finding => ({
  part,
  verdict: 'warning',
  description,
  advice,
});

export const fault = (part: string, description: string, advice: string): Finding => ({
  part,
  verdict: 'fault',
  description,
  advice,
});
