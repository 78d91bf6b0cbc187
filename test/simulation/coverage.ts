import { REVERSAL_FORMS } from './switch/responses.ts';

/** How often each kind of event occurred. */
export type Seen = Map<string, number>;

/** What must occur in a run of histories; otherwise it would prove little. */
const EVERYTHING = [
  ...['Approved', 'Declined', 'UnableToGoOnline', 'Voided', 'a void', 'a refund', 'a review'],
  ...['reversal sent', 'reversal unsent', 'reversal confirming', 'reversal acknowledged', 'reversal owed'],
  ...['reversal refused', 'PIN awaiting', 'PIN submitted', 'PIN done', 'PIN exhausted', 'PIN expired'],
  ...['late approved', 'late declined', 'late unknown', 'a response after a restart', 'a response to another worker'],
  ...['a request lost', 'a request doubled', 'a response lost', 'a response doubled'],
  ...['a commit that hangs', 'a commit without a response', 'a process killed', 'a process frozen past a deadline'],
  ...['a second attempt', 'two PINs at once', 'a link opened', 'a tap on a link', 'a completion that was repeated'],
  ...['00', '91', '96'].map((code) => `completion got ${code}`),
  ...['00', '10', '51', '55', '57', '68', '70', '75', '77', '91', '94', '96'].map((code) => `request got ${code}`),
  ...REVERSAL_FORMS.map((form) => `request got ${form}`),
  ...['00', '06', '12', '21', '25', '57', '77', '91', '94', '96'].map((code) => `reversal got ${code}`),
  ...['request', 'reversal'].flatMap((kind) =>
    ['other amount', 'no RRN', 'other terminal', 'bad MAC', 'other MTI', 'undecodable', 'without a code'].map(
      (flaw) => `${kind} got ${flaw}`,
    ),
  ),
];

export function addSeen(to: Seen, from: ReadonlyMap<string, number>): void {
  for (const [what, times] of from) to.set(what, (to.get(what) ?? 0) + times);
}

export function missingFrom(seen: ReadonlyMap<string, number>): string[] {
  return EVERYTHING.filter((what) => !seen.has(what));
}
