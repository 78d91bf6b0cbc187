/**
 * Typed client of the Tapwire API. The schemas of every request, response and webhook are under
 * `@tapwire/client/schemas/...`.
 */
export * from '../client.ts';
export { OPERATIONS } from '../operations.ts';
export type { Problem } from '../problem.ts';
export { type Webhook, webhook } from '../webhook.ts';
