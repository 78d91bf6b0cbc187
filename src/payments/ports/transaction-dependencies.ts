import type { OriginalConnections } from '../model/switch-revision.ts';
import type { Directory } from './directory-ports.ts';
import type { TransactionObserver } from './observer.ts';
import type { Alarms, Clock, PromptWebhooks, Wakeups } from './process-ports.ts';
import type {
  CompletionStore,
  LinkStore,
  RefundStore,
  RestoreHolds,
  ReversalAttempt,
  TransactionStore,
} from './store-ports.ts';
import type {
  CardDataOpener,
  CardVault,
  Handover,
  OtherProcesses,
  PinTokens,
  ReaderPinKey,
  Switches,
} from './switch-ports.ts';

/** The dependencies of all use cases, created once in main.ts. */
export interface TransactionDependencies {
  readonly clock: Clock;
  /** A UUID v4. */
  readonly newId: () => string;
  readonly directory: Directory;
  readonly cardData: CardDataOpener;
  readonly vault: CardVault;
  /** The longest deadline of the acquirer's processors: for a tap whose route is not known. */
  readonly longestDeadlineSeconds: (acquirerId: number) => number;
  readonly store: TransactionStore;
  readonly refunds: RefundStore;
  readonly completions: CompletionStore;
  readonly links: LinkStore;
  readonly restoreHolds: RestoreHolds;
  readonly observer: TransactionObserver;
  readonly wakeups: Wakeups;
  readonly originals: OriginalConnections;
  readonly pinTokens: PinTokens;
  readonly readerPins: ReaderPinKey;
  /** How long a PIN is awaited. */
  readonly pinSeconds: number;
  readonly alarms: Alarms;
  /** Sends a reversal from this process without waiting for its job, if capacity is free. */
  readonly reverseAhead: (asked: ReversalAttempt, jobId: string | undefined) => void;
  /** Absent in a process that runs no jobs. */
  readonly promptWebhooks?: PromptWebhooks | undefined;
  readonly path: TransactionPath;
}

/**
 * How a tap continues: this process submits it, or seals it for the workers. `others` is absent in a process that is
 * alone.
 */
export type TransactionPath =
  | { readonly kind: 'direct'; readonly switches: Switches; readonly others?: OtherProcesses | undefined }
  | { readonly kind: 'handover'; readonly handover: Handover };
