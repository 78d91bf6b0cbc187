import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import type { Problem } from '../../schemas/problem.ts';
import type { PhoneAnswer } from '../../src/phone/phone.ts';

/** What the phone was told of a tap that was processed. @throws when it was refused */
export function outcomeOf({ status, body }: PhoneAnswer): OnlineAuthorization {
  if (status !== 200) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse;
}

/** What the phone was told of a tap that was refused. @throws when it was processed */
export function problemOf({ status, body }: PhoneAnswer): Problem {
  if (status === 200) throw new Error(`answered 200: ${JSON.stringify(body)}`);
  return body as Problem;
}
