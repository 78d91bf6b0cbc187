import type { CompletionStore } from './ports/completion-ports.ts';
import type { LinkStore } from './ports/link-ports.ts';
import type { PinTokens } from './ports/pin-ports.ts';
import type { RefundStore } from './ports/refund-ports.ts';
import type {
  Alarms,
  CardDataOpener,
  CardVault,
  Clock,
  Directory,
  Handover,
  Switches,
  TransactionStore,
  Wakeups,
} from './ports.ts';
import type { OriginalConnections } from './reversal/original-connections.ts';
import type { ReversalAttempt } from './reversal/reverse.ts';

/** Everything the use cases reach the world by. Composed once, in main.ts. */
export interface TransactionDependencies {
  readonly clock: Clock;
  /** A UUID v4. */
  readonly newId: () => string;
  readonly directory: Directory;
  readonly cardData: CardDataOpener;
  readonly vault: CardVault;
  readonly store: TransactionStore;
  readonly refunds: RefundStore;
  readonly completions: CompletionStore;
  readonly links: LinkStore;
  readonly wakeups: Wakeups;
  readonly originals: OriginalConnections;
  readonly pinTokens: PinTokens;
  /** How long a PIN is awaited. */
  readonly pinSeconds: number;
  readonly alarms: Alarms;
  /** Sends a reversal from this process without waiting for its job, if there is a hand free. */
  readonly reverseAhead: (asked: ReversalAttempt, jobId: string | undefined) => void;
  /** How a tap goes on: to a switch from this process, or sealed to the workers. */
  readonly path:
    | { readonly kind: 'direct'; readonly switches: Switches }
    | { readonly kind: 'handover'; readonly handover: Handover };
}
