const text = (description: string, schema: object = { type: 'string' }) => ({ description, schema });

/** Headers of answers, by the names under which operations refer to them. */
export const HEADERS = {
  CorrelationId: text("The caller's X-Correlation-Id, or one that we made", { type: 'string', format: 'uuid' }),
  Traceparent: text("Of this request's span: the caller's trace, or one that begins here (W3C Trace Context)"),
  ApiVersion: text('The version of the interface', { type: 'string', const: '4.0' }),
  IdempotencyReplayed: text('`true`: the answer was kept from the first request under the Idempotency-Key', {
    type: 'string',
    const: 'true',
  }),
  Location: text('The address of what was created', { type: 'string', format: 'uri-reference' }),
  Link: text('The next page (`rel="next"`), or the better address of a deprecated one (`rel="successor-version"`)'),
  Deprecation: text('Since when the address is deprecated, `@` and seconds since 1970 (RFC 9745)'),
  WWWAuthenticate: text(
    'A challenge per kind of credential that the operation takes: `ApiKey` names the header of a key, `Bearer` is for ' +
      'tokens and says whether one was refused (RFC 6750)',
  ),
  AcceptEncoding: text('`identity` if the body was compressed; absent if its media type is wrong'),
  RetryAfter: text('Seconds after which it is worth trying again', { type: 'integer', minimum: 0 }),
  RateLimit: text('What is left in this window'),
  RateLimitPolicy: text('The limit and its window'),
} as const;
