import { randomUUID } from 'node:crypto';
import type { OwnTokens } from '../auth/tokens/own-tokens.ts';
import { createPinTokens } from '../auth/tokens/pin-token.ts';
import { createCardVault } from '../card/card-vault.ts';
import { createCardDataOpener } from '../card/open-card-data.ts';
import { HandoverSealer } from '../card/seal-handover.ts';
import type { Config } from '../config.ts';
import type { Pipeline } from '../jobs/pipeline.ts';
import type { Log } from '../ops/log.ts';
import type { postgresHandoverKeys } from '../store/switches/handover-keys.ts';
import type { AcquirerSwitches } from '../switches/acquirer-switches.ts';
import { OriginalConnections } from '../transactions/model/original-connections.ts';
import type { ReviewReason } from '../transactions/ports/process-ports.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';
import type { Stores } from './open-stores.ts';

/** On level error: somebody is called. */
const REVIEWS: Readonly<Record<ReviewReason, string>> = {
  UNACKNOWLEDGED: 'no switch has acknowledged a reversal or a completion in all its time: a person must look',
  UNSENDABLE: 'a reversal cannot be built: a person must look',
  APPROVED_AFTER_DECLINE: 'a switch approved what it had declined: it is reversed, and a person must look',
  CONTRADICTORY: "a switch's answers to a reversal contradict each other: a person must look",
};

export interface DependencyParts extends Pick<TransactionDependencies, 'clock' | 'wakeups'> {
  readonly config: Config;
  readonly stores: Stores;
  readonly ownTokens: OwnTokens;
  /** Of a process that has lines; the others hand their taps over. */
  readonly switches: AcquirerSwitches | undefined;
  readonly handoverKeys: ReturnType<typeof postgresHandoverKeys>;
  readonly log: Log;
  /** None before it is started, and in a process without lines. */
  readonly pipeline: () => Pipeline | undefined;
}

/** Everything that use cases reach. */
export function createTransactionDependencies(parts: DependencyParts): TransactionDependencies {
  const { config, stores, ownTokens, clock, wakeups, switches, handoverKeys, log, pipeline } = parts;
  const { keys, directory, store, refunds, completions, links } = stores;
  return {
    clock,
    newId: randomUUID,
    ...{ directory, store, refunds, completions, links, wakeups },
    cardData: createCardDataOpener({ keys, allowBare: config.ALLOW_BARE_CARD_DATA }),
    vault: createCardVault(keys),
    originals: new OriginalConnections(),
    pinTokens: createPinTokens(ownTokens),
    pinSeconds: config.PIN_SECONDS,
    alarms: {
      needsReview: ({ acquirerId, id }, reason, fault) =>
        log.error({ acquirerId, id, reason: fault ?? reason }, REVIEWS[reason]),
    },
    reverseAhead: (asked, jobId) => pipeline()?.reverseAhead(asked, jobId),
    path: switches ? { kind: 'direct', switches } : { kind: 'handover', handover: new HandoverSealer(handoverKeys) },
  };
}
