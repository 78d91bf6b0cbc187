/**
 * The state of a link or intent is its progress on the phone (interface 3.2). The numbers are those of the contract.
 *
 * A link starts in **QRCodeGenerated**. When a device fetches the details with its own token before the link
 * expires, the link becomes **QRCodeScanned**. When the device is ready to read a card, it reports
 * **TransactionStarted**. The commit that accepts a tap for the link makes it **TransactionCreated**, even if an
 * earlier report was lost. **ResponseReceivedByPhone** is the report of the device that it has the gateway's
 * response, and is accepted only after a response exists.
 *
 * The state never moves backwards. A report of an earlier or the same state changes nothing, so a device may repeat
 * a report or send it too late. After a decline has released the link, a second tap starts from the state that the
 * first tap reached. Expiry is not a state: an expired link keeps the state that it had.
 */
export const LinkState = {
  QRCodeGenerated: 0,
  QRCodeScanned: 1,
  TransactionStarted: 2,
  TransactionCreated: 3,
  ResponseReceivedByPhone: 4,
} as const;

export type LinkStateId = (typeof LinkState)[keyof typeof LinkState];

export type LinkStateName = keyof typeof LinkState;

const LINK_STATE_NAMES = Object.keys(LinkState) as LinkStateName[];

export function linkStateName(id: LinkStateId): LinkStateName {
  return LINK_STATE_NAMES[id]!;
}

/** Every allowed transition. */
export const LINK_STATE_MOVES: ReadonlyMap<LinkStateId, readonly LinkStateId[]> = new Map<
  LinkStateId,
  readonly LinkStateId[]
>([
  [LinkState.QRCodeGenerated, [LinkState.QRCodeScanned, LinkState.TransactionStarted, LinkState.TransactionCreated]],
  [LinkState.QRCodeScanned, [LinkState.TransactionStarted, LinkState.TransactionCreated]],
  [LinkState.TransactionStarted, [LinkState.TransactionCreated]],
  [LinkState.TransactionCreated, [LinkState.ResponseReceivedByPhone]],
  [LinkState.ResponseReceivedByPhone, []],
]);
