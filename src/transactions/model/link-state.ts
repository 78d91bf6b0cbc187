/**
 * How far a link or intent has come on a phone (interface 3.2). The numbers are those of the contract.
 *
 * **QRCodeGenerated** is its birth. A device that fetched its details, with its own token and in time, has
 * **QRCodeScanned** it; ready to read a card, the device says **TransactionStarted**. The commit that accepts a tap for it
 * makes it **TransactionCreated**, whatever was lost before. **ResponseReceivedByPhone** is the device's word that it has
 * the gateway's answer, and counts only once there is one.
 *
 * It never goes backwards: what is behind it already changes nothing, so every step may be told twice or too late. A second
 * tap, after a decline has given the link free again, starts from where the first one came to. Expiry is no state: an
 * expired link stays where it was.
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

export const LINK_STATE_NAMES = Object.keys(LinkState) as LinkStateName[];

export function linkStateName(id: LinkStateId): LinkStateName {
  return LINK_STATE_NAMES[id]!;
}

/** Every allowed move. */
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
