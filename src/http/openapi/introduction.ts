import type { RouteFacts } from '../route-facts.ts';
import { credentialsText } from './security.ts';

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly facts: RouteFacts;
}

/** What a newcomer reads first (Markdown), with the table of who may call what. */
export function introduction(operations: readonly Listed[]): string {
  return `A phone submits a tap over HTTPS; Tapwire opens the encrypted card data, asks the card processor's switch and answers
with the outcome. Payments are created and queried from a server, never from an app.

**Fields.** Unknown fields in a body are ignored, unknown query parameters refused; clients ignore fields they do not know.
Operations beyond the published interface are tagged \`extension\`.

**Errors** are \`application/problem+json\` (RFC 9457) with \`errorCode\`; [every code and what it means](/docs/errors).
What belongs to somebody else is answered as if it were not there. A wrong method is 405 with \`Allow\`. A message that is
not valid HTTP is refused with 400, 408, 417, 431, 501 or 505, also as a problem, and its connection is closed. Headers that
decide something (\`Authorization\`, \`x-api-key\`, \`Content-Type\`, ...) must not be repeated. Bodies are UTF-8 and are not
compressed. Test and production systems require HTTPS.

**Caching.** Responses are \`Cache-Control: no-store\`, except public keys, closed lists and files of pages.

**Repeats.** Requests that create something take \`Idempotency-Key\`; a tap has its \`merchantReference\` for that.

**Tracing.** \`X-Correlation-Id\` and \`traceparent\` are taken along; \`API-Version\` is in each answer.

**Administration** takes a key of the acquirer or the operator: \`tapwire api-key add --acquirer 1 --name admin --scope tenants:manage ...\`.

<details>
<summary>Which credential each operation takes</summary>

| operation | section | credential |
|---|---|---|
${operations.map(row).join('\n')}

</details>
`;
}

function row({ method, path, facts }: Listed): string {
  return `| \`${method} ${path}\` | ${facts.section} | ${credentialsText(facts)} |`;
}
