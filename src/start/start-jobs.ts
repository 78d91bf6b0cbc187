import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HandoverOpener, LIVE_KEYS_TRUSTED_MS, readHandovers } from '../card/handover.ts';
import { type AroundJob, Pipeline } from '../jobs/pipeline.ts';
import { namesInPayload } from '../jobs/queues.ts';
import { bringForwardIn, type ObservedSwitches, SwitchRecoveries } from '../jobs/switch-recoveries.ts';
import { MAX_DEADLINE_MS } from '../kits/processor-kit/profile.ts';
import { armFetcher } from '../observe/failpoints.ts';
import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import { RESPONSE_SLACK_SECONDS } from '../payments/model/time-limits.ts';
import type { TransactionDependencies, Wakeups } from '../payments/ports/transaction-dependencies.ts';
import type { UseCases } from '../payments/use-cases.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { LocalWakeups, SharedWakeups } from '../store/postgres/wakeups.ts';
import type { postgresHandoverKeys } from '../store/switches/handover-keys.ts';
import { OpenAttempts } from '../store/transactions/open-attempts.ts';
import { purge, type Retention } from '../store/transactions/purge.ts';
import { PostgresPromptDeliveries } from '../store/webhooks/prompt-deliveries.ts';
import {
  PostgresWaitingDeliveries,
  PostgresWebhookDeliveries,
  type WriteBody,
} from '../store/webhooks/webhook-deliveries.ts';
import type { SharedLines } from '../switching/switches/other-processes.ts';
import { Lanes } from '../webhooks/lanes.ts';
import { PromptDeliveries } from '../webhooks/prompt-deliveries.ts';
import { Recoveries } from '../webhooks/recoveries.ts';
import { providerIdOf, webhookBody } from '../webhooks/webhook-body.ts';
import { WebhookDeliverer } from '../webhooks/webhook-deliverer.ts';
import { createSecretVault } from '../webhooks/webhook-signature.ts';
import type { Config } from './config.ts';
import type { Pushes } from './open-pushes.ts';
import type { Databases, Stores } from './open-stores.ts';
import type { Opening } from './opening.ts';

export interface JobParts extends Opening {
  readonly databases: Databases;
  readonly stores: Stores;
  readonly handoverKeys: ReturnType<typeof postgresHandoverKeys>;
  /** Present in a process that shares the switches with others: it takes their taps. */
  readonly others: SharedLines | undefined;
  readonly deps: TransactionDependencies;
  readonly useCases: UseCases;
  readonly switches: ObservedSwitches;
  readonly fetcher: GuardedFetch;
  readonly pushes: Pushes;
  readonly othersJobsEveryMs: number | undefined;
  /** Wraps each job when tracing is enabled. */
  readonly around?: AroundJob | undefined;
}

/**
 * Starts everything that works through queues: the status pipeline, the webhook deliverer and the handover opener.
 */
export async function startJobs(
  parts: JobParts,
): Promise<{ readonly pipeline: Pipeline; readonly webhooks: PromptDeliveries }> {
  const { config, databases, stores, handoverKeys, others, deps, report, closers } = parts;
  const isWorker = config.TAPWIRE_ROLE === 'worker';
  const onUnpublished = report('handover key could not be published');
  const opener = others ? await openHandovers(handoverKeys, isWorker, onUnpublished) : undefined;
  if (opener) closers.push(() => opener.stop());
  const lanes = new Lanes(deps.clock.monotonicMs);
  const recoveries = createRecoveries(parts, lanes);
  const deliverer = createDeliverer(parts, lanes, recoveries);
  const webhooks = createPromptDeliveries(parts, lanes, deliverer);
  const onPartitionError = report('partitions could not be kept, the next purge tries again');
  const onJobError = report('job failed, it will be retried');
  const pipeline = new Pipeline(stores.jobs, deps, parts.useCases, {
    onError: (error, queue, asked) => onJobError(error, { queue, ...namesInPayload(queue, asked) }),
    onUnknownDue: report('jobs that are due could not be looked for'),
    // The jobs of a worker come from the api processes.
    othersJobsEveryMs: isWorker ? 0 : parts.othersJobsEveryMs,
    openHandover: opener && readHandovers(opener),
    deliverWebhook: (payload, jobId, hand) => deliverer.deliver(payload, jobId, hand),
    openAttempts: new OpenAttempts(databases.jobs),
    around: parts.around,
    retryPush: (payload) => parts.pushes.payments.retry(payload),
    purge: () => purge(databases.reports, retentionOf(config), onPartitionError),
  });
  const switchRecoveries = new SwitchRecoveries({
    switches: parts.switches,
    bringForward: bringForwardIn(databases.jobs),
    nowMs: deps.clock.monotonicMs,
    onError: report('reversals and completions could not be brought forward'),
  });
  closers.push(() => switchRecoveries.stop());
  await stores.jobs.keepOne({ queue: 'purge', data: {} });
  // After the jobs that are in progress, which may commit outcomes.
  closers.push(() => webhooks.stop());
  closers.push(() => pipeline.stop());
  closers.push(() => deliverer.stop());
  closers.push(() => recoveries.stop());
  if (opener) closers.push(() => withdraw(opener, isWorker));
  if (others) closers.push(() => others.withdraw());
  return { pipeline, webhooks };
}

