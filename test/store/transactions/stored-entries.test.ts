import { describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/payments/model/decision.ts';
import { type Move, STATUS_MOVES, type StatusId, statusName } from '../../../src/payments/model/status.ts';
import { readEntries, storedEntries } from '../../../src/store/transactions/guarded-update.ts';

const AT = '2026-03-01T10:00:00.000Z';
const LATER = '2026-03-01T10:00:00.001Z';

const move = (from: StatusId | null, to: StatusId, at = AT): Move => ({
  from: from === null ? null : statusName(from),
  to: statusName(to),
  at,
});

const OTHER: AuditEntry = { late: 'approved', responseCode: '00', at: AT };

describe('the stored form of audit entries', () => {
  test('has transitions that follow each other as one path', () => {
    expect(storedEntries([move(null, 1), move(1, 3), move(3, 4)])).toEqual([{ from: null, path: [1, 3, 4], at: AT }]);
  });

  const cases: Readonly<Record<string, AuditEntry[]>> = {
    'no entry': [],
    'one transition': [move(4, 7)],
    'a path': [move(null, 1), move(1, 3), move(3, 4)],
    'transitions at two times': [move(4, 7), move(7, 8, LATER)],
    'transitions that do not follow each other': [move(7, 8), move(1, 3)],
    'another entry between two transitions': [move(4, 7), OTHER, move(7, 8)],
    'other entries alone': [OTHER, OTHER],
  };
  test.each(Object.entries(cases))('reads as before with %s', (_, entries) => {
    expect(readEntries(JSON.parse(JSON.stringify(storedEntries(entries))))).toEqual(entries);
  });

  test('reads as before with every declared transition', () => {
    for (const [from, tos] of STATUS_MOVES) {
      for (const to of tos) expect(readEntries(storedEntries([move(from, to)]))).toEqual([move(from, to)]);
    }
  });
});
