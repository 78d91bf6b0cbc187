import { expect, inject, test } from 'vitest';
import { SESSION_LIMITS, serverSettings } from '../../src/store/postgres/session-limits.ts';
import { judge, sessionFindings } from '../../src/tools/doctor/front-findings.ts';

const WANTED = serverSettings(SESSION_LIMITS.tap);
const seen = (changes: Readonly<Record<string, number>>, port: number | null = 5432) =>
  Object.entries({ ...WANTED, ...changes }).map(([name, setting]) => ({ name, setting: String(setting), port }));

test('the limits of a session take effect on the server of the tests', async () => {
  const findings = await sessionFindings(inject('templateUrl').replace('/tapwire?', '/postgres?'));
  expect(findings).toMatchObject([{ verdict: 'good' }]);
});

test('a limit that a pooler has dropped is a fault, named with its value', () => {
  const [finding] = judge(WANTED, seen({ idle_in_transaction_session_timeout: 0, tcp_user_timeout: 0 }));
  expect(finding).toMatchObject({ verdict: 'fault' });
  expect(finding!.description).toContain('idle_in_transaction_session_timeout is 0 instead of 8000');
  expect(finding!.description).toContain('tcp_user_timeout is 0 instead of 8000');
});

test('a Unix socket has no TCP limits, and needs none', () => {
  const none = { tcp_keepalives_idle: 0, tcp_keepalives_interval: 0, tcp_keepalives_count: 0, tcp_user_timeout: 0 };
  expect(judge(WANTED, seen(none, null))).toMatchObject([{ verdict: 'good' }]);
});

test('a server before Postgres 17 is reported', () => {
  const old = seen({}).filter(({ name }) => name !== 'transaction_timeout');
  expect(judge(WANTED, old).map(({ verdict }) => verdict)).toEqual(['good', 'warning']);
});
