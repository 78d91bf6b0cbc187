import type { ProcessorProfile } from '../../../src/kits/processor-kit/profile.ts';
import { PROFILE } from '../simulated-tenant.ts';

/** With short limits: a few repeats lead to the end. */
export const EXPLORED_PROFILE: ProcessorProfile = {
  ...PROFILE,
  reversal: { ...PROFILE.reversal, delaysSeconds: [5, 30, 120], giveUpAfterSeconds: 200 },
};
