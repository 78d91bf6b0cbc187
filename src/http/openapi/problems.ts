import type { ErrorCode } from '#schemas/problem';
import { PROBES } from '../guard-requests.ts';
import { UNLIMITED_ROUTES } from '../rate-limit.ts';
import type { KnownRoute } from '../route-table.ts';
import { CREDENTIALS } from './security.ts';

const CHANGES = new Set(['PUT', 'PATCH', 'DELETE']);
const CARRIES_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** The errorCodes that a route can return, by status: those of every route of its kind and those in its facts. */
export function problemsOf(route: KnownRoute): Map<number, ErrorCode[]> {
  const problems = new Map<number, Set<ErrorCode>>();
  const add = (status: number, ...codes: readonly ErrorCode[]) => {
    problems.set(status, new Set([...(problems.get(status) ?? []), ...codes]));
  };
  const { method, url, schema, facts, isIdempotent } = route;
  add(400, 104); // an unknown query parameter, at least
  if (facts.takes.length > 0) addCredentialProblems(route, add);
  if (!UNLIMITED_ROUTES.has(url)) add(429, 203);
  if (url.includes(':')) {
    add(404, 122);
    add(414, 104);
  }
  if (!PROBES.has(url)) add(403, 101); // plain HTTP
  add(431, 104);
  if (CARRIES_BODY.has(method)) {
    add(400, 103);
    add(413, 104);
    add(415, 104);
  }
  if (CHANGES.has(method)) add(409, 119, 134); // in use by another resource, or a name that is taken
  if (schema.headers !== undefined) add(403, 139);
  if (isIdempotent) {
    add(409, 119, 134);
    add(422, 104);
  }
  add(500, 201, 203);
  add(503, 201, 203);
  for (const [status, codes] of Object.entries(facts.problems ?? {})) add(Number(status), ...codes);
  const byStatus = [...problems].sort(([one], [other]) => one - other);
  return new Map(byStatus.map(([status, codes]) => [status, [...codes].sort((one, other) => one - other)]));
}

function addCredentialProblems(
  { facts }: KnownRoute,
  add: (status: number, ...codes: readonly ErrorCode[]) => void,
): void {
  const schemes = new Set(facts.takes.map((credential) => CREDENTIALS[credential].scheme));
  // An optional credential is also checked if it is present.
  add(401, 100, 102, 117, 118);
  add(403, 101);
  if ([...schemes].some((scheme) => scheme !== 'apiKey')) add(403, 105);
}
