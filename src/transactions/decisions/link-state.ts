import { LINK_STATE_MOVES, LinkState, type LinkStateId } from '../model/link-state.ts';

/** What a phone's word for a state comes to: the next state, none because it is behind, or none because it cannot be true. */
export type LinkVerdict = 'moves' | 'stays' | 'refused';

/**
 * What becomes of a link when its device says that it came to `to`.
 *
 * @param hasOutcome whether the tap on it has an answer that a phone could have received
 */
export function judgeAcknowledgement(from: LinkStateId, to: LinkStateId, hasOutcome: boolean): LinkVerdict {
  if (to <= from) return 'stays';
  // That a card was read and its tap accepted is ours to say.
  if (to === LinkState.TransactionCreated) return 'refused';
  if (to === LinkState.ResponseReceivedByPhone && !hasOutcome) return 'refused';
  return LINK_STATE_MOVES.get(from)?.includes(to) ? 'moves' : 'refused';
}
