import type { ProcessorProfile } from '../../../src/processor-kit/profile.ts';
import { PROFILE } from '../simulated-tenant.ts';

/** With little patience: a few repeats lead to its end. */
export const EXPLORED_PROFILE: ProcessorProfile = {
  ...PROFILE,
  reversal: { ...PROFILE.reversal, delaysSeconds: [5, 30, 120], giveUpAfterSeconds: 600 },
};
