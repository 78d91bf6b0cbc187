import type { OriginalConnections } from '../model/original-connections.ts';
import type { CardDataOpener, CardVault, Handover } from './card-ports.ts';
import type { CompletionStore } from './completion-ports.ts';
import type { Directory } from './directory-ports.ts';
import type { LinkStore } from './link-ports.ts';
import type { PinTokens, ReaderPinKey } from './pin-ports.ts';
import type { Alarms, Clock, Wakeups } from './process-ports.ts';
import type { RefundStore } from './refund-ports.ts';
import type { ReversalAttempt } from './reversal-ports.ts';
import type { TransactionStore } from './store-ports.ts';
import type { OtherProcesses, Switches } from './switch-ports.ts';

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
  readonly wakeups: Wakeups;
  readonly originals: OriginalConnections;
  readonly pinTokens: PinTokens;
  readonly readerPins: ReaderPinKey;
  /** How long a PIN is awaited. */
  readonly pinSeconds: number;
  readonly alarms: Alarms;
  /** Sends a reversal from this process without waiting for its job, if capacity is free. */
  readonly reverseAhead: (asked: ReversalAttempt, jobId: string | undefined) => void;
  /**
   * How a tap continues: this process submits it, or seals it for the workers. `others` is absent in a process that is
   * alone.
   */
  readonly path:
    | { readonly kind: 'direct'; readonly switches: Switches; readonly others?: OtherProcesses | undefined }
    | { readonly kind: 'handover'; readonly handover: Handover };
}
