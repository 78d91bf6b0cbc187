import { createPinTokens, type OwnTokens } from '../auth/tokens/gateway-tokens.ts';
import { newId } from '../basics/uuid.ts';
import { createCardVault } from '../card/card-vault.ts';
import type { HandoverSealer } from '../card/handover.ts';
import { createCardDataOpener, type RefusedCardData } from '../card/open-card-data.ts';
import type { PipelineHandle } from '../jobs/pipeline.ts';
import type { Log } from '../observe/log.ts';
import type { LinkServices } from '../payments/links/create-link.ts';
import { OriginalConnections } from '../payments/model/switch-revision.ts';
import type { IntentTokens } from '../payments/ports/store-ports.ts';
import type { OtherProcesses } from '../payments/ports/switch-ports.ts';
import type {
  Clock,
  ReviewReason,
  TransactionDependencies,
  TransactionObserver,
  Wakeups,
} from '../payments/ports/transaction-dependencies.ts';
import type { PostgresDirectory } from '../store/directory/directory.ts';
import type { AcquirerSwitches } from '../switching/switches/acquirer-switches.ts';
import { LEASE_SECONDS } from '../webhooks/prompt-deliveries.ts';
import type { Config } from './config.ts';
import type { CardReaders } from './open-hsm-and-readers.ts';
import type { Stores } from './open-stores.ts';
import type { LongestDeadlines } from './open-switches.ts';

/** Logged on level error, because a person must act. */
const REVIEWS: Readonly<Record<ReviewReason, string>> = {
  UNACKNOWLEDGED: 'no switch acknowledged a reversal or completion in the allowed time, transaction needs review',
  UNSENDABLE: 'a reversal cannot be built, transaction needs review',
  APPROVED_AFTER_DECLINE: 'a switch approved after a decline, a reversal follows and the transaction needs review',
  CONTRADICTORY: 'responses of a switch to a reversal contradict each other, transaction needs review',
};

/** All dependencies of the use cases. */
export function createTransactionDependencies(parts: {
  readonly clock: Clock;
  readonly observer: TransactionObserver;
  readonly wakeups: Wakeups;
  readonly config: Config;
  readonly stores: Stores;
  readonly ownTokens: OwnTokens;
  readonly cardReaders: CardReaders;
  readonly deadlines: LongestDeadlines;
  /** Present in a process with connections to switches; other processes hand their taps over. */
  readonly switches: AcquirerSwitches | undefined;
  /** Present in a process that shares the switches with others. */
  readonly others: OtherProcesses | undefined;
  /** Seals taps that this process hands over. */
  readonly sealer: HandoverSealer;
  /** Receives each refusal of card data. */
  readonly onRefused: (refused: RefusedCardData) => void;
  readonly log: Log;
  readonly pipeline: PipelineHandle;
}): TransactionDependencies {
  const { config, stores, ownTokens, cardReaders, deadlines, clock, wakeups, switches, others, sealer, log, pipeline } =
    parts;
  const { observer, onRefused } = parts;
  const { keys, directory, store, refunds, completions, links, restoreHolds } = stores;
  return {
    clock,
    newId: () => newId(clock.nowMs()),
    ...{ directory, store, refunds, completions, links, restoreHolds, observer, wakeups },
    cardData: createCardDataOpener({
      ...cardReaders,
      blobHmac: keys.blobHmac,
      allowBare: config.ALLOW_BARE_CARD_DATA,
      onRefused,
    }),
    vault: createCardVault(keys),
    longestDeadlineSeconds: deadlines.secondsOf,
    originals: new OriginalConnections(),
    pinTokens: createPinTokens(ownTokens),
    readerPins: { keyId: config.READER_PIN_KEY, format: config.READER_PIN_FORMAT },
    pinSeconds: config.PIN_SECONDS,
    alarms: {
      needsReview: ({ acquirerId, id }, reason, fault) =>
        log.error({ acquirerId, id, reason: fault ?? reason }, REVIEWS[reason]),
    },
    reverseAhead: (asked, jobId) => pipeline.reverseAhead(asked, jobId),
    promptWebhooks: switches && { leaseSeconds: LEASE_SECONDS, deliver: pipeline.deliverWebhooks },
    path: switches ? { kind: 'direct', switches, others } : { kind: 'handover', handover: sealer },
  };
}

/** The services that create links need, for routes and for push payments. */
export function createLinkServices(
  config: Config,
  { clock, newId, links, restoreHolds }: TransactionDependencies,
  directory: PostgresDirectory,
  tokens: IntentTokens,
  origin: () => string,
): LinkServices {
  return {
    links,
    tokens,
    directory,
    restoreHolds,
    merchants: directory,
    clock,
    newId,
    lifetimeMinutes: config.LINK_MINUTES,
    appUrl: () => config.APP_URL ?? origin(),
  };
}
