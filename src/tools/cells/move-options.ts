import type { CellSession } from './cell-session.ts';

/** After each step; the order is the order of a move. */
export type MoveStep =
  | 'checked'
  | 'announced'
  | 'fenced'
  | 'replicating'
  | 'copied'
  | 'held'
  | 'drained'
  | 'closed'
  | 'gaveUp'
  | 'arrived'
  | 'tookOver'
  | 'signedOn'
  | 'flipped'
  | 'finished';

export interface MoveOptions {
  readonly source: CellSession;
  readonly target: CellSession;
  readonly acquirerId: number;
  /** Makes the proxy send requests of the acquirer to the target; may be repeated. */
  readonly flip: () => Promise<void>;
  /** Called after each step. */
  readonly onStep?: ((step: MoveStep, detail?: string) => void | Promise<void>) | undefined;
}
