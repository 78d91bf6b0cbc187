import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Problem } from '../../../schemas/problem.ts';
import type { Webhook } from '../../../schemas/webhook.ts';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { Disposition, type DispositionId, dispositionName } from '../../../src/payments/model/disposition.ts';
import { TransactionType } from '../../../src/payments/model/transaction.ts';
import type { TapRequest } from '../../../src/payments/ports/switch-ports.ts';
import { verifyLedger } from '../../../src/tools/ledger/verify-ledger.ts';
import { Phone, type PhoneResponse } from '../../../src/tools/phone/phone.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { letAllDoubtsPass } from '../../support/transactions.ts';
import { Backend } from '../../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../../webhooks/receiver.ts';

/** Long enough for responses on a busy machine; also the time that tests wait for a silent switch. */
const DEADLINE_MS = 2_500;
/** Longer than any policy allows a job to be held (150 s), and than a reversal waits on another connection (60 s). */
const LONG_SECONDS = 200;

export interface CrashSiteOptions {
  readonly onDatabase?: TestDatabase;
  readonly type?: string;
}

/**
 * Longer than any response may take: a tap waits for its switch, and each of its commits for a database at its limits.
 */
const RESPONSE_WITHIN_MS = 75_000;

/** Between two taps of a phone: without it, six phones keep a processor busy that the gateway needs. */
const TILL_PAUSE_MS = 100;

/** A tap that was sent to a gateway, and the response to the phone, if any. */
interface Submitted {
  readonly merchantReference: string;
  readonly sealed: TapRequest;
  readonly phone: Phone;
  /** The type in the response; undefined without a response, or after a problem. */
  reported: string | undefined;
}

/**
 * A place where gateways are killed: an installation with a switch, an integrator's receiver, and phones that keep
 * their responses, so that all books can be compared at the end.
 */
export class CrashSite {
  readonly installation: Installation;
  readonly #receiver: Receiver;
  readonly #submitted: Submitted[] = [];
  /** Every response that was not an outcome. */
  readonly #problems: PhoneResponse[] = [];
  #slowestMs = 0;

  private constructor(installation: Installation, receiver: Receiver) {
    this.installation = installation;
    this.#receiver = receiver;
  }

  static async open({ onDatabase, type = 'type-1' }: CrashSiteOptions = {}): Promise<CrashSite> {
    const installation = await startInstallation({
      role: 'none',
      profile: { deadlineMs: DEADLINE_MS },
      testDatabase: onDatabase,
      type,
      // The jobs of killed gateways are found as soon as in production.
      settings: { JOB_MONITOR_SECONDS: '1' },
    });
    const receiver = await startReceiver();
    const gateway = await installation.startGateway();
    await (await Backend.open(installation)).listenAt(receiver.url);
    await gateway.stop();
    await installation.database.query(`update webhook_endpoints set created_at = created_at - interval '1 hour'`);
    return new CrashSite(installation, receiver);
  }

