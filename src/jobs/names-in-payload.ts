import { jobPayloads, type QueueName } from '#schemas/jobs';

/** The rows that a job concerns. `ids` are the transactions of a job that concerns several. */
export interface PayloadNames {
  readonly [name: string]: string | number | readonly string[];
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** No count or id of the gateway is larger, and every card number is. */
const LARGEST_NUMBER = 2 ** 31;

/**
 * The numbers and ids of a payload under their field names in the queue's schema, for logs and operators. An unreadable
 * payload may contain anything else, which is omitted.
 */
export function namesInPayload(queue: string, payload: unknown): PayloadNames {
  const schema = jobPayloads[queue as QueueName];
  if (schema === undefined || typeof payload !== 'object' || payload === null) return {};
  const given = new Map<string, unknown>(Object.entries(payload));
  const names: Record<string, PayloadNames[string]> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = given.get(name);
    if (isId(value) || isNumber(value)) names[name] = value;
  }
  const taps = 'taps' in schema.shape ? given.get('taps') : undefined;
  if (Array.isArray(taps)) names.ids = taps.map((tap) => tap?.id).filter(isId);
  return names;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < LARGEST_NUMBER;
}
