import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import type { Problem } from '../../schemas/problem.ts';
import type { PhoneResponse } from '../../src/tools/phone/phone.ts';

/** The outcome in the response to a processed tap. @throws if the tap was refused */
export function outcomeOf({ status, body }: PhoneResponse): OnlineAuthorization {
  if (status !== 200) throw new Error(`got ${status}: ${JSON.stringify(body)}`);
  return (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse;
}

/** The problem in the response to a refused tap. @throws if the tap was processed */
export function problemOf({ status, body }: PhoneResponse): Problem {
  if (status === 200) throw new Error(`got 200: ${JSON.stringify(body)}`);
  return body as Problem;
}
