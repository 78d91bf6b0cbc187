const text = (description: string, schema: object = { type: 'string' }) => ({ description, schema });

/** Response headers, by the names that operations use to refer to them. */
export const HEADERS = {
  CorrelationId: text('Correlation id of the request, or a generated id', { type: 'string', format: 'uuid' }),
  Traceparent: text(
    'Trace context of the request; continues the trace of the caller or starts a new one (W3C Trace Context)',
  ),
  ApiVersion: text('Version of the interface', { type: 'string', const: '4.0' }),
  IdempotencyReplayed: text(
    'Value `true` if the response is the stored response to the first request with the Idempotency-Key',
    {
      type: 'string',
      const: 'true',
    },
  ),
  Location: text('URL of the created resource', { type: 'string', format: 'uri-reference' }),
  Link: text(
    'URL of the next page (`rel="next"`), or the replacement of a deprecated operation (`rel="successor-version"`)',
  ),
  Deprecation: text('Time since which the operation is deprecated: `@` and seconds since 1970 (RFC 9745)'),
  WWWAuthenticate: text(
    'Challenge for each kind of credential that the operation accepts: `ApiKey` names the header of the key, `Bearer` ' +
      'applies to tokens and states whether a token was refused (RFC 6750)',
  ),
  AcceptEncoding: text('Value `identity` if the body was compressed; absent if the media type is wrong'),
  RetryAfter: text('Seconds to wait before the next attempt', { type: 'integer', minimum: 0 }),
  RateLimit: text('Remaining requests in the current window'),
  RateLimitPolicy: text('Request limit and length of the window'),
} as const;
