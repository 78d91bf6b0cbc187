/** First keys of the advisory locks that concern acquirers; the second key is the acquirer's number. */
export const LOCKS = {
  /** Shared by each commit that writes rows of the acquirer while it is moved (0001_schema.sql names this number). */
  writes: 7_403_001,
  /** Shared by each process while it has connections to the acquirer's switches. */
  lines: 7_403_002,
  /** Shared by each process that is signed on to a switch of the acquirer. */
  signedOn: 7_403_003,
  /** Exclusive: only one command moves the acquirer. */
  move: 7_403_004,
  /** Shared by each commit that looks for an endpoint which its process does not know; exclusive for a new endpoint. */
  newEndpoints: 7_403_005,
} as const;
