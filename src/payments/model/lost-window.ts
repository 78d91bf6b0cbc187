/** The time whose commits the database may lack, and what an operator has compared since. */
export interface LostWindow {
  readonly fromMs: number;
  /** When the last gateway stopped that worked with the lost commits, or the present one noticed the restore. */
  readonly untilMs: number;
  readonly holdsAllTaps: boolean;
  /** Merchants whose books were compared: `1 1001`, or `1` for all of an acquirer. */
  readonly released: ReadonlySet<string>;
}
