/**
 * How the switch behaves after the faults. `obliging`: it acknowledges what is reversed already. `strict`: it refuses
 * that (57), and cannot locate what it never booked (25). `silent`: it no longer responds to reversals.
 */
export type Policy = 'obliging' | 'strict' | 'silent';

export const POLICIES: readonly Policy[] = ['strict', 'obliging', 'silent'];