async function openHandovers(
  keys: ReturnType<typeof postgresHandoverKeys>,
  isWorker: boolean,
  onError: (error: unknown) => void,
): Promise<HandoverOpener> {
  const longestWaitMs = MAX_DEADLINE_MS + RESPONSE_SLACK_SECONDS * 1_000;
  const opener = new HandoverOpener({ keys, workerId: randomUUID(), longestWaitMs, onError });
  const others = await keys.live();
  await opener.start();
  // Until the api processes seal for this worker too, it would only take taps from the workers that can open them.
  // Processes that submit their own taps hand over few.
  if (isWorker && others.length > 0) await sleep(LIVE_KEYS_TRUSTED_MS);
  return opener;
}

/**
 * Waits until no api process seals taps for this worker any longer. The worker still opens the taps that are in
 * transit. Taps from processes that submit their own are sealed for all of them, and rare: they are not waited for.
 */
async function withdraw(opener: HandoverOpener, isWorker: boolean): Promise<void> {
  await opener.withdraw();
  if (isWorker) await sleep(LIVE_KEYS_TRUSTED_MS);
}

function createRecoveries({ databases, deps, report }: JobParts, lanes: Lanes): Recoveries {
  return new Recoveries({
    waiting: new PostgresWaitingDeliveries(databases.jobs),
    lanes,
    nowMs: deps.clock.monotonicMs,
    random: Math.random,
    onError: report('waiting webhooks could not be brought forward'),
  });
}

function createDeliverer(
  { config, databases, stores, deps, fetcher }: JobParts,
  lanes: Lanes,
  recoveries: Recoveries,
): WebhookDeliverer {
  const { clock } = deps;
  const store = new PostgresWebhookDeliveries(databases.jobs, stores.jobs, bodyWriter(deps));
  const vault = createSecretVault(stores.keys);
  const armed = armFetcher(fetcher, config.TAPWIRE_FAILPOINTS);
  return new WebhookDeliverer({ store, fetcher: armed, vault, lanes, recoveries, clock, random: Math.random });
}

function createPromptDeliveries(
  { databases, stores, deps, report, around = (_queue, _asked, work) => work() }: JobParts,
  lanes: Lanes,
  deliverer: WebhookDeliverer,
): PromptDeliveries {
  return new PromptDeliveries({
    store: new PostgresPromptDeliveries(databases.jobs, stores.jobs, bodyWriter(deps)),
    deliverer,
    lanes,
    nowMs: deps.clock.monotonicMs,
    around: (job, work) => around('webhook', job, work),
    onError: report('webhook could not be delivered or recorded, its job follows'),
  });
}

function bodyWriter(deps: TransactionDependencies): WriteBody {
  return (transaction, outcome, paymentReference) =>
    webhookBody(transaction, outcome, providerIdOf(deps, transaction), paymentReference);
}

function retentionOf(config: Config): Retention {
  return {
    cardDays: config.RETENTION_CARD_DAYS,
    auditDays: config.RETENTION_AUDIT_DAYS,
    webhookDays: config.RETENTION_WEBHOOK_DAYS,
    linkDays: config.RETENTION_LINK_DAYS,
    messageDays: config.RETENTION_MESSAGE_DAYS,
  };
}

/**
 * For taps and for jobs: the channel that reports changes of a transaction to its waiters, within the process or between the processes of
 * an installation.
 */
export function openWakeups(
  { config, report, closers }: Opening,
  {
    sharesSwitches,
    database,
    url,
    onAuthorize,
  }: {
    readonly sharesSwitches: boolean;
    readonly database: Database;
    /** URL for the connection that receives notifications. */
    readonly url: string;
    /** Called for each tap that is handed over to workers. */
    readonly onAuthorize: () => void;
  },
): { readonly ofTaps: Wakeups; readonly ofJobs: Wakeups } {
  const isAlone = config.TAPWIRE_ROLE === 'all' && !sharesSwitches;
  if (isAlone) {
    const local = new LocalWakeups();
    return { ofTaps: local, ofJobs: local };
  }
  const wakeups = new SharedWakeups({
    database,
    url,
    onAuthorize: sharesSwitches ? onAuthorize : undefined,
    onError: report('wake-up channel reported a fault'),
  });
  closers.push(() => wakeups.close());
  return { ofTaps: config.TAPWIRE_ROLE === 'all' ? wakeups.ofOwnTaps : wakeups, ofJobs: wakeups };
}
