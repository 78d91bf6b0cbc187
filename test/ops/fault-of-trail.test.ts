import { describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../src/payments/model/decision.ts';
import { moves, Status, type StatusId } from '../../src/payments/model/status.ts';
import { faultOfTrail } from '../../src/tools/ledger/trail-check.ts';

const AT = '2026-03-01T10:00:00.000Z';
const entriesOf = (path: StatusId[], from: StatusId | null = null) => moves(from, path, Date.parse(AT));

/** `sent 1`, `acknowledged 1`: a trail that came to Indeterminate, and the steps of its reversal. */
function reversal(...steps: string[]): AuditEntry[] {
  return steps.map((text) => {
    const [reversal, attempt] = text.split(' ') as ['sent', string];
    return { reversal, attempt: Number(attempt), at: AT };
  });
}

const INDETERMINATE: AuditEntry[] = entriesOf([1, 3, 4, 5, 8]);
const faultOf = (...steps: string[]) =>
  faultOfTrail([{ attempt: 1, auditEntries: [...INDETERMINATE, ...reversal(...steps)] }], Status.RespondedToPhone);

describe('reversals', () => {
  test.each([
    [['sent 1', 'acknowledged 1']],
    [['sent 1', 'sent 2', 'acknowledged 2']],
    [['sent 1', 'unsent 1', 'sent 1', 'acknowledged 1']],
    [['sent 1', 'sent 2', 'unsent 2', 'unsent 1', 'sent 1', 'acknowledged 1']],
    [['sent 1', 'sent 2', 'unsent 2', 'acknowledged 1']],
    [['sent 1', 'confirming 1', 'sent 2', 'acknowledged 2']],
    [['sent 1', 'acknowledged 1', 'owed 1', 'sent 2', 'acknowledged 2']],
    [['sent 1', 'sent 2', 'acknowledged 1']],
    [['sent 1', 'confirming 1', 'acknowledged 1']],
    [['sent 1', 'confirming 1', 'sent 2', 'unsent 2', 'acknowledged 1']],
    [['sent 1', 'sent 2', 'sent 3', 'needsReview 3', 'refused 1', 'needsReview 2']],
    [['needsReview 0', 'sent 1', 'acknowledged 1']],
    [['sent 1', 'needsReview 1', 'unsent 1', 'sent 1', 'acknowledged 1']],
  ])('%j is a path', (steps) => {
    expect(faultOf(...steps)).toBeUndefined();
  });

  test.each([
    [['acknowledged 1'], 'out of turn'],
    [['sent 2'], 'out of turn'],
    [['sent 1', 'sent 1'], 'out of turn'],
    [['sent 1', 'acknowledged 1', 'sent 2'], 'does not follow acknowledged'],
    [['sent 1', 'acknowledged 2'], 'out of turn'],
    [['sent 1', 'confirming 2'], 'out of turn'],
    [['unsent 1'], 'does not follow owed'],
    [['sent 1', 'unsent 1', 'acknowledged 0'], 'out of turn'],
  ])('%j is not a path', (steps, fault) => {
    expect(faultOf(...steps)).toContain(fault);
  });
});

describe('attempts', () => {
  const first = { attempt: 1, auditEntries: entriesOf([1, 3, 8]) };

  test('the next one begins in a status in which a transaction may rest', () => {
    const second = { attempt: 2, auditEntries: entriesOf([1, 3, 4, 7, 8]) };
    expect(faultOfTrail([first, second], Status.RespondedToPhone)).toBeUndefined();
  });

  test('a PIN leads from 8 to the next attempt', () => {
    const second = { attempt: 2, auditEntries: entriesOf([1, 3, 4, 7, 8], Status.RespondedToPhone) };
    expect(faultOfTrail([first, second], Status.RespondedToPhone)).toBeUndefined();
  });

  test('a PIN may arrive before the phone’s request for it was recorded: its row then records that, too', () => {
    const asked = { attempt: 1, auditEntries: entriesOf([1, 3, 4, 7]) };
    const pin = { attempt: 2, auditEntries: [...entriesOf([8], 7), ...entriesOf([1, 3, 4, 7, 8], 8)] };
    expect(faultOfTrail([asked, pin], Status.RespondedToPhone)).toBeUndefined();
    const early = { attempt: 2, auditEntries: entriesOf([8], 4) };
    expect(faultOfTrail([asked, early], Status.RespondedToPhone)).toContain('does not follow');
  });

  test('none begins while the previous one is in progress, and none is skipped', () => {
    const underWay = { attempt: 1, auditEntries: entriesOf([1, 3, 4]) };
    const next = { attempt: 2, auditEntries: entriesOf([1]) };
    expect(faultOfTrail([underWay, next], Status.RequestReceived)).toContain('begins again from Submitted');
    expect(faultOfTrail([first, { ...next, attempt: 3 }], Status.RequestReceived)).toContain('follows attempt 1');
  });

  test('a transaction is created once', () => {
    const again = { attempt: 1, auditEntries: entriesOf([1]) };
    expect(faultOfTrail([{ attempt: 1, auditEntries: entriesOf([1]) }, again], Status.RequestReceived)).toContain(
      'does not follow',
    );
  });

  test('a refused void may be followed by another, whose attempts count from one', () => {
    const asked: AuditEntry = { void: 'id', at: AT };
    const approved = entriesOf([1, 3, 4, 7, 8]);
    const refused = [...approved, asked, ...reversal('sent 1', 'sent 2', 'refused 2')];
    const again = [...refused, asked, ...reversal('sent 1', 'acknowledged 1')];
    expect(faultOfTrail([{ attempt: 1, auditEntries: again }], Status.RespondedToPhone)).toBeUndefined();
    const unasked = [...refused, ...reversal('sent 3')];
    expect(faultOfTrail([{ attempt: 1, auditEntries: unasked }], Status.RespondedToPhone)).toContain(
      'does not follow refused',
    );
  });

  test('a late response changes nothing', () => {
    const refused: AuditEntry = { reversalResponse: 'refused', attempt: 1, at: AT };
    const late: AuditEntry = { late: 'approved', responseCode: '00', at: AT };
    const trail = [
      { attempt: 1, auditEntries: [...INDETERMINATE, late, ...reversal('sent 1', 'acknowledged 1'), refused] },
    ];
    expect(faultOfTrail(trail, Status.RespondedToPhone)).toBeUndefined();
    const stranger = [{ attempt: 1, auditEntries: [...INDETERMINATE, refused] }];
    expect(faultOfTrail(stranger, Status.RespondedToPhone)).toContain('which was not made');
  });

  test('an attempt that required a PIN has a reversal of its own', () => {
    const asked = { attempt: 1, auditEntries: entriesOf([1, 3, 4, 7, 8]) };
    const pin = { attempt: 2, auditEntries: entriesOf([1, 3, 4, 5, 8], 8) };
    const reversed = [
      { attempt: 2, auditEntries: reversal('sent 1') },
      { attempt: 1, auditEntries: reversal('sent 1', 'acknowledged 1') },
      { attempt: 2, auditEntries: reversal('acknowledged 1') },
    ];
    expect(faultOfTrail([asked, pin, ...reversed], Status.RespondedToPhone)).toBeUndefined();
  });
});
