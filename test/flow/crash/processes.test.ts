import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';

/** Two gateway processes behind one port, which are replaced and killed under load. */

const TILLS = 10;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', profile: { deadlineMs: 6_000 } });
});
afterAll(() => installation.stop());

/** Two processes, each signed on: until then, a process that is starved leaves its taps UnableToGoOnline. */
async function startTwo(): Promise<GatewayProcess> {
  const group = await GatewayProcess.startGroup(installation, 2);
  await eventually(async () => {
    const { ready, connecting } = await installation.switchStats(group.url);
    expect({ isSignedOn: ready >= 2, connecting }).toEqual({ isSignedOn: true, connecting: 0 });
  });
  return group;
}

/** Ten tills, each with its next tap as soon as it has a response. */
function startTills({ url }: GatewayProcess) {
  let isOn = true;
  const types: string[] = [];
  const faults: unknown[] = [];
  const tills = Array.from({ length: TILLS }, async () => {
    const phone = installation.phoneAt(url);
    while (isOn) {
      try {
        types.push(outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' })).type);
      } catch (fault) {
        faults.push(fault);
        await sleep(20);
      }
    }
  });
  return {
    types,
    faults,
    more: (count: number) => {
      const wanted = types.length + count;
      return eventually(() => expect(types.length).toBeGreaterThanOrEqual(wanted));
    },
    stop: async () => {
      isOn = false;
      await Promise.all(tills);
    },
  };
}

/** The code of the system's error below a failed request. */
function codeOf(fault: unknown): string {
  const { code, cause } = fault as { code?: string; cause?: unknown };
  return code ?? (cause === undefined ? String(fault) : codeOf(cause));
}

/** The present process with each number, from the log. */
function pidsOf(output: string): Map<number, number> {
  const starts = output.matchAll(/"pid":(\d+),"process":([1-9]\d*),.*"msg":"Tapwire is up"/g);
  return new Map(Array.from(starts, ([, pid, number]) => [Number(number), Number(pid)]));
}

const linesWith = ({ output }: GatewayProcess, text: string) => output.split(`"msg":"${text}"`).length - 1;

async function respondedByScrape({ url }: GatewayProcess): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url))).text();
  const counts = text.matchAll(/^http_server_request_duration_seconds_count\{.*mobile".*"200"\} (\d+)$/gm);
  return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
}

/**
 * A request that is sent at the moment at which the server ends its idle connection: on a slow machine, a till may be
 * idle for so long. The server has not read it, so it is in no count.
 */
const MET_THE_END = 'UND_ERR_SOCKET';

test('SIGHUP replaces every process under load, no tap that was read fails, and no count is lost', async () => {
  const group = await startTwo();
  const before = pidsOf(group.output);
  expect([...before.keys()].sort()).toEqual([1, 2]);
  const tills = startTills(group);
  await tills.more(50);
  group.signal('SIGHUP');
  await eventually(() => expect(linesWith(group, 'process replaced')).toBe(2));
  await tills.more(50);
  await tills.stop();
  expect(tills.faults.map(codeOf).filter((code) => code !== MET_THE_END)).toEqual([]);
  expect(tills.faults.length).toBeLessThanOrEqual(TILLS);
  expect(new Set(tills.types)).toEqual(new Set(['Approved']));
  const after = pidsOf(group.output);
  for (const [number, pid] of after) expect(pid).not.toBe(before.get(number));
  expect(await respondedByScrape(group)).toBe(tills.types.length);
  await expectInvariants(installation);
});

test('a process that is killed under load is replaced, and only its own taps in flight fail', async () => {
  const group = await startTwo();
  const tills = startTills(group);
  await tills.more(50);
  const counted = await respondedByScrape(group);
  process.kill(pidsOf(group.output).get(1)!, 'SIGKILL');
  await eventually(() => expect(linesWith(group, 'process replaced')).toBe(1));
  await tills.more(50);
  await tills.stop();
  expect(tills.faults.length).toBeLessThanOrEqual(TILLS);
  expect(new Set(tills.types)).toEqual(new Set(['Approved']));
  expect(await respondedByScrape(group)).toBeGreaterThanOrEqual(counted);
  expect((await fetch(new URL('/readyz', group.url))).status).toBe(200);
  await eventually(() => expectInvariants(installation));
});

test('SIGTERM under load responds to every accepted tap, and ends with exit code 0', async () => {
  const group = await startTwo();
  const before = installation.ledger.length;
  const tills = startTills(group);
  await tills.more(50);
  const ended = group.kill('SIGTERM');
  const { exitCode } = await ended;
  await tills.stop();
  expect(exitCode).toBe(0);
  expect(new Set(tills.types)).toEqual(new Set(['Approved']));
  const faults = tills.faults.map(codeOf);
  expect(faults).toContain('ECONNREFUSED');
  const others = faults.filter((code) => code !== 'ECONNREFUSED');
  expect(others).toEqual(others.map(() => MET_THE_END));
  expect(others.length).toBeLessThanOrEqual(TILLS);
  // No failed request got as far as the switch.
  expect(installation.ledger.length - before).toBe(tills.types.length);
  await expectInvariants(installation);
});
