import { defineProcessor } from '#processor-kit';
import { configSchema, exampleConfig } from './config.ts';
import * as messages from './messages.ts';
import * as outcome from './outcome.ts';
import { framing, match, profile } from './profile.ts';
import { RULES } from './rules.ts';
import { samples } from './samples.ts';
import { readRequest, simulate } from './simulate.ts';
import { codec, spec } from './spec.ts';

export default defineProcessor({
  type: 'acme',
  kit: 1,
  name: 'Acme',
  configSchema,
  exampleConfig,
  spec,
  codec: () => codec,
  framing,
  match,
  profile,
  ...messages,
  ...outcome,
  // EDIT: the identity of the merchant at your switch.
  providerId: (_config, { tid, mid }) => ({ tid, mid }),
  requestRules: RULES,
  readRequest,
  simulate,
  samples,
});
