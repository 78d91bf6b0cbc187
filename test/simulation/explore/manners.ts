/**
 * How the switch behaves after the faults. `obliging`: it acknowledges what is reversed already. `strict`: it refuses
 * that (57), and cannot locate what it never booked (25). `silent`: it no longer responds to reversals.
 */
export type Manner = 'obliging' | 'strict' | 'silent';

export const MANNERS: readonly Manner[] = ['strict', 'obliging', 'silent'];
