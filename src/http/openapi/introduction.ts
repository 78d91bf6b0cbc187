import type { RouteFacts } from '../route-table.ts';
import { credentialsText } from './security.ts';

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly facts: RouteFacts;
}

/** Introduction to the API reference in Markdown, with the table of credentials for each operation. */
export function introduction(operations: readonly Listed[]): string {
  return `Tapwire is a payment gateway. A phone reads a contactless card and submits the encrypted card data over HTTPS (a *tap*).
Tapwire sends the payment to the *switch* of a card processor and returns the *outcome*: approved or declined. Create
payments from your server, never from an app: an app must not contain an API key.

**Terms.** An *acquirer* holds the contract with a switch. An *integrator* writes software for *merchants* of the acquirer.
These three are *tenants*, and the *operator* runs the gateway. A *terminal* is the identity under which a merchant takes
taps. A *processor* is the configuration of one switch of an acquirer, and *routes* assign taps to processors. A *portal user*
is a person who logs in with a password.

A *link* or *intent* is a payment request that opens a payment app. The *issuer* is the bank of the cardholder. *Major units*
are whole currency units with decimals (\`100.00\`); *minor units* are the smallest units, such as cents (\`10000\`). A *TT3*
tap authenticates the card for a debit order *mandate* and takes no money. A *reversal* cancels a payment whose outcome is
uncertain; a *void* cancels an approved sale. The *disposition* is the final result of a transaction. Data elements of the
message to the switch are named DE and a number (ISO 8583), and card data objects have hexadecimal EMV tags. Numbers such as
4.4 are sections of the published interface that this API implements.

**Fields.** The gateway ignores unknown fields in a body and refuses unknown query parameters. Clients must ignore unknown
fields in responses. Operations beyond the published interface have the tag \`extension\`.

**Errors** have the type \`application/problem+json\` (RFC 9457) and an \`errorCode\`; see [all error codes](/docs/errors). A
resource of another tenant gets the same response as an unknown resource (404). A wrong method gets 405 with \`Allow\`. If a
request is not valid HTTP, the gateway responds with 400, 408, 417, 431, 501 or 505 and closes the connection. Headers such as
\`Authorization\`, \`x-api-key\` and \`Content-Type\` must not be repeated. Bodies must be UTF-8 and must not be compressed. The
environments qa and prod require HTTPS.

**Caching.** Responses have \`Cache-Control: no-store\`, except public keys, enums, this document and static files.

**Repeats.** Operations that create a resource accept \`Idempotency-Key\`, so that a repeated request has no second effect. For
taps, the \`merchantReference\` has this role.

**Tracing.** The gateway accepts and returns \`X-Correlation-Id\` and \`traceparent\`. Each response contains \`API-Version\`.

**Administration** requires an API key of the acquirer or the operator. Create one on the command line:
\`tapwire api-key add --acquirer 1 --name admin --scope tenants:manage ...\`.

<details>
<summary>Credentials for each operation</summary>

| operation | section | credential |
|---|---|---|
${operations.map(row).join('\n')}

</details>
`;
}

function row({ method, path, facts }: Listed): string {
  return `| \`${method} ${path}\` | ${facts.section} | ${credentialsText(facts)} |`;
}
