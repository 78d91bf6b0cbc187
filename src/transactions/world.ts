import type { OriginalConnections } from './original-connections.ts';
import type {
  CardDataOpener,
  CardVault,
  Clock,
  Directory,
  Handover,
  Switches,
  TransactionStore,
  Wakeups,
} from './ports.ts';

/** Everything the use cases reach the world by. Composed once, in main.ts. */
export interface World {
  readonly clock: Clock;
  /** A UUID v4. */
  readonly newId: () => string;
  readonly directory: Directory;
  readonly cardData: CardDataOpener;
  readonly vault: CardVault;
  readonly store: TransactionStore;
  readonly wakeups: Wakeups;
  readonly originals: OriginalConnections;
  /** How a tap goes on: to a switch from this process, or sealed to the workers. */
  readonly path:
    | { readonly kind: 'direct'; readonly switches: Switches }
    | { readonly kind: 'handover'; readonly handover: Handover };
}
