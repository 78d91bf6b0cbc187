import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * A page of a list. Where it is as long as was asked for, the header Link leads on: `<…>; rel="next"` (RFC 8288), the same
 * list behind the last of these rows.
 *
 * @param nameOf what `after` takes of a row
 */
export function withNextPage<Row>(
  { url, query }: FastifyRequest,
  reply: FastifyReply,
  rows: readonly Row[],
  nameOf: (row: Row) => number | string,
): readonly Row[] {
  const last = rows.at(-1);
  const { limit } = query as { readonly limit: number };
  if (last !== undefined && rows.length === limit) reply.header('link', nextPage(url, String(nameOf(last))));
  return rows;
}

function nextPage(url: string, after: string): string {
  const [path, search = ''] = url.split('?', 2) as [string, string?];
  const parameters = new URLSearchParams(search);
  parameters.delete('offset');
  parameters.set('after', after);
  return `<${path}?${parameters}>; rel="next"`;
}
