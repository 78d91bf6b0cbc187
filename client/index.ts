/**
 * Typed client of the Tapwire API. The schemas of every request, response and webhook are under
 * `@tapwire/client/schemas/...`.
 */
export * from '../schemas/client.ts';
export { OPERATIONS } from '../schemas/operations.ts';
export type { Problem } from '../schemas/problem.ts';
export { type Webhook, webhook } from '../schemas/webhook.ts';
