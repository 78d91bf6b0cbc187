import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OnlineAuthorization } from '../../../schemas/mobile-transaction.ts';
import type { Phone } from '../../../src/tools/phone/phone.ts';
import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type Installation, type StartedGateway, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { faultsIn } from '../../support/log-lines.ts';
import { postTap, type RawResponse } from '../../support/requests.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', profile: { deadlineMs: 6_000, overtakingGuardSeconds: 5 } });
});
afterAll(() => installation.stop());

/** A load balancer in front of api processes: checks which are ready, and tries the next if one refuses. */
class Balancer {
  readonly #nodes: StartedGateway[] = [];

  add(node: StartedGateway): void {
    this.#nodes.push(node);
  }

  async remove(node: StartedGateway): Promise<void> {
    await node.stop();
    this.#nodes.splice(this.#nodes.indexOf(node), 1);
  }

  /**
   * The response of the first node that accepts the tap: one that is closing sends 503, or nothing, before it stores
   * anything. On a busy machine the outcome may be unknown when the response is due (500/201): the phone then repeats
   * its request.
   */
  async tap(phone: Phone, amount: string): Promise<RawResponse> {
    const sealed = await phone.seal({ amount, currency: 'ZAR' });
    return eventually(async () => {
      for (const { url } of this.#nodes.toReversed()) {
        const response = await postTap(url, phone, sealed).catch(() => undefined);
        if (response !== undefined && response.status !== 503 && !isUnknownYet(response)) return response;
      }
      throw new Error('No node accepts the tap');
    });
  }
}

/** Ten tills, each with its next tap as soon as it has a response, until they are stopped. */
function startTills(balancer: Balancer) {
  let isOn = true;
  const responses: RawResponse[] = [];
  const tills = Array.from({ length: 10 }, async () => {
    const phone = installation.phone();
    while (isOn) responses.push(await balancer.tap(phone, '10.00'));
  });
  return {
    responses,
    /** Resolves when that many more received a response. */
    more: (count: number) => {
      const wanted = responses.length + count;
      return eventually(() => expect(responses.length).toBeGreaterThanOrEqual(wanted));
    },
    stop: async () => {
      isOn = false;
      await Promise.all(tills);
    },
  };
}

const isUnknownYet = ({ status, body }: RawResponse) =>
  status === 500 && (body as { errorCode?: number }).errorCode === 201;

const typeOf = ({ status, body }: RawResponse) =>
  status === 200
    ? (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse.type
    : `${status}`;

/** On a starved machine, Postgres may exceed the limits of the gateway. A restart must cause no other fault. */
async function expectSound(): Promise<void> {
  await expectInvariants(installation, { areFaultsExpected: true });
  const faults = faultsIn(installation.logLines);
  expect(faults.filter(({ error }) => (error as { code?: string } | undefined)?.code !== 'STORE_UNAVAILABLE')).toEqual(
    [],
  );
}

describe('api and worker in separate processes', () => {
  test('every process is replaced under load, and no tap fails', async () => {
    const balancer = new Balancer();
    let worker = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
    let api = await installation.startGateway({ TAPWIRE_ROLE: 'api' });
    balancer.add(api);
    const tills = startTills(balancer);
    for (let round = 0; round < 2; round++) {
      await tills.more(30);
      const nextWorker = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
      await tills.more(10);
      await worker.stop();
      worker = nextWorker;
      await tills.more(30);
      const nextApi = await installation.startGateway({ TAPWIRE_ROLE: 'api' });
      balancer.add(nextApi);
      await balancer.remove(api);
      api = nextApi;
    }
    await tills.more(30);
    await tills.stop();
    expect(new Set(tills.responses.map(typeOf))).toEqual(new Set(['Approved']));
    expect(installation.ledger).toHaveLength(tills.responses.length);
    await api.stop();
    await worker.stop();
    await expectSound();
  });

  test('two of each share the work; with one worker killed the other continues, and uncertain taps are reversed', async () => {
    const balancer = new Balancer();
    const apis = [
      await installation.startGateway({ TAPWIRE_ROLE: 'api' }),
      await installation.startGateway({ TAPWIRE_ROLE: 'api' }),
    ];
    for (const api of apis) balancer.add(api);
    const before = installation.ledger.length;
    const doomed = await GatewayProcess.start(installation, 'worker');
    const survivor = await GatewayProcess.start(installation, 'worker');
    const tills = startTills(balancer);
    await tills.more(100);
    const carried = await Promise.all(
      [doomed, survivor].map(async ({ url }) => (await installation.switchStats(url)).responded),
    );
    expect(Math.min(...carried)).toBeGreaterThan(10);
    await doomed.kill('SIGKILL');
    await tills.more(60);
    await tills.stop();
    const types = tills.responses.map(typeOf);
    // The other worker decides the taps of the killed one, as uncertain or unsent; nothing else is lost.
    const unlucky = types.filter((type) => type !== 'Approved');
    expect(unlucky.length).toBeLessThanOrEqual(10);
    expect(unlucky.filter((type) => type !== 'Indeterminate' && type !== 'UnableToGoOnline')).toEqual([]);
    expect(installation.ledger.length - before).toBeGreaterThanOrEqual(types.length - unlucky.length);
    await eventually(expectSound);
    await survivor.kill('SIGTERM');
    for (const api of apis) await api.stop();
  });
});
