/**
 * The disposition is the final result of a transaction (interface 3.1). It is null until the result is known. The
 * numbers are the published ids.
 *
 * null -> **Approved** | **Declined** | **DeclinedOffline** (the card itself refused: AAC) | **UnableToGoOnline**
 * (nothing was written to a switch) | **Indeterminate** (something was written and no usable response came, so a
 * reversal is required). Indeterminate -> **Voided** when the switch acknowledges the reversal. Approved ->
 * **Voided** when the merchant voids the sale.
 *
 * A person who resolves a transaction that needs review (resolve-review.ts) makes an Indeterminate one **Voided** or
 * **Approved**, and an Approved one Voided or not, as the switch's books say.
 */
export const Disposition = {
  Approved: 0,
  Declined: 1,
  DeclinedOffline: 2,
  UnableToGoOnline: 3,
  Indeterminate: 4,
  Voided: 5,
} as const;

export type DispositionId = (typeof Disposition)[keyof typeof Disposition];
export type DispositionName = keyof typeof Disposition;

const DISPOSITION_NAMES = Object.keys(Disposition) as DispositionName[];

export function dispositionName(id: DispositionId): DispositionName {
  return DISPOSITION_NAMES[id]!;
}

/** Every allowed transition; `null` means that the result is not known yet. */
export const DISPOSITION_MOVES: ReadonlyMap<DispositionId | null, readonly DispositionId[]> = new Map<
  DispositionId | null,
  readonly DispositionId[]
>([
  [null, [0, 1, 2, 3, 4]],
  [Disposition.Indeterminate, [Disposition.Approved, Disposition.Voided]],
  [Disposition.Approved, [Disposition.Voided]],
]);
