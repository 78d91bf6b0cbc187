import { LINK_STATE_MOVES, LinkState, type LinkStateId } from '../model/link-state.ts';

/**
 * The verdict on a state that a phone reports: move, stay because the report is outdated, or refuse because it
 * cannot be true.
 */
export type LinkVerdict = 'moves' | 'stays' | 'refused';

/**
 * Decides what happens to a link when its device reports the state `to`.
 *
 * @param hasOutcome whether the tap on it has a result that a phone could have received
 */
export function judgeAcknowledgement(from: LinkStateId, to: LinkStateId, hasOutcome: boolean): LinkVerdict {
  if (to <= from) return 'stays';
  // Only the gateway decides that a card was read and its tap accepted.
  if (to === LinkState.TransactionCreated) return 'refused';
  if (to === LinkState.ResponseReceivedByPhone && !hasOutcome) return 'refused';
  return LINK_STATE_MOVES.get(from)?.includes(to) ? 'moves' : 'refused';
}