  /**
   * Submits one tap for each amount at once, each with its own phone. Returns the reported types, undefined for no
   * response.
   */
  async tap(url: string, amounts: readonly string[]): Promise<(string | undefined)[]> {
    const profile = this.installation.profile('coffee', url);
    return Promise.all(
      amounts.map(async (amount) => {
        const phone = new Phone(profile);
        const sealed = await phone.seal({ amount, currency: 'ZAR' }).catch(() => undefined);
        if (!sealed) return undefined; // it ended before it returned its keys
        const submitted: Submitted = {
          merchantReference: sealed.merchantReference,
          sealed,
          phone,
          reported: undefined,
        };
        this.#submitted.push(submitted);
        const startedAtMs = performance.now();
        const response = await phone.submit(sealed).catch(() => undefined);
        this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startedAtMs);
        if (response !== undefined && response.status !== 200) this.#problems.push(response);
        if (response?.status === 200) submitted.reported = outcomeOf(response).type;
        return submitted.reported;
      }),
    );
  }

  /** Taps one after another, with that number of phones, until `fault` is over. */
  async tapDuring(url: string, phones: number, fault: () => Promise<unknown>): Promise<void> {
    let isOver = false;
    const tapping = Array.from({ length: phones }, async () => {
      while (!isOver) {
        await this.tap(url, ['10.00']);
        await sleep(TILL_PAUSE_MS);
      }
    });
    try {
      await fault();
    } finally {
      isOver = true;
      await Promise.all(tapping);
    }
  }

  /**
   * Every tap had a response, or its connection was closed, before its deadline. Every refusal has a reason, and none
   * was a bug.
   */
  expectTimelyResponses(): void {
    expect(this.#slowestMs).toBeLessThan(RESPONSE_WITHIN_MS);
    const reported = this.#problems.map(({ status, body }) => ({ status, errorCode: (body as Problem).errorCode }));
    const isSound = ({ status, errorCode }: (typeof reported)[number]) => status === 503 || errorCode === 201;
    expect(reported.filter((problem) => !isSound(problem))).toEqual([]);
  }

  /** A tap is approved: the processes have found each other. */
  async untilApproved(url: string): Promise<void> {
    await eventually(async () => expect(await this.tap(url, ['10.00'])).toEqual(['Approved']));
  }

  /** Releases the work of killed processes: lets the time of every claim pass. */
  async letClaimsLapse(): Promise<void> {
    await this.installation.database.query(
      `update pgboss.job set started_on = started_on - $1 * interval '1 s' where state = 'active'`,
      [LONG_SECONDS],
    );
  }

  /** Waits until no work is due; work scheduled for later may remain. A gateway must run. */
  async untilQuiet(): Promise<void> {
    const { database } = this.installation;
    await eventually(async () => {
      await database.query(
        `update transactions set deadline_at = deadline_at - $1 * interval '1 s'
         where reversal_state in (1, 2, 5) and deadline_at > clock_timestamp() - $1 * interval '1 s'`,
        [LONG_SECONDS],
      );
      await letAllDoubtsPass(database);
      await database.query(
        `update pgboss.job set start_after = clock_timestamp()
         where state < 'active' and name in ('reverse', 'webhook') and start_after > clock_timestamp()`,
      );
      // On a busy machine, repeated kills use up the few tries of a job that submits a tap. It is then decided when it is overdue.
      const { rows } = await database.query(
        `select name, state::text, data from pgboss.job where state < 'completed' and name <> 'purge'
         and not (name = 'dead-letters' and data - '{acquirerId,id,attempt}'::text[] = '{}')
         union all select 'overdue', 'created', to_jsonb(o) from open_attempts o`,
      );
      expect(rows).toEqual([]);
    });
  }

  /** After a fault: taps are approved again, all work that it left is done, and nothing is lost. */
  async comesToRest(url: string): Promise<void> {
    await this.untilApproved(url);
    this.expectTimelyResponses();
    await expectSoundStates(this.installation.database);
    await this.letClaimsLapse();
    await this.untilQuiet();
    await this.expectNothingLost(url);
  }

  /** No money is lost or taken twice; phones and the integrator know the state of the database. */
  async expectNothingLost(url: string): Promise<void> {
    const { database, ledger } = this.installation;
    const findings = await verifyLedger({ database, ledger, types: await loadProcessors() });
    expect(findings.flatMap(({ check, violations }) => violations.map((each) => ({ check, ...each })))).toEqual([]);
    expect(findings.find(({ check }) => check === 'I1')).toMatchObject({ open: 0 });
    await this.#expectPhonesToAgree(url);
    await this.#expectReceiverToAgree();
  }

  /** The outcome reported to a phone is still valid. A phone without an outcome repeats its request and gets it. */
  async #expectPhonesToAgree(url: string): Promise<void> {
    const { database, tenants } = this.installation;
    for (const { merchantReference, sealed, phone, reported } of this.#submitted) {
      const { rows } = await database.query<{ disposition: DispositionId; isVoided: boolean }>(
        'select disposition, void_state is not null as "isVoided" from transactions where merchant_reference = $1',
        [merchantReference],
      );
      if (rows.length === 0) {
        expect(reported, `${merchantReference} has no row`).toBeUndefined();
        continue;
      }
      const stored = dispositionName(rows[0]!.disposition);
      // An uncertain tap is reported as Indeterminate, before and after the reversal. A tap that was voided on request
      // was Approved, and is Voided for later requests.
      const isOnRequest = rows[0]!.isVoided;
      const due =
        stored !== 'Voided' ? stored : !isOnRequest ? 'Indeterminate' : reported === undefined ? 'Voided' : 'Approved';
      if (reported !== undefined) expect(reported).toBe(due);
      else {
        const again = new Phone(tenants.profile('coffee', url), phone.deviceInstallationId);
        expect(outcomeOf(await again.submit(sealed)).type).toBe(due);
      }
    }
  }

  /** The integrator received every outcome at least once, and the last one is that of the row. */
  async #expectReceiverToAgree(): Promise<void> {
    const latest = new Map<string, Webhook>();
    for (const { body } of this.#receiver.received) {
      const event = JSON.parse(body.toString()) as Webhook;
      const before = latest.get(event.serviceReference);
      if (!before || before.sequence <= event.sequence) latest.set(event.serviceReference, event);
    }
    const { rows } = await this.installation.database.query<{ id: string; disposition: DispositionId }>(
      'select id, disposition from transactions where disposition <> $1 and type <> $2',
      [Disposition.DeclinedOffline, TransactionType.Void],
    );
    const reported = rows.map(({ id }) => [id, latest.get(id)?.disposition]);
    expect(reported).toEqual(rows.map(({ id, disposition }) => [id, dispositionName(disposition)]));
  }

  async close(): Promise<void> {
    await this.installation.stop();
    await this.#receiver.close();
  }
}
