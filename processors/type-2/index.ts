import { defineProcessor } from '#processor-kit';
import { configSchema, exampleConfig } from './config.ts';
import { keyChange } from './key-change.ts';
import * as messages from './messages.ts';
import * as outcome from './outcome.ts';
import { framing, match, profile } from './profile.ts';
import { RULES } from './rules.ts';
import { samples } from './samples.ts';
import { readRequest, simulate } from './simulate.ts';
import { codec, spec } from './spec.ts';

/**
 * ISO 8583:1987, packed, after a TPDU: README.md in this folder describes the requirements of the network and their
 * reasons.
 */
export default defineProcessor({
  type: 'type-2',
  kit: 1,
  name: 'Type 2 (ISO 8583:1987, packed)',
  configSchema,
  exampleConfig,
  spec,
  codec: () => codec,
  framing,
  match,
  profile,
  mac: messages.mac,
  keyChange,
  completion: messages.completion,
  authorization: messages.authorization,
  mandateAuthorization: messages.mandateAuthorization,
  refund: messages.refund,
  originalData: messages.originalData,
  reversal: messages.reversal,
  networkRequest: messages.networkRequest,
  respondToSwitchRequest: messages.respondToSwitchRequest,
  readOutcome: outcome.readOutcome,
  readReversalResponse: outcome.readReversalResponse,
  isNetworkAccepted: outcome.isNetworkAccepted,
  providerId: ({ appId, userId }) => ({ appId, ...(userId !== undefined && { userId }) }),
  providerFields: outcome.providerFields,
  requestRules: RULES,
  readRequest,
  simulate,
  samples,
});
