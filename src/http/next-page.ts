import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Returns a page of a list. If the page is full, the header Link has the URL of the next one: `<…>; rel="next"` (RFC
 * 8288), the same list after the last of these rows.
 *
 * @param nameOf the value of a row for the parameter `after`
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
